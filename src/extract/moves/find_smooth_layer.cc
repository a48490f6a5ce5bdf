#include "extract/moves/find_smooth_layer.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "extract/evidence.h"
#include "fit/residuals.h"
#include "fit/smooth_search.h"
#include "moments/moments.h"
#include "moments/standardise.h"

namespace exhume {
namespace {

struct SmoothLayerLimits {
  // Random queries of the first round: with the least a refusal stays below a thousand with the probe's.
  // Where those would be no more than `scarce` times what the widest students have unknowns, `plenty` times
  // that: of 20-16-3 tanh and erf, 650 queries gave none of three, 2,600 four of four. Every further round
  // asks `growth` times as many in all.
  Index least = 650, growth = 4, most = 12'000;
  double scarce = 1.5, plenty = 2.5;
  // More are asked where the first were too few for as many units as the search would try, and the best
  // network leaves no more than this of queries that it did not see: one of the right kind with too few
  // equations leaves less than another kind of function does.
  double promising[3] = {2e-2, 2e-3, 0};
  int starts[3] = {1, 2, 4};           // of the search in every round: the first is to end soon
  std::uint64_t another = 7919;        // added to the seed for a second search
  double unseen = 0.1;                 // share of the queries that are not fitted
  std::uint64_t first_row = 1u << 24;  // numbers of random inputs that nothing else uses
  // Curvature in single precision.
  Index places = 12, most_straight = 3, steps = 5;
  double shorter = 0.02, longer = 0.06;
  double above_noise = 30;  // of what the longer steps leave off the line
  double parabola = 0.3;    // and of that, what a parabola leaves at most
};
constexpr SmoothLayerLimits kSmoothLayer;

// Least squares: what a straight line leaves of values at equal steps, and a parabola; largest entries.
struct OffLine {
  double line = 0, parabola = 0;
};
OffLine off_line(const Eigen::Ref<const RowMatrix>& y) {
  OffLine out;
  Matrix basis(y.rows(), 3);
  for (Index i = 0; i < y.rows(); ++i) {
    const double t = static_cast<double>(i) - static_cast<double>(y.rows() - 1) / 2;
    basis.row(i) << 1, t, t * t;
  }
  const Matrix values = y;
  out.line =
      (values - basis.leftCols(2) * basis.leftCols(2).householderQr().solve(values)).cwiseAbs().maxCoeff();
  out.parabola = (values - basis * basis.householderQr().solve(values)).cwiseAbs().maxCoeff();
  return out;
}

// Queries of the first round: equations for students of the greatest width, as many units as
// fit/smooth_search.h goes up to.
Index first_round(Index inputs, Index outputs) {
  const auto needed = static_cast<double>(equations_of_widest_smooth_students(inputs, outputs)) /
                      static_cast<double>(outputs);
  if (kSmoothLayer.scarce * needed <= static_cast<double>(kSmoothLayer.least)) return kSmoothLayer.least;
  return std::min(kSmoothLayer.most, static_cast<Index>(kSmoothLayer.plenty * needed));
}

// What `form` leaves of rows, as a share of the outputs' variance 1.
double left_of(const Form& form, const SampleSource& rows, const Control& control) {
  if (form.units() == 0) return 1;
  return residual_products(form, rows, kBlockRows, control).trace() /
         static_cast<double>(std::max<Index>(rows.rows(), 1) * rows.outputs());
}

}  // namespace

bool curves_coarsely(Meter& meter, const AnswerNoise& noise, std::uint64_t seed) {
  const Frame& frame = meter.frame();
  const Box& box = frame.box();
  const double size = box.bounded() ? box.high - box.low : 1;
  const RowMatrix x = domain_inputs(frame, 1, seed, 1u << 21, kSmoothLayer.places);
  const Stream random(seed, "extract coarse curvature");
  RowMatrix u(kSmoothLayer.places * 2 * kSmoothLayer.steps, x.cols());
  Index at = 0;
  for (Index i = 0; i < x.rows(); ++i) {
    RowMatrix v(1, x.cols());
    random.fill_normal(static_cast<std::uint64_t>(i), v);
    v.normalize();
    // Towards the middle of a box, where there is one.
    if (box.bounded())
      v = v.cwiseAbs().cwiseProduct((frame.origin().transpose() - x.row(i)).cwiseSign()).eval();
    for (const double step : {kSmoothLayer.shorter, kSmoothLayer.longer}) {
      for (Index q = 0; q < kSmoothLayer.steps; ++q)
        u.row(at++) = x.row(i) + static_cast<double>(q) * step * size * v;
    }
  }
  if (box.bounded()) u = u.cwiseMax(box.low).cwiseMin(box.high).eval();
  const RowMatrix y = meter.ask(QueryStage::kProbe, plain_rows(u));
  Index straight = 0;
  const double level = noise.at(noise.typical);
  for (Index i = 0; i < x.rows(); ++i) {
    const OffLine shorter = off_line(y.middleRows(2 * i * kSmoothLayer.steps, kSmoothLayer.steps));
    const OffLine longer = off_line(y.middleRows((2 * i + 1) * kSmoothLayer.steps, kSmoothLayer.steps));
    const bool curved = longer.line > kSmoothLayer.above_noise * level &&
                        longer.parabola < kSmoothLayer.parabola * longer.line &&
                        shorter.line < longer.line / 2;
    if (!curved) ++straight;
  }
  return straight <= kSmoothLayer.most_straight;
}

SmoothLayer find_smooth_layer(Meter& meter, const AnswerNoise& noise, std::uint64_t seed) {
  SmoothLayer out;
  const Control& control = meter.control();
  RowMatrix x(0, meter.frame().inputs()), y;
  Index asked = 0;
  SmoothFound best;
  double unseen = 1;
  for (std::size_t round = 0; round < std::size(kSmoothLayer.starts); ++round) {
    const Index count = round == 0 ? first_round(meter.frame().inputs(), meter.outputs())
                                   : std::min(kSmoothLayer.most, kSmoothLayer.growth * asked);
    const RowMatrix more = domain_inputs(
        meter.frame(), 1, seed, kSmoothLayer.first_row + static_cast<std::uint64_t>(asked), count - asked);
    const RowMatrix answers = meter.ask(QueryStage::kSample, plain_rows(more));
    RowMatrix all_x(count, more.cols()), all_y(count, answers.cols());
    if (asked > 0) {
      all_x.topRows(asked) = x;
      all_y.topRows(asked) = y;
    }
    all_x.bottomRows(count - asked) = more;
    all_y.bottomRows(count - asked) = answers;
    x = std::move(all_x);
    y = std::move(all_y);
    asked = count;
    const auto kept = static_cast<Index>((1 - kSmoothLayer.unseen) * static_cast<double>(count));
    const SamplePtr rows = memory_samples(x.topRows(kept), y.topRows(kept));
    const Standardisation coordinates = standardise(second_moments(*rows, control));
    const SamplePtr standard = load(*affine(rows, coordinates.map));
    const SamplePtr other =
        affine(memory_samples(x.bottomRows(count - kept), y.bottomRows(count - kept)), coordinates.map);
    SmoothSearchOptions options;
    options.seed = seed + round;
    options.starts = kSmoothLayer.starts[round];
    const double level = noise.at(noise.typical);
    RoundingNoise rounding;
    rounding.mean_square = level * level * coordinates.map.D.cwiseAbs2().mean();
    rounding.deviation = 2;
    options.rounding = rounding;
    best = search_smooth_units(standard, options, control);
    unseen = left_of(best.fit.model, *other, control);
    // Another start on the same queries, unless what is left is that of another function.
    if (round == 0 && !best.exact && unseen <= kSmoothLayer.promising[round] && !control.out_of_time()) {
      options.seed += kSmoothLayer.another;
      SmoothFound again = search_smooth_units(standard, options, control);
      const double left = left_of(again.fit.model, *other, control);
      if (again.exact || left < unseen) {
        best = std::move(again);
        unseen = left;
      }
    }
    // Exact on the rows that it saw, and on the others: to what the precision and few rows allow.
    constexpr double kAsGood = 1e3;
    if (best.exact && unseen <= kAsGood * std::max(rounding.mean_square, 1e-24)) {
      out.network = canonical(coordinates.to_user(to_network(best.fit.model)));
      return out;
    }
    if (control.out_of_time() || !best.few_rows || unseen > kSmoothLayer.promising[round]) break;
  }
  out.refusal = fmt::format(
      "outputs curve everywhere, as those of smooth units do, but no network of one hidden layer of tanh, "
      "sigmoid, GELU, SiLU, softplus, ELU or erf units answers the queries: the best one found ({} units, "
      "{}) leaves {:.1e} of the variance of queries that it did not see; several hidden layers of smooth "
      "units and other smooth functions are not extracted",
      best.fit.model.units(), best.activation.empty() ? "none" : best.activation, unseen);
  return out;
}

}  // namespace exhume
