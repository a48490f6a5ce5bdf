#include "papers/depth2/depth2_jennrich.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "base/blas.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

constexpr double kRounding = 1e-9;   // eta_1 of exact tensors, share of the largest singular value
constexpr double kAboveNoise = 1.1;  // eta_1 over the largest singular value of the noise
constexpr double kLeastDouble = 1e-6, kMostDouble = 0.35;  // range of eta_3
constexpr double kMostBias = 8;
constexpr double kSingular = 1e-8;  // condition of the signs' system that counts as no full rank
constexpr double kRank = 1e-15;     // of the largest singular value: rounding
constexpr double kMostDoubt = 0.25;
constexpr double kExplained = 3;       // misfit, in noises, that counts as explained
constexpr double kExactMisfit = 1e-6;  // share of the tensor that exact ones may miss

// flatten(T, l, p - l, 0), outputs side by side.
Matrix unfolded(const SymmetricTensor& T, int l) {
  std::vector<Matrix> parts;
  for (Index o = 0; o < T.entries.cols(); ++o) parts.push_back(flatten(T, l, o));
  Matrix out(parts[0].rows(), parts[0].cols() * T.entries.cols());
  for (std::size_t o = 0; o < parts.size(); ++o) {
    out.middleCols(static_cast<Index>(o) * parts[0].cols(), parts[0].cols()) = parts[o];
  }
  return out;
}

Vector singular_values(const Matrix& M) { return thin_svd(M).values; }

struct Direction {
  Vector w;
  double weight = 0, floor = 0;
  [[nodiscard]] double strength() const { return weight / floor; }
};

// w from all three modes of one term: each is a power of w up to sign.
Vector direction_of(const RankOneTerms& terms, Index i, Index d, Index outputs, int l, int rest) {
  Vector w = rank_one_root(terms.U.col(i), d, l);
  const auto join = [&w](const Vector& other) { w += w.dot(other) < 0 ? Vector(-other) : other; };
  join(rank_one_root(terms.V.col(i), d, l));
  const Matrix third = terms.W.col(i).reshaped(symmetric_tensor_size(d, rest), outputs);
  const Eigen::JacobiSVD<Matrix> svd(third, Eigen::ComputeThinU);
  join(rank_one_root(svd.matrixU().col(0), d, rest));
  return w.normalized();
}

// Steps 2 and 3 of Algorithm 4 for one order.
std::vector<Direction> decompose(const SymmetricTensor& T, int l, Index rank, double floor, double least,
                                 const JennrichOptions& options) {
  std::vector<Direction> out;
  const RankOneTerms terms = jennrich(flatten_to_slices(T, l), rank, options);
  for (Index i = 0; i < terms.weights.size(); ++i) {
    if (terms.weights(i) < least) continue;  // step 4: eta_2
    out.push_back(
        {direction_of(terms, i, T.dimension, T.entries.cols(), l, T.order - 2 * l), terms.weights(i), floor});
  }
  return out;
}

// Adds to `list`, strongest first.
void append(std::vector<Direction>& list, const std::vector<Direction>& more) {
  list.insert(list.end(), more.begin(), more.end());
  std::stable_sort(list.begin(), list.end(),
                   [](const Direction& a, const Direction& b) { return a.strength() > b.strength(); });
}

// Step 4: those farther than eta_3, up to sign, from all kept so far, until there are enough.
void keep_distinct(const std::vector<Direction>& list, double eta3, const std::optional<Index>& enough,
                   std::vector<Direction>& kept) {
  for (const Direction& one : list) {
    if (enough && static_cast<Index>(kept.size()) >= *enough) return;
    const bool twice = std::any_of(kept.begin(), kept.end(), [&](const Direction& other) {
      return unit_distance(one.w, other.w, true) <= eta3;
    });
    if (!twice) kept.push_back(one);
  }
}

UnsignedUnits find_units(const HermiteTensors& tensors, const Depth2JennrichOptions& options, bool noisy) {
  options.validate();
  const int l = options.ell;
  if (tensors.order() < 2 * l + 2) {
    throw std::invalid_argument(fmt::format("l = {} needs tensors up to order {}, but they end at {}", l,
                                            2 * l + 2, tensors.order()));
  }
  const Index d = tensors.inputs, m = tensors.outputs;
  const Index most =
      std::min(symmetric_tensor_size(d, l), options.hidden.value_or(std::numeric_limits<Index>::max()));
  const auto at = 2 * static_cast<std::size_t>(l) + 1;
  Vector values[2];
  double floors[2] = {0, 0}, largest = 0;
  for (std::size_t o = 0; o < 2; ++o) {
    values[o] = singular_values(unfolded(tensors.estimate[at + o], l));
    largest = std::max(largest, values[o](0));
    if (noisy) floors[o] = kAboveNoise * singular_values(unfolded(tensors.noise[at + o], l))(0);
  }
  UnsignedUnits units;
  std::vector<Direction> all;
  Index ranks[2] = {0, 0};
  for (std::size_t o = 0; o < 2; ++o) {
    floors[o] = options.eta1.value_or(std::max(floors[o], kRounding * largest));
    ranks[o] = std::min<Index>(most, (values[o].array() > floors[o]).count());
    append(all, decompose(tensors.estimate[at + o], l, ranks[o], floors[o], options.eta2.value_or(floors[o]),
                          options.jennrich));
  }
  units.rank_odd = ranks[0];
  units.rank_even = ranks[1];
  units.eta1_odd = floors[0];
  units.eta1_even = floors[1];
  const double weakest = all.empty() ? 1 : all.back().strength();
  units.eta3 = options.eta3.value_or(std::clamp(2 / weakest, kLeastDouble, kMostDouble));
  std::vector<Direction> kept;
  keep_distinct(all, units.eta3, options.hidden, kept);
  if (noisy && options.hidden && static_cast<Index>(kept.size()) < *options.hidden && !options.eta1 &&
      !options.eta2) {
    // There are more units than stand out: the rest from below the floor.
    std::vector<Direction> weak;
    for (std::size_t o = 0; o < 2; ++o) {
      if (ranks[o] < most)
        append(weak, decompose(tensors.estimate[at + o], l, most, floors[o], 0, options.jennrich));
    }
    keep_distinct(weak, units.eta3, options.hidden, kept);
  }
  const auto k = static_cast<Index>(kept.size());
  units.W.resize(k, d);
  units.strength.resize(k);
  for (Index i = 0; i < k; ++i) {
    units.W.row(i) = kept[static_cast<std::size_t>(i)].w;
    units.strength(i) = kept[static_cast<std::size_t>(i)].strength();
  }
  if (k == 0) {
    units.b.resize(0);
    units.A.resize(m, 0);
    return units;
  }
  Scalars scalars = recover_scalars(l, units.W, tensors);  // step 5
  units.b = std::move(scalars.b);
  units.A = std::move(scalars.A);
  return units;
}

// Isometric coordinates of a tensor, so that norms are Frobenius norms.
Matrix isometric(const SymmetricTensor& T) {
  return symmetric_weights(T.dimension, T.order).asDiagonal() * T.entries;
}

double tensor_misfit(const HermiteTensors& tensors, const Network& network, int order) {
  const HermiteTensors ours = population_hermite_tensors(network, order);
  // Directions carry the noise of the highest orders into all of them.
  double allowed = 0, worst = 0;
  for (std::size_t p = 2; p <= static_cast<std::size_t>(order); ++p) {
    allowed = std::max(
        {allowed, isometric(tensors.noise[p]).norm(), kExactMisfit * isometric(tensors.estimate[p]).norm()});
  }
  for (std::size_t p = 2; p <= static_cast<std::size_t>(order) && allowed > 0; ++p) {
    worst = std::max(worst, (isometric(tensors.estimate[p]) - isometric(ours.estimate[p])).norm() / allowed);
  }
  return worst;
}

}  // namespace

void Depth2JennrichOptions::validate() const {
  if (ell != 1 && ell != 2) throw std::invalid_argument(fmt::format("ell is {}, expected 1 or 2", ell));
  if (hidden && *hidden < 1)
    throw std::invalid_argument(fmt::format("hidden is {}, expected at least 1", *hidden));
  const auto check = [](const char* name, const std::optional<double>& eta) {
    if (eta && !(*eta > 0))
      throw std::invalid_argument(fmt::format("{} is {}, expected above 0", name, *eta));
  };
  check("eta1", eta1);
  check("eta2", eta2);
  check("eta3", eta3);
  jennrich.validate();
}

UnsignedUnits exact_units(const HermiteTensors& tensors, const Depth2JennrichOptions& options) {
  return find_units(tensors, options, false);
}

UnsignedUnits robust_units(const HermiteTensors& tensors, const Depth2JennrichOptions& options) {
  return find_units(tensors, options, true);
}

Scalars recover_scalars(int ell, const Matrix& W, const HermiteTensors& tensors) {
  if (ell < 1) throw std::invalid_argument(fmt::format("ell is {}, expected at least 1", ell));
  const int first = std::max(ell, 2), last = ell == 1 ? 3 : ell + 3;
  if (tensors.order() < last) {
    throw std::invalid_argument(
        fmt::format("the scalars for l = {} need tensors up to order {}, but they end at {}", ell, last,
                    tensors.order()));
  }
  const Index k = W.rows(), m = tensors.outputs;
  std::vector<Matrix> gamma(static_cast<std::size_t>(last - 1));  // gamma[j - 2] = zeta_j, k x m
  for (int j = first; j <= last; ++j) {
    const Eigen::ColPivHouseholderQR<Matrix> qr(rank_one_tensors(W, j));
    gamma[static_cast<std::size_t>(j - 2)] =
        qr.solve(isometric(tensors.estimate[static_cast<std::size_t>(j)]));
  }
  Scalars out{Matrix(m, k), Vector(k)};
  for (Index i = 0; i < k; ++i) {
    std::size_t q = 0;
    if (ell >= 2) {
      const auto low = static_cast<std::size_t>(ell - 1);
      q = gamma[low].row(i).norm() >= gamma[low + 1].row(i).norm() ? low : low + 1;
    }
    const Vector at_q = gamma[q].row(i);
    Vector above = gamma[q + 1].row(i);
    if (q > 0) above += static_cast<double>(q) * gamma[q - 1].row(i).transpose();
    const double b = at_q.squaredNorm() > 0 ? -above.dot(at_q) / at_q.squaredNorm() : 0;
    out.b(i) = std::clamp(b, -kMostBias, kMostBias);
    double scale = (q % 2 ? -1 : 1) * normal_density(out.b(i)) * hermite(static_cast<int>(q), out.b(i));
    if (std::abs(scale) < kTiny) scale = kTiny;
    out.A.col(i) = at_q / scale;
  }
  return out;
}

FixedSigns fix_signs(const Matrix& W, const Vector& b, const Matrix& A, const HermiteTensors& tensors) {
  const Index k = W.rows(), d = W.cols(), m = A.rows();
  FixedSigns out;
  out.signs = Vector::Ones(k);
  out.z = Vector::Zero(k);
  if (k == 0) {
    out.identifiable = true;
    return out;
  }
  Matrix M(d * m, k);
  for (Index i = 0; i < k; ++i) M.col(i) = (W.row(i).transpose() * A.col(i).transpose()).reshaped();
  const Svd svd = thin_svd(M);
  const Vector& s = svd.values;
  const bool full = k <= d * m && s(k - 1) > kSingular * s(0);
  out.condition = full ? s(0) / s(k - 1) : std::numeric_limits<double>::infinity();
  out.z = svd.solve(tensors.estimate[1].entries.reshaped(), kRank);
  for (Index i = 0; i < k; ++i) {
    const double plus = normal_distribution(b(i)), minus = plus - 1;
    out.signs(i) = out.z(i) >= (plus + minus) / 2 ? 1 : -1;
    out.doubt = std::max(out.doubt, std::abs(out.z(i) - (out.signs(i) > 0 ? plus : minus)));
  }
  out.identifiable = full && out.doubt < kMostDoubt;
  return out;
}

const char* to_string(FullRankOutcome outcome) {
  switch (outcome) {
    case FullRankOutcome::kRecovered:
      return "recovered";
    case FullRankOutcome::kSignsOpen:
      return "signs open";
    case FullRankOutcome::kMisfit:
      return "misfit";
  }
  return "";
}

FullRankResult full_rank_network(const HermiteTensors& tensors, const Depth2JennrichOptions& options) {
  FullRankResult out;
  out.units = robust_units(tensors, options);
  out.signs = fix_signs(out.units.W, out.units.b, out.units.A, tensors);
  out.network.W() = out.signs.signs.asDiagonal() * out.units.W;
  out.network.b() = out.signs.signs.cwiseProduct(out.units.b);
  out.network.A() = out.units.A;
  out.network.c() = Vector::Zero(tensors.outputs);
  const HermiteTensors ours = population_hermite_tensors(out.network, 0);
  out.network.c() = (tensors.estimate[0].entries - ours.estimate[0].entries).transpose();
  out.misfit = tensor_misfit(tensors, out.network, 2 * options.ell + 2);
  if (!(out.misfit <= kExplained)) {
    out.outcome = FullRankOutcome::kMisfit;
  } else {
    out.outcome = out.signs.identifiable ? FullRankOutcome::kRecovered : FullRankOutcome::kSignsOpen;
  }
  return out;
}

Matrix jennrich_start(const SamplePtr& standard, std::optional<Index> hidden, std::uint64_t seed,
                      const Control& control) {
  const Index d = standard->inputs();
  const bool second = d <= kMostInputsOfOrder6 && hidden.value_or(d + 1) > d;
  const HermiteTensors tensors = estimate_hermite_tensors(standard, {.order = second ? 6 : 4}, control);
  Depth2JennrichOptions options;
  options.hidden = hidden;
  options.jennrich.seed = seed;
  UnsignedUnits units = robust_units(tensors, options);
  const bool saturated = std::max(units.rank_odd, units.rank_even) == d;
  if (second && (hidden || saturated)) {
    options.ell = 2;
    UnsignedUnits more = robust_units(tensors, options);
    if (more.W.rows() > units.W.rows() || hidden) units = std::move(more);
  }
  Matrix V(units.W.rows(), d + 1);
  V << units.W, units.b;
  return V;
}

}  // namespace exhume
