#include "extract/moves/find_missing_unit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "extract/climb.h"
#include "extract/form_fit.h"
#include "extract/moves/find_always_on_unit.h"
#include "extract/moves/polish.h"
#include "extract/moves/resolve_signs.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct FindMissingUnitLimits {
  std::size_t right_away = 3;  // kinks of missing units that are looked for at once
  // Fits without the worst answers.
  int trimmings = 8;
  double trimmed = 0.15;  // share of the queries that a missing unit may be on at
  double model_errors = 100,
         model_rounding = 1e-9;  // how far answers of a model may be off, over what it leaves
  double on_its_way = 1e-19;     // what a fit leaves that is on its way to rounding
  double sharpen_share = 1.5, most_to_sharpen = 6000;  // queries per unknown, and of all
  Index beyond = 6;  // queries from the surface of an open weight to a wrong answer
  // Places where units would switch.
  std::size_t most_one_sided = 50;
  Index alone = 120;  // climbs
};
constexpr FindMissingUnitLimits kMissing;

// What a fit that leaves so little may be off at u where it holds.
double allowed_error(const LayerSearch& search, double left, const Vector& u, double size) {
  const double far = 1 + (u - search.space.middle()).norm() / search.evidence.scale;
  return (kMissing.model_errors * std::sqrt(left) + kMissing.model_rounding) *
         std::max(spread_of(search.evidence.y), size) * far;
}

double fit_outputs_on(LayerSearch& search, const std::vector<Index>& rows) {
  DeepForm& form = search.hypothesis.fitted;
  form = {};
  form.inputs = search.dimensions();
  form.V = search.hypothesis.layers;
  return fit_outputs(form, search.evidence.u(rows, Eigen::all), search.evidence.y(rows, Eigen::all),
                     search.space.meter->control());
}

// Rows of the sample that the fitted form does not answer, worst first.
std::vector<Index> wrong_rows(const LayerSearch& search, double left) {
  const RowMatrix& u = search.evidence.u;
  const RowMatrix off = search.evidence.y - evaluate(search.hypothesis.fitted, u);
  std::vector<Index> out;
  for (Index i = 0; i < off.rows(); ++i)
    if (off.row(i).cwiseAbs().maxCoeff() >
        allowed_error(search, left, u.row(i).transpose(), search.evidence.y.row(i).cwiseAbs().maxCoeff()))
      out.push_back(i);
  const Vector size = off.rowwise().norm();
  std::stable_sort(out.begin(), out.end(), [&](Index i, Index j) { return size(i) > size(j); });
  return out;
}

// Rows that the layers do not explain once they are left out of the fit; `left` is that of the others.
std::vector<Index> unexplained_rows(LayerSearch& search, double& left) {
  const double all = explained_share(search);
  const DeepForm& fitted = search.hypothesis.fitted;
  std::vector<Index> order(static_cast<std::size_t>(search.evidence.u.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  const auto kept = static_cast<Index>((1 - kMissing.trimmed) * static_cast<double>(order.size()));
  left = fit_outputs_on(search, order);
  for (int round = 0; round < kMissing.trimmings && !(left < all) && kept > fitted.features(); ++round) {
    const Vector off = (search.evidence.y - evaluate(fitted, search.evidence.u)).rowwise().norm();
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return off(i) < off(j); });
    left = fit_outputs_on(search, {order.begin(), order.begin() + kept});
  }
  return left < all ? wrong_rows(search, left) : std::vector<Index>{};
}

std::vector<bool> as_flags(const std::vector<Index>& rows, Index count) {
  std::vector<bool> out(static_cast<std::size_t>(count), false);
  for (const Index i : rows) out[static_cast<std::size_t>(i)] = true;
  return out;
}

// All rows of all layers, sign-free, on the queries that they explain. The layers take them, and it is true,
// where surfaces still pass through all places at which they were met: rows of units that act rarely may not.
bool sharpen_layers(LayerSearch& search, std::vector<Index>& off, double& left) {
  Hypothesis& known = search.hypothesis;
  DeepForm& fitted = known.fitted;
  const double unknowns = static_cast<double>(fitted.unknowns()) / static_cast<double>(search.outputs());
  const double wanted = kMissing.sharpen_share * unknowns + static_cast<double>(fitted.features());
  if (wanted > kMissing.most_to_sharpen) return false;
  if (wanted + static_cast<double>(off.size()) > static_cast<double>(search.evidence.u.rows())) {
    fill_sample(search, wanted + static_cast<double>(off.size()));
    off = unexplained_rows(search, left);
    if (!(left < explained_share(search))) return false;
  }
  const std::vector<bool> wrong = as_flags(off, search.evidence.u.rows());
  std::vector<Index> rows;
  for (Index i = 0; i < search.evidence.u.rows(); ++i)
    if (!wrong[static_cast<std::size_t>(i)]) rows.push_back(i);
  FormFitOptions options;
  options.hope = static_cast<int>(Patience::kFew);
  auto fit = fit_form(fitted, search.evidence.u(rows, Eigen::all), search.evidence.y(rows, Eigen::all),
                      options, search.space.meter->control());
  if (!fit) return false;
  if (fitted.plain) {
    known.adopt(fit->form);
    known.start = known.nearly;
    return true;
  }
  fitted = std::move(fit->form);
  left = fit->relative_mse;
  off = wrong_rows(search, left);
  const std::vector<Matrix> layers = known.layers;
  const auto units = known.units;
  known.take_rows(fitted.V);
  if (passes_places(search)) return true;
  known.layers = layers;
  known.units = units;
  return false;
}

// Asks at the rows of u; those of the sample that a model then does not answer.
std::vector<Index> ask_for_wrong(LayerSearch& search, const RowMatrix& u, const Model& model) {
  std::vector<Index> out;
  if (u.rows() == 0) return out;
  const Index have = search.evidence.u.rows();
  ask_for_sample(search.space, search.evidence, u);
  const NoisyAnswers said = model(u);
  for (Index i = 0; i < u.rows(); ++i)
    if ((search.evidence.y.row(have + i) - said.values.row(i)).cwiseAbs().maxCoeff() > said.noise(i))
      out.push_back(have + i);
  return out;
}

// Kinks on the way to rows that a model does not answer, worst first: the number of new ones. Where the
// surface that is met is known, it and the row join `known`.
std::size_t add_kinks_towards(LayerSearch& search, const std::vector<Index>& off, const Model& model,
                              std::uint64_t look, std::vector<Segment>& known) {
  const RowMatrix& u = search.evidence.u;
  const std::vector<bool> wrong = as_flags(off, u.rows());
  std::size_t found = 0;
  for (std::size_t i = 0; i < off.size() && found < kMissing.right_away && i < 2 * kMissing.right_away; ++i) {
    const Vector to = u.row(off[i]);
    Index nearest = -1;
    double least = 0;
    for (Index r = 0; r < u.rows(); ++r) {
      const double far = (u.row(r).transpose() - to).norm();
      if (!wrong[static_cast<std::size_t>(r)] && (nearest < 0 || far < least)) nearest = r, least = far;
    }
    if (nearest < 0) return found;
    const auto kink = first_kink(search.space, model, u.row(nearest).transpose(), to, search.evidence.scale,
                                 sub_seed(sub_seed(search.seed, "towards wrong answers", look), "kink", i));
    if (kink && add_kink(search, *kink)) {
      ++found;
    } else if (kink) {
      known.emplace_back(kink->place, to);
    }
  }
  return found;
}

// A known unit, beyond whose surface the network is wrong: a weight on it that was open. Queries there give
// it.
bool find_weights_beyond(LayerSearch& search, const std::vector<Segment>& from_to) {
  RowMatrix u(static_cast<Index>(from_to.size()) * kMissing.beyond, search.dimensions());
  Index at = 0;
  for (const auto& [from, to] : from_to)
    for (Index q = 0; q < kMissing.beyond; ++q)
      u.row(at++) = (from + static_cast<double>(q + 1) / static_cast<double>(kMissing.beyond) * (to - from))
                        .transpose();
  ask_for_sample(search.space, search.evidence, u);
  // Where signs are known the last hidden layer alone may say it.
  if (const DeepForm plain = network_of_layers(search); !plain.V.empty()) {
    if (polish_last_layer_first(search, plain)) {
      search.hypothesis.start = search.hypothesis.network;
      return true;
    }
  }
  std::vector<Index> none;
  double left = 0;
  return sharpen_layers(search, none, left);
}

// Places at which units would switch that are on at all queries.
RowMatrix where_units_switch(const LayerSearch& search, std::uint64_t look) {
  const Hypothesis& known = search.hypothesis;
  const DeepForm& form = known.fitted;
  std::vector<Vector> places;
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const Index k = form.V[l].rows();
    Matrix above;  // rows on (layer, what lies below it)
    if (l + 1 == form.depth()) {
      above = form.C.transpose();
    } else {
      std::vector<Vector> rows;
      for (Index i = 0; i < form.V[l + 1].rows(); ++i)
        if (known.units[l][static_cast<std::size_t>(i)].open == 0)
          rows.emplace_back(form.V[l + 1].row(i).transpose());
      if (rows.size() < 2) continue;
      above = as_rows(rows, form.V[l + 1].cols());
    }
    const SignFreeLayers under(search.dimensions(),
                               {form.V.begin(), form.V.begin() + static_cast<std::ptrdiff_t>(l)});
    const std::uint64_t seed = sub_seed(sub_seed(search.seed, "where units switch", look), "layer", l);
    std::uint64_t number = 0;
    for (const Vector& row : one_sided_rows(above.leftCols(k), above.rightCols(above.cols() - k), form.V[l],
                                            seed, kMissing.most_one_sided))
      for (const double side : {1.0, -1.0})
        places.push_back(place_of_most(search.space, search.evidence, under, side * row,
                                       sub_seed(seed, "place", number++)));
  }
  RowMatrix out = as_rows(places, search.dimensions());
  // And where few units of a layer are on alone.
  if (const DeepForm plain = network_of_layers(search); !plain.V.empty())
    append_rows(out, climbs(search.space, search.evidence, plain,
                            sub_seed(search.seed, "units on alone", look), kMissing.alone));
  return out;
}

}  // namespace

bool find_missing_unit(LayerSearch& search, std::uint64_t look) {
  Hypothesis& known = search.hypothesis;
  if (known.fitted.C.size() == 0) return false;
  const std::optional<PlainLook> plain = known.nearly ? std::nullopt : look_with_signs(search);
  const bool told = plain && !plain->wrong.empty();
  double left = 0;
  std::vector<Index> off = told ? plain->wrong : unexplained_rows(search, left);
  if (!told) {
    const double all = explained_share(search);
    if (known.nearly) {
      // Earlier queries that a network for all others does not answer.
      known.fitted = *std::exchange(known.nearly, std::nullopt);
      left = 0;
      off = wrong_rows(search, left);
      const double most = kMissing.trimmed * static_cast<double>(search.evidence.u.rows());
      if (static_cast<double>(off.size()) > most) return false;
    } else if (left < all && left > kMissing.on_its_way) {
      (void)sharpen_layers(search, off, left);
    }
    if (!(left < all)) return false;
  }
  const Model fitted = [&](const RowMatrix& u) {
    NoisyAnswers said{evaluate(known.fitted, u), Vector(u.rows())};
    for (Index i = 0; i < u.rows(); ++i)
      said.noise(i) =
          allowed_error(search, left, u.row(i).transpose(), said.values.row(i).cwiseAbs().maxCoeff());
    return said;
  };
  const Model& model = told ? plain->model : fitted;
  if (!told && off.empty() && !known.fitted.plain) {
    const RowMatrix u = where_units_switch(search, look);
    if (u.rows() == 0) return false;
    off = ask_for_wrong(search, u, model);
  }
  std::vector<Segment> on_known;
  std::size_t found = add_kinks_towards(search, off, model, look, on_known);
  if (found == 0 && plain && !plain->always_on.empty()) {
    const RowMatrix u = where_always_on_switch(search, plain->always_on, look);
    found = add_kinks_towards(search, ask_for_wrong(search, u, plain->model), plain->model, look, on_known);
  }
  return found > 0 || (!on_known.empty() && find_weights_beyond(search, on_known));
}

}  // namespace exhume
