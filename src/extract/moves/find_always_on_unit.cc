#include "extract/moves/find_always_on_unit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "extract/climb.h"
#include "extract/form_fit.h"
#include "extract/moves/assemble_network.h"
#include "extract/moves/polish.h"
#include "extract/moves/resolve_signs.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct AlwaysOnLimits {
  // Rows of any layer.
  double explained = 1e-5;  // what signs leave of R, over R, up to which nothing is missing
  double counts = 1e-3;     // singular value of what is left, over the largest, of a row of its own
  int rounds = 6;
  std::size_t rows_above = 3,
              lines_across = 2;  // that tell a unit below which is always on, and lines across it
  // Rows of the last hidden layer.
  Index most_signs_tried = 12;  // units of the last hidden layer whose signs are tried in all ways
  double no_rest = 1e-5;        // of the features' part, that needs no such unit
  Index most_always_on = 24;    // rows that are looked at
  // Than random places, where such a unit may be off; how often places so far out are looked at, and kinks
  // each time.
  double farther = 30;
  int most_far = 3;
  Index most_far_kinks = 3;
  double errors = 30, least_error = 1e-6;  // allowance for answers over their errors so far
  double same_direction = 1e-6;            // 1 - |cosine| of a row's slope and a kink's normal
  double about[3] = {0.01, 0.03, 0.1};     // of queries about a kink far out, over its distance
  // The look with signs.
  int reweighted = 30;
  double right_answer = 1e-6;        // what rows from kinks are off, over the answer
  double right_share = 0.5;          // of the queries, at least
  double smallest_deviation = 1e-9;  // over the spread, that weighs more than a larger one
};
constexpr AlwaysOnLimits kAlwaysOn;

constexpr auto sign_of = [](double value) { return value < 0 ? -1.0 : 1.0; };

// (|z|, h, 1): the last hidden layer without its signs, and the features of the layer below.
Matrix last_features(const DeepForm& form, const RowMatrix& u) {
  const RowMatrix h = features_below(form, u), z = layer_values(form.V.back(), h);
  Matrix out(u.rows(), z.cols() + h.cols() + 1);
  out << z.cwiseAbs(), h, Vector::Ones(u.rows());
  return out;
}

// The plain form with that unit, whose surface passes through the place u, on at the place `on`; C is left
// empty.
DeepForm with_always_on(const DeepForm& plain, const AlwaysOnRow& unit, const Vector& u, const Vector& on) {
  DeepForm out = plain;
  const Matrix& V = plain.V.back();
  const Index k = V.rows(), below = V.cols() - 1;
  RowMatrix both(2, u.size());
  both << u.transpose(), on.transpose();
  const RowMatrix h = features_below(plain, both);
  const double side = unit.row.dot((h.row(1) - h.row(0)).transpose()) < 0 ? -1 : 1;
  Matrix more(k + 1, below + 1);
  more.topRows(k) = unit.signs.asDiagonal() * V;
  more.row(k).head(below) = side * unit.row.transpose();
  more(k, below) = -side * unit.row.dot(h.row(0).transpose());
  out.V.back() = std::move(more);
  out.C.resize(0, 0);
  return out;
}

}  // namespace

std::vector<Vector> one_sided_rows(const Matrix& U, const Matrix& R, const Matrix& V, std::uint64_t seed,
                                   std::size_t most) {
  const Index k = V.rows(), c = V.cols() - 1;
  const Matrix Rc = R.leftCols(c), Vc = V.leftCols(c);
  std::vector<Vector> out;
  if (R.rows() == 0 || !(Rc.norm() > 0)) return out;
  Matrix off = Matrix::Zero(R.rows(), c);  // of rank one
  Matrix left;
  for (int round = 0; round < kAlwaysOn.rounds; ++round) {
    const Vector s = signs_between(U, Vc, Rc - off).unaryExpr(sign_of);
    left = R - U * s.asDiagonal() * V;
    const Svd svd = thin_svd(left.leftCols(c));
    off = svd.values(0) * svd.U.col(0) * svd.V.col(0).transpose();
  }
  if (left.leftCols(c).norm() <= kAlwaysOn.explained * Rc.norm()) return out;
  if (R.rows() > 1) {
    const Svd svd = thin_svd(left.leftCols(c));
    for (Index r = 0; r < svd.values.size() && out.size() < most; ++r)
      if (svd.values(r) > kAlwaysOn.counts * svd.values(0)) out.emplace_back(left.transpose() * svd.U.col(r));
    return out;
  }
  out.emplace_back(left.row(0).transpose());
  const Stream random(seed, "extract signs");
  RowMatrix drawn(static_cast<Index>(most), k);
  random.fill_normal(0, drawn);
  for (Index i = 0; out.size() < most; ++i) {
    const Vector s = drawn.row(i).unaryExpr(sign_of).transpose();
    out.emplace_back((R - U * s.asDiagonal() * V).row(0).transpose());
  }
  return out;
}

std::vector<Segment> lines_across_one_sided(const LayerSearch& search, std::uint64_t look) {
  const Hypothesis& known = search.hypothesis;
  std::vector<Segment> out;
  for (std::size_t l = 1; l + 1 < known.layers.size(); ++l) {
    const Matrix& V = known.layers[l];
    const std::vector<Vector> rows = known.whole_rows(l + 1);
    if (rows.size() < kAlwaysOn.rows_above) continue;
    const Matrix above = as_rows(rows, rows.front().size());
    const SignFreeLayers under = known.below(l);
    const std::uint64_t seed = sub_seed(sub_seed(search.seed, "across one-sided units", look), "layer", l);
    std::uint64_t number = 0;
    for (const Vector& row : one_sided_rows(above.leftCols(V.rows()), above.rightCols(V.cols()), V, seed,
                                            kAlwaysOn.lines_across)) {
      out.emplace_back(
          place_of_most(search.space, search.evidence, under, row, sub_seed(seed, "most", number)),
          place_of_most(search.space, search.evidence, under, -row, sub_seed(seed, "least", number)));
      ++number;
    }
  }
  return out;
}

std::vector<AlwaysOnRow> always_on_rows(const DeepForm& plain, const Matrix& F, const Matrix& B) {
  const Matrix& V = plain.V.back();
  const Index k = V.rows(), below = V.cols() - 1;
  std::vector<AlwaysOnRow> out;
  if (B.cols() != 1 || k > kAlwaysOn.most_signs_tried) return out;
  const Matrix parts = B.topRows(k).asDiagonal() * V.leftCols(below);
  const Vector linear = B.middleRows(k, below);
  Matrix H = F.middleCols(k, below);
  H = (H.rowwise().norm().cwiseMax(kTiny).cwiseInverse().asDiagonal() * H).eval();
  std::vector<std::pair<double, AlwaysOnRow>> order;
  for (std::size_t way = 0; way < std::size_t{1} << k; ++way) {
    AlwaysOnRow each{linear, Vector(k)};
    for (Index i = 0; i < k; ++i) each.signs(i) = (way >> i & 1) != 0 ? 1 : -1;
    each.row -= parts.transpose() * each.signs;
    const double size = each.row.norm();
    if (!(size > kAlwaysOn.no_rest * linear.norm())) return {};  // the known units are all
    each.row /= size;
    const Vector at = H * each.row;
    const double least = at.minCoeff(), most = at.maxCoeff();
    if (!(least > -most)) each.row = -each.row;
    order.emplace_back(least > -most ? -least : most, std::move(each));
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& each : order) out.push_back(std::move(each.second));
  return out;
}

std::optional<PlainLook> look_with_signs(const LayerSearch& search) {
  const RowMatrix &u = search.evidence.u, &y = search.evidence.y;
  if (search.hypothesis.layers.size() < 2) return std::nullopt;
  const DeepForm plain = network_of_layers(search);
  if (plain.V.empty()) return std::nullopt;
  const Matrix F = last_features(plain, u);
  const Index n = F.rows();
  if (n < 2 * F.cols()) return std::nullopt;
  const double spread = spread_of(y);
  Matrix B, left;
  Vector weights = Vector::Ones(n);
  for (int round = 0; round < kAlwaysOn.reweighted; ++round) {
    const Vector root = weights.cwiseSqrt();
    B = Matrix(root.asDiagonal() * F).colPivHouseholderQr().solve(Matrix(root.asDiagonal() * y));
    left = y - F * B;
    weights = left.rowwise().norm().cwiseMax(kAlwaysOn.smallest_deviation * spread).cwiseInverse();
  }
  if (!B.allFinite()) return std::nullopt;
  PlainLook out;
  out.model = [plain, B, spread, scale = search.evidence.scale,
               middle = search.space.middle()](const RowMatrix& at) {
    NoisyAnswers said{last_features(plain, at) * B, Vector(at.rows())};
    for (Index i = 0; i < at.rows(); ++i)
      said.noise(i) = kAlwaysOn.right_answer * std::max(spread, said.values.row(i).cwiseAbs().maxCoeff()) *
                      (1 + (at.row(i).transpose() - middle).norm() / scale);
    return said;
  };
  out.always_on = always_on_rows(plain, F, B);
  out.plain = plain;
  const NoisyAnswers said = out.model(u);
  for (Index i = 0; i < n; ++i) {
    const double share = left.row(i).cwiseAbs().maxCoeff() / said.noise(i);
    out.error = std::max(out.error, share);
    if (!(share <= 1)) out.wrong.push_back(i);
  }
  if (static_cast<double>(out.wrong.size()) > (1 - kAlwaysOn.right_share) * static_cast<double>(n))
    return std::nullopt;
  const Vector size = left.rowwise().norm();
  std::stable_sort(out.wrong.begin(), out.wrong.end(), [&](Index i, Index j) { return size(i) > size(j); });
  return out;
}

RowMatrix where_always_on_switch(LayerSearch& search, const std::vector<AlwaysOnRow>& rows,
                                 std::uint64_t look, double farther) {
  const std::size_t top = search.hypothesis.layers.size() - 1;
  const Matrix B = plain_rows_of(search, top - 1);
  if (B.rows() == 0) return {};
  const SignFreeLayers under = search.hypothesis.below(top);
  RowMatrix out(std::min(kAlwaysOn.most_always_on, static_cast<Index>(rows.size())), search.dimensions());
  for (Index i = 0; i < out.rows(); ++i)
    out.row(i) = place_of_most(search.space, search.evidence, under,
                               -(B.transpose() * rows[static_cast<std::size_t>(i)].row),
                               sub_seed(sub_seed(search.seed, "always on", look), "place", i), farther)
                     .transpose();
  return out;
}

bool find_unit_that_switches_far_out(LayerSearch& search) {
  if (search.space.bounded() || search.hypothesis.layers.size() < 2 ||
      search.evidence.far_looks >= kAlwaysOn.most_far)
    return false;
  const std::optional<PlainLook> look = look_with_signs(search);
  if (!look || !look->wrong.empty() || look->always_on.empty()) return false;
  const auto number = static_cast<std::uint64_t>(search.evidence.far_looks++);
  const Matrix B = plain_rows_of(search, search.hypothesis.layers.size() - 2);
  const RowMatrix far = where_always_on_switch(search, look->always_on, number, kAlwaysOn.farther);
  if (far.rows() == 0) return false;
  // As sharp as it is on the queries: just beyond its surface the unit changes little.
  const double sharper = std::clamp(kAlwaysOn.errors * look->error, kAlwaysOn.least_error, 1.0);
  const Model model = [&](const RowMatrix& u) {
    NoisyAnswers said = look->model(u);
    said.noise *= sharper;
    return said;
  };
  const RowMatrix y = search.space.ask(QueryStage::kSample, far);
  const NoisyAnswers said = model(far);
  const SignFreeLayers under = search.hypothesis.below(search.hypothesis.layers.size() - 1);
  const Vector middle = search.space.middle();
  Index kinks = 0;
  for (Index i = 0; i < far.rows() && kinks < kAlwaysOn.most_far_kinks; ++i) {
    if (!((y - said.values).row(i).cwiseAbs().maxCoeff() > said.noise(i))) continue;
    ++kinks;
    const auto kink =
        first_kink(search.space, model, middle, far.row(i).transpose(),
                   kAlwaysOn.farther * search.evidence.scale, sub_seed(search.seed, "far kink", number));
    if (!kink) continue;
    const AlwaysOnRow* best = nullptr;
    double least = kAlwaysOn.same_direction;
    for (const AlwaysOnRow& each : look->always_on) {
      const Vector slope = under.value(B.transpose() * each.row, kink->place).slope;
      const double off = 1 - std::abs(slope.normalized().dot(kink->normal));
      if (off <= least) least = off, best = &each;
    }
    if (best == nullptr) continue;
    const DeepForm start = with_always_on(look->plain, *best, kink->place, middle);
    // Queries to either side of its surface, without which its constant would be open.
    RowMatrix about(2 * static_cast<Index>(std::size(kAlwaysOn.about)), search.dimensions());
    Index row = 0;
    for (const double share : kAlwaysOn.about)
      for (const double side : {-1.0, 1.0})
        about.row(row++) = (middle + (1 + side * share) * (kink->place - middle)).transpose();
    const RowMatrix u = search.evidence.u, answers = search.evidence.y;
    ask_for_sample(search.space, search.evidence, about);
    if (polish_network(search, start, Patience::kLong)) {
      leave_needless_units(search, search.hypothesis.network.depth() - 1);
      return true;
    }
    search.evidence.u = u;
    search.evidence.y = answers;
  }
  return false;
}

}  // namespace exhume
