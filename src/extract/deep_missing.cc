#include "extract/deep_finder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "extract/climb.h"
#include "extract/deep_fit.h"
#include "extract/one_sided.h"
#include "extract/scaled.h"
#include "extract/single_kink.h"

namespace exhume {
namespace {

constexpr double kBeside = 0.1;  // distance of two kinks that are one where they are parallel, over the scale
constexpr double kExact = 1e-19;       // and up to which a fit is on its way to rounding
constexpr std::size_t kBreaks = 3;     // of a surface that are looked at
constexpr int kMostBreaks = 24;        // of all
constexpr std::size_t kRightAway = 3;  // kinks of missing units that are looked for at once
constexpr int kTrimmings = 8;
constexpr double kTrimmed = 0.15;  // share of the questions that a missing unit may be on at
constexpr double kModelErrors = 100,
                 kModelRounding = 1e-9;  // how far answers of a model may be off, over what it leaves
constexpr Index kBeyond = 6;
constexpr double kSharpenShare = 1.5, kMostToSharpen = 6000;  // questions for every unknown, and of all
constexpr std::size_t kMostOneSided = 50;
constexpr std::size_t kRowsAbove = 3,
                      kLinesAcross = 2;  // that tell a unit below which is always on, and lines across it
constexpr Index kAlone = 120;            // climbs

}  // namespace

bool DeepFinder::kinks_at_breaks(const Followed& found, std::uint64_t seed) {
  bool any = false;
  for (std::size_t i = 0; i < std::min(kBreaks, found.lost.size()) && breaks_ < kMostBreaks; ++i) {
    ++breaks_;
    for (const UpperKink& kink : kinks_at_break(space_, found.lost[i], out_.planes.scale, seed + i))
      any = add_kink(kink) || any;
  }
  return any;
}

bool DeepFinder::add_kink(const UpperKink& kink) {
  const bool known =
      on_plane(kink.place) || explained(kink.place) || same_piece(kink) ||
      std::any_of(out_.planes.upper.begin(), out_.planes.upper.end(), [&](const UpperKink& other) {
        return std::abs(kink.normal.dot(kink.place - other.place)) <= kNearPiece * out_.planes.scale &&
               1 - std::abs(kink.normal.dot(other.normal)) <= kParallel * kParallel &&
               (kink.place - other.place).norm() <= kBeside * out_.planes.scale;
      });
  if (!known) out_.planes.upper.push_back(kink);
  return !known;
}

bool DeepFinder::on_plane(const Vector& u) const {
  const Matrix& V = layers_.front();
  return (V.leftCols(s_) * u + V.col(s_)).cwiseAbs().minCoeff() <=
         kExplained * (out_.planes.scale + (u - space_.middle()).norm());
}

bool DeepFinder::look_closer(std::uint64_t look) {
  if (form_.C.size() == 0) return false;
  double left = 0;
  std::vector<Index> off;
  const std::optional<PlainLook> plain = known_ ? std::nullopt : plain_look();
  const bool told = plain && !plain->off.empty();
  off = told ? plain->off : unexplained(left);
  if (!told && known_) {
    // Questions of before that a network for all others does not answer.
    form_ = *std::exchange(known_, std::nullopt);
    left = 0;
    off = wrong_rows(left);
    if (static_cast<double>(off.size()) > kTrimmed * static_cast<double>(out_.u.rows())) return false;
  } else if (!told && left < all_there() && left > kExact) {
    (void)sharpen_layers(off, left);
  }
  if (!told && !(left < all_there())) return false;
  const Model fitted = [&](const RowMatrix& u) {
    NoisyAnswers said{evaluate(form_, u), Vector(u.rows())};
    for (Index i = 0; i < u.rows(); ++i)
      said.noise(i) = allowed(left, u.row(i).transpose(), said.values.row(i).cwiseAbs().maxCoeff());
    return said;
  };
  const Model& model = told ? plain->model : fitted;
  if (!told && off.empty() && !form_.plain) {
    const RowMatrix u = where_units_switch(look);
    if (u.rows() == 0) return false;
    off = wrong_at(u, model);
  }
  std::vector<std::pair<Vector, Vector>> known;
  std::size_t found = kinks_towards(off, model, look, known);
  if (found == 0 && plain && !plain->always_on.empty())
    found = kinks_towards(wrong_at(where_always_on_switch(plain->always_on, look), plain->model),
                          plain->model, look, known);
  return found > 0 || (!known.empty() && weights_beyond(known));
}

std::vector<Index> DeepFinder::wrong_at(const RowMatrix& u, const Model& model) {
  std::vector<Index> out;
  if (u.rows() == 0) return out;
  const RowMatrix y = space_.ask(kStage, u);
  const NoisyAnswers said = model(u);
  const Index have = out_.u.rows();
  append(u, y);
  for (Index i = 0; i < u.rows(); ++i)
    if ((y - said.values).row(i).cwiseAbs().maxCoeff() > said.noise(i)) out.push_back(have + i);
  return out;
}

std::size_t DeepFinder::kinks_towards(const std::vector<Index>& off, const Model& model, std::uint64_t look,
                                      std::vector<std::pair<Vector, Vector>>& known) {
  std::size_t found = 0;
  std::vector<bool> wrong(static_cast<std::size_t>(out_.u.rows()), false);
  for (const Index i : off) wrong[static_cast<std::size_t>(i)] = true;
  for (std::size_t i = 0; i < off.size() && found < kRightAway && i < 2 * kRightAway; ++i) {
    const Vector to = out_.u.row(off[i]);
    Index nearest = -1;
    double least = 0;
    for (Index r = 0; r < out_.u.rows(); ++r) {
      const double far = (out_.u.row(r).transpose() - to).norm();
      if (!wrong[static_cast<std::size_t>(r)] && (nearest < 0 || far < least)) nearest = r, least = far;
    }
    if (nearest < 0) return found;
    const auto kink = first_kink(space_, model, out_.u.row(nearest).transpose(), to, out_.planes.scale,
                                 options_.seed + 104729 * (look + 1) + i);
    if (kink && add_kink(*kink)) {
      ++found;
    } else if (kink) {
      known.emplace_back(kink->place, to);
    }
  }
  return found;
}

bool DeepFinder::weights_beyond(const std::vector<std::pair<Vector, Vector>>& from_to) {
  RowMatrix u(static_cast<Index>(from_to.size()) * kBeyond, s_);
  for (std::size_t i = 0; i < from_to.size(); ++i)
    for (Index q = 0; q < kBeyond; ++q)
      u.row(static_cast<Index>(i) * kBeyond + q) =
          (from_to[i].first +
           static_cast<double>(q + 1) / static_cast<double>(kBeyond) * (from_to[i].second - from_to[i].first))
              .transpose();
  append(u, space_.ask(kStage, u));
  // Where signs are known the last hidden layer alone may say it.
  if (const DeepForm plain = plain_so_far(); !plain.V.empty()) {
    const bool right = polished_from_above(plain, space_.meter->control().within(kPolishSeconds));
    if (right) start_ = out_.form;
    if (right) return true;
  }
  std::vector<Index> none;
  double left = 0;
  return sharpen_layers(none, left);
}

double DeepFinder::allowed(double left, const Vector& u, double size) const {
  const double spread = spread_of(out_.y);
  const double far = 1 + (u - space_.middle()).norm() / out_.planes.scale;
  return (kModelErrors * std::sqrt(left) + kModelRounding) * std::max(spread, size) * far;
}

std::vector<Index> DeepFinder::unexplained(double& left) {
  std::vector<Index> order(static_cast<std::size_t>(out_.u.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto kept = static_cast<Index>((1 - kTrimmed) * static_cast<double>(order.size()));
  left = fit_on(order);
  const auto by_residual = [&] {
    const Vector off = (out_.y - evaluate(form_, out_.u)).rowwise().norm();
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return off(i) < off(j); });
  };
  for (int round = 0; round < kTrimmings && !(left < all_there()) && kept > form_.features(); ++round) {
    by_residual();
    left = fit_on({order.begin(), order.begin() + kept});
  }
  return left < all_there() ? wrong_rows(left) : std::vector<Index>{};
}

std::vector<Index> DeepFinder::wrong_rows(double left) const {
  const RowMatrix off = out_.y - evaluate(form_, out_.u);
  std::vector<Index> out;
  for (Index i = 0; i < off.rows(); ++i)
    if (off.row(i).cwiseAbs().maxCoeff() >
        allowed(left, out_.u.row(i).transpose(), out_.y.row(i).cwiseAbs().maxCoeff()))
      out.push_back(i);
  const Vector size = off.rowwise().norm();
  std::stable_sort(out.begin(), out.end(), [&](Index i, Index j) { return size(i) > size(j); });
  return out;
}

bool DeepFinder::sharpen_layers(std::vector<Index>& off, double& left) {
  const double unknowns =
      static_cast<double>(form_.unknowns()) / static_cast<double>(space_.meter->outputs());
  const double wanted = kSharpenShare * unknowns + static_cast<double>(form_.features());
  if (wanted > kMostToSharpen) return false;
  if (wanted + static_cast<double>(off.size()) > static_cast<double>(out_.u.rows())) {
    ask(wanted + static_cast<double>(off.size()));
    off = unexplained(left);
    if (!(left < all_there())) return false;
  }
  std::vector<bool> wrong(static_cast<std::size_t>(out_.u.rows()), false);
  for (const Index i : off) wrong[static_cast<std::size_t>(i)] = true;
  std::vector<Index> rows;
  for (Index i = 0; i < out_.u.rows(); ++i)
    if (!wrong[static_cast<std::size_t>(i)]) rows.push_back(i);
  const RowMatrix u = out_.u(rows, Eigen::all), y = out_.y(rows, Eigen::all);
  auto fit = polished_on(form_, u, y, kFewSteps, space_.meter->control().within(kPolishSeconds));
  if (!fit) return false;
  if (form_.plain) {
    adopt(fit->form);
    start_ = known_;
    return true;
  }
  form_ = std::move(fit->form);
  left = fit->relative_mse;
  off = wrong_rows(left);
  const std::vector<Matrix> before = layers_;
  const auto units = units_;
  take_rows(form_.V);
  if (passes_places()) return true;
  layers_ = before;
  units_ = units;
  return false;
}

bool DeepFinder::passes_places() const {
  for (std::size_t l = 1; l < layers_.size(); ++l) {
    const KnownLayers under = below(l);
    for (const FoundUnit& unit : units_[l - 1]) {
      for (const MetPlace& place : unit.met) {
        const KnownLayers::Value value = under.value(unit.row, place.at);
        if (!(std::abs(value.z) <= kRough * out_.planes.scale * value.slope.norm())) return false;
      }
    }
  }
  return true;
}

double DeepFinder::fit_on(const std::vector<Index>& rows) {
  const RowMatrix u = out_.u(rows, Eigen::all), y = out_.y(rows, Eigen::all);
  const Scaled scaled(u, y);
  form_ = {};
  form_.inputs = s_;
  form_.V = layers_;
  DeepForm inside = scaled.to_scaled(form_);
  normalise(inside);
  const double left = fit_linear_part(inside, scaled.data(u, y), space_.meter->control());
  form_ = scaled.from_scaled(inside);
  return left;
}

std::vector<std::pair<Vector, Vector>> DeepFinder::across_one_sided(std::uint64_t look) const {
  std::vector<std::pair<Vector, Vector>> out;
  for (std::size_t l = 1; l + 1 < layers_.size(); ++l) {
    const Matrix& V = layers_[l];
    const Index k = V.rows();
    std::vector<Vector> rows;
    for (const FoundUnit& unit : units_[l])
      if (unit.open == 0) rows.push_back(unit.row);
    if (rows.size() < kRowsAbove) continue;
    Matrix U(static_cast<Index>(rows.size()), k), R(U.rows(), V.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      U.row(static_cast<Index>(i)) = rows[i].head(k).transpose();
      R.row(static_cast<Index>(i)) = rows[i].tail(V.cols()).transpose();
    }
    const KnownLayers under = below(l);
    const std::uint64_t seed = options_.seed + 32452843 * (look + 1) + l;
    std::uint64_t number = 0;
    for (const Vector& row : one_sided_rows(U, R, V, seed, kLinesAcross)) {
      out.emplace_back(place_of_most(space_, out_.planes, under, row, seed + 2 * number),
                       place_of_most(space_, out_.planes, under, -row, seed + 2 * number + 1));
      ++number;
    }
  }
  return out;
}

RowMatrix DeepFinder::where_units_switch(std::uint64_t look) const {
  std::vector<Vector> places;
  for (std::size_t l = 0; l < form_.depth(); ++l) {
    const Matrix& V = form_.V[l];
    const Index k = V.rows();
    Matrix U, R;
    if (l + 1 == form_.depth()) {
      U = form_.C.topRows(k).transpose();
      R = form_.C.bottomRows(form_.C.rows() - k).transpose();
    } else {
      Index rows = 0;
      const Matrix& above = form_.V[l + 1];
      U.resize(above.rows(), k);
      R.resize(above.rows(), above.cols() - k);
      for (Index i = 0; i < above.rows(); ++i) {
        if (units_[l][static_cast<std::size_t>(i)].open > 0) continue;
        U.row(rows) = above.row(i).head(k);
        R.row(rows++) = above.row(i).tail(above.cols() - k);
      }
      U.conservativeResize(rows, Eigen::NoChange);
      R.conservativeResize(rows, Eigen::NoChange);
      if (rows < 2) continue;
    }
    const KnownLayers under(s_, {form_.V.begin(), form_.V.begin() + static_cast<std::ptrdiff_t>(l)});
    const std::uint64_t seed = options_.seed + 15485863 * (look + 1) + l;
    std::uint64_t number = 0;
    for (const Vector& row : one_sided_rows(U, R, V, seed, kMostOneSided))
      for (const double side : {1.0, -1.0})
        places.push_back(place_of_most(space_, out_.planes, under, side * row, seed + 7 * ++number));
  }
  // And where few units of a layer are on alone.
  const DeepForm plain = plain_so_far();
  RowMatrix alone(0, s_);
  if (!plain.V.empty())
    alone = climbs(space_, out_.planes, plain, options_.seed ^ (0x3956c25bu + look), kAlone);
  RowMatrix out(static_cast<Index>(places.size()) + alone.rows(), s_);
  for (std::size_t i = 0; i < places.size(); ++i) out.row(static_cast<Index>(i)) = places[i].transpose();
  out.bottomRows(alone.rows()) = alone;
  return out;
}

}  // namespace exhume
