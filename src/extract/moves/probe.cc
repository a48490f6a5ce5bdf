#include "extract/moves/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "exhume/error.h"
#include "extract/evidence.h"
#include "extract/moves/tell_shape.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct ProbeLimits {
  Index places = 6, again = 4, steps = 5;
  // delta over the size of inputs; the lengths are 1, 10 and 100 of these.
  double shortest = 1e-5;
  int lengths = 3;
  // Answers to one query that differ by more than this share are not those of a function.
  double same_answer = 1e-5;
  // Rows of probabilities sum to 1 this closely.
  double sums_to_one = 1e-5;
  // What is left off a straight line may grow by this much from length to length without being curvature.
  double curves = 20;
  // How far about a whole number an oracle is asked that may round its inputs.
  double cell = 0.45;
  // Noise that is taken for that of doubles, at least.
  double least_relative = 1e-15;
  double coarse = 1e-12;  // from which on curvature does not show along short steps
  // And from which on nothing was ever extracted: with five digits half of the networks of one hidden layer
  // were, with four none (docs/extract.md).
  double too_coarse = 3e-5;
  // Squares of such answers, and of their products with weights, leave the range of double.
  double largest = 1e145, smallest = 1e-145;
  // Of the places whose shape was told, those that make it that of the function; places told, at least.
  double most = 0.6;
  int told = 4;
};
constexpr ProbeLimits kProbe;

// Of values at equal steps, rows of y: the largest deviation from the straight line through them (least
// squares), and from the parabola.
struct Deviation {
  double line = 0, parabola = 0, change = 0;  // change: largest |y_i - y_0|
};
Deviation deviation(const Eigen::Ref<const RowMatrix>& y) {
  const Index n = y.rows();
  Matrix basis(n, 3);
  for (Index i = 0; i < n; ++i) {
    const double t = static_cast<double>(i) - static_cast<double>(n - 1) / 2;
    basis.row(i) << 1, t, t * t - static_cast<double>(n * n - 1) / 12;
  }
  Deviation out;
  Matrix left = y;
  for (Index b = 0; b < 3; ++b) {
    left -= basis.col(b) * (basis.col(b).transpose() * left) / basis.col(b).squaredNorm();
    if (b == 1) out.line = left.cwiseAbs().maxCoeff();
  }
  out.parabola = left.cwiseAbs().maxCoeff();
  out.change = (y.rowwise() - y.row(0)).cwiseAbs().maxCoeff();
  return out;
}

bool all_probabilities(const RowMatrix& y) {
  return y.cols() > 1 && (y.array() >= 0).all() &&
         ((y.rowwise().sum().array() - 1).abs() < kProbe.sums_to_one).all();
}
bool all_log_probabilities(const RowMatrix& y) {
  return y.cols() > 1 && (y.array() <= 0).all() &&
         ((y.array().exp().rowwise().sum() - 1).abs() < kProbe.sums_to_one).all();
}

const char* const kCurves =
    "outputs curve between kinks, as those of tanh, sigmoid, GELU or softplus units do: only piecewise "
    "linear activations (ReLU, leaky ReLU, absolute value) can be extracted";

// Why a function of these shapes is none that can be extracted; empty where it may be.
std::string why_not(const Shapes& seen, AnswerNoise& noise) {
  const auto most = [&](int places) {
    return seen.told() >= kProbe.told && places >= kProbe.most * seen.told();
  };
  if (most(seen.curves)) return kCurves;
  if (most(seen.steps) || seen.jumps > 0) {
    return "outputs jump from one number to another along short steps, as those of decision trees, boosting "
           "and "
           "nearest neighbours do, and of inputs or outputs that are rounded, as by int8 and half precision: "
           "only "
           "functions without jumps can be extracted";
  }
  if (most(seen.rough)) noise.relative = std::max(noise.relative, seen.roughness);
  if (noise.relative > kProbe.too_coarse) {
    return fmt::format(
        "along short straight steps answers are off a straight line, and off a bend, by more than {:.0e} of "
        "their size: arithmetic of few digits, such as half precision or int8, rounded answers or noise; "
        "kinks "
        "are found where it is less",
        kProbe.too_coarse);
  }
  return {};
}

const char* const kWholeNumbers =
    "between them nothing can be asked, and kinks cannot be found: ask the model behind it with real numbers";

// Whole numbers near the oracle's inputs x, within its domain.
RowMatrix whole_numbers(const Frame& frame, const RowMatrix& x) {
  RowMatrix whole = x.array().round().matrix();
  const Box& box = frame.domain();
  for (Index n = 0; n < whole.cols() && box.bounded(); ++n) {
    whole.col(n) =
        whole.col(n).cwiseMax(std::ceil(box.low_of(n))).cwiseMin(std::floor(box.high_of(n))).eval();
  }
  return whole;
}

bool answers_at(Meter& meter, const RowMatrix& x) {
  try {
    (void)meter.ask(QueryStage::kProbe, plain_rows(x));
  } catch (const Interrupted&) {
    throw;
  } catch (...) {
    return false;
  }
  return true;
}

// The oracle did not answer at x: does it at whole numbers, and again not at x?
bool answers_only_whole_numbers(Meter& meter, const RowMatrix& x) {
  const Frame& frame = meter.frame();
  return answers_at(meter, frame.from_inputs(whole_numbers(frame, frame.to_inputs(x)))) &&
         !answers_at(meter, x);
}

// Does an oracle whose answers stand still along short steps round its inputs? Then they stand still all
// about a whole number, and change with the next one, as labels and trees rarely do.
bool rounds_inputs(Meter& meter, const RowMatrix& x, std::uint64_t seed) {
  const Index n = x.rows(), d = x.cols();
  const Frame& frame = meter.frame();
  const RowMatrix z = whole_numbers(frame, frame.to_inputs(x));
  RowMatrix near(n, d), next = z;
  const Stream random(seed, "extract whole numbers");
  random.fill_uniform(0, near);
  const Box& box = frame.domain();
  for (Index i = 0; i < n; ++i) {
    const auto [where, side] = random.uniforms(static_cast<std::uint64_t>(n + i), 0);
    const auto input = static_cast<Index>(where * static_cast<double>(d));
    double& moved = next(i, input);
    moved += side < 0.5 ? 1 : -1;
    if (box.bounded() && moved > box.high_of(input)) moved -= 2;
    if (box.bounded() && moved < box.low_of(input)) moved += 2;
  }
  near = z + kProbe.cell * (2 * near.array() - 1).matrix();
  for (Index a = 0; a < d && box.bounded(); ++a)
    near.col(a) = near.col(a).cwiseMax(box.low_of(a)).cwiseMin(box.high_of(a)).eval();
  RowMatrix asked(3 * n, d);
  asked << z, near, next;
  const RowMatrix y = meter.ask(QueryStage::kProbe, plain_rows(frame.from_inputs(std::move(asked))));
  Index changed = 0;
  for (Index i = 0; i < n; ++i)
    if (y.row(2 * n + i) != y.row(i)) ++changed;
  return y.topRows(n) == y.middleRows(n, n) && 2 * changed >= n;
}

// Five equal steps from every place along a random direction, for three lengths, shorter first.
RowMatrix steps_from(const Frame& frame, const RowMatrix& x, std::uint64_t seed) {
  const Stream random(seed, "extract probe directions");
  const Box& box = frame.box();
  const double size = box.bounded() ? box.high - box.low : 1.0;
  RowMatrix u(kProbe.places * kProbe.lengths * kProbe.steps, x.cols());
  Index at = 0;
  for (Index i = 0; i < kProbe.places; ++i) {
    RowMatrix v(1, x.cols());
    random.fill_normal(static_cast<std::uint64_t>(i), v);
    // Towards the middle of a box, where there is one.
    if (box.bounded()) v = v.cwiseAbs().cwiseProduct((frame.origin().transpose() - x.row(i)).cwiseSign());
    for (Index length = 0; length < kProbe.lengths; ++length) {
      const double step = kProbe.shortest * std::pow(10, static_cast<double>(length)) * size;
      for (Index q = 0; q < kProbe.steps; ++q) u.row(at++) = x.row(i) + static_cast<double>(q) * step * v;
    }
  }
  if (box.bounded()) u = u.cwiseMax(box.low).cwiseMin(box.high);
  return u;
}

// What answers along the steps say: at how many places they curve or do not change at all, and what rounding
// leaves.
struct AlongSteps {
  int curved = 0, constant = 0;
  int still = 0;        // where they do not along the shortest steps
  double rounding = 0;  // median over the places
};
AlongSteps look_along_steps(const RowMatrix& answers, double level) {
  AlongSteps out;
  std::vector<double> rounding;
  for (Index i = 0; i < kProbe.places; ++i) {
    Deviation at[kProbe.lengths];
    bool still = true;
    for (Index length = 0; length < kProbe.lengths; ++length) {
      at[length] = deviation(answers.middleRows((i * kProbe.lengths + length) * kProbe.steps, kProbe.steps));
      still = still && at[length].change == 0;
    }
    if (still) ++out.constant;
    if (at[0].change == 0) ++out.still;
    rounding.push_back(at[0].line);
    const bool grows = at[2].line > kProbe.curves * at[1].line && at[1].line > 0 &&
                       at[2].parabola < 0.3 * at[2].line && at[2].line > 1e-12 * level;
    if (grows) ++out.curved;
  }
  std::sort(rounding.begin(), rounding.end());
  out.rounding = rounding[kProbe.places / 2];
  return out;
}

}  // namespace

NoLogit::NoLogit(const Box& box)
    : std::runtime_error(fmt::format(
          "on inputs {} a probability is 0, to the precision of the answers, and has no logarithm: ask for "
          "logits, or in a box in which the classifier is less sure{}",
          box.words(),
          box.per_input()
              ? ""
              : fmt::format(", such as [{:g}, {:g}]", box.low, box.low + (box.high - box.low) / 2))) {}

RowMatrix centred_logits(const RowMatrix& probabilities, bool logarithms) {
  RowMatrix y = logarithms ? probabilities : RowMatrix(probabilities.array().max(kTiny).log());
  y.colwise() -= Vector(y.rowwise().mean());
  return y;
}

Probe probe_oracle(Meter& meter, std::uint64_t seed) {
  Probe out;
  const auto refused = [&](std::string why) {
    out.refusal = std::move(why);
    return out;
  };
  const Frame& frame = meter.frame();
  const RowMatrix x = domain_inputs(frame, 1, seed, 1u << 20, kProbe.places);
  RowMatrix y;
  try {
    y = meter.ask(QueryStage::kProbe, plain_rows(x));
  } catch (const Interrupted&) {
    throw;
  } catch (const OutOfQueries&) {
    throw;
  } catch (...) {
    if (!answers_only_whole_numbers(meter, x)) throw;
    return refused(fmt::format("the oracle answers whole numbers and fails at others: {}", kWholeNumbers));
  }
  // The same again, backwards.
  const RowMatrix again =
      meter.ask_again(QueryStage::kProbe, plain_rows(x.topRows(kProbe.again).colwise().reverse()));
  const double typical = std::max(y.cwiseAbs().maxCoeff(), kTiny);
  const double unequal = (again.colwise().reverse() - y.topRows(kProbe.again)).cwiseAbs().maxCoeff();
  if (unequal > kProbe.same_answer * typical) {
    return refused(
        fmt::format("the same query was answered differently, {:.6g} apart where outputs are about {:.3g}: "
                    "ask an oracle that is deterministic",
                    unequal, typical));
  }
  const double differ_by = (y.rowwise() - y.row(0)).cwiseAbs().maxCoeff();
  if (typical > kProbe.largest || (differ_by > 0 && differ_by < kProbe.smallest)) {
    return refused(
        fmt::format("answers are about {:.2g} and differ by {:.2g}, whose squares leave the range of double "
                    "precision: let "
                    "the oracle {} its outputs",
                    typical, differ_by, typical > kProbe.largest ? "divide" : "multiply"));
  }
  if (all_probabilities(y)) {
    out.reading = Reading::kProbabilities;
  } else if (all_log_probabilities(y)) {
    out.reading = Reading::kLogProbabilities;
  }
  RowMatrix answers = meter.ask(QueryStage::kProbe, plain_rows(steps_from(frame, x, seed)));
  if (out.reading != Reading::kPlain) {
    const bool logarithms = out.reading == Reading::kLogProbabilities;
    const Box box = frame.domain();
    if (!logarithms && !(y.array() > kTiny).all()) {
      return refused(box.bounded()
                         ? NoLogit(box).what()
                         : "probabilities of 0 have no logarithm: ask for logits, or give a box of inputs in "
                           "which the classifier is less sure");
    }
    meter.read_as([logarithms, box](const RowMatrix& values) {
      if (box.bounded() && !logarithms && !(values.array() > kTiny).all()) throw NoLogit(box);
      return centred_logits(values, logarithms);
    });
    answers = centred_logits(answers, logarithms);
  }
  out.noise.typical = std::max(answers.cwiseAbs().maxCoeff(), kTiny);
  const AlongSteps seen = look_along_steps(answers, out.noise.typical);
  out.noise.relative =
      std::max(kProbe.least_relative, 2 * std::max(seen.rounding, unequal) / out.noise.typical);
  std::set<std::vector<double>> different;  // rows
  for (Index i = 0; i < y.rows(); ++i) different.emplace(y.row(i).data(), y.row(i).data() + y.cols());
  const bool differ = different.size() > 1;
  if (seen.constant >= kProbe.places - 2 && differ && rounds_inputs(meter, x, seed))
    return refused(fmt::format("the oracle rounds its inputs to whole numbers: {}", kWholeNumbers));
  if (seen.constant == kProbe.places && differ) {
    return refused(fmt::format(
        "outputs do not change at all along short steps and jump in between, as labels and decision trees do "
        "({} different answers at {} inputs): ask for the scores behind them",
        different.size(), kProbe.places));
  }
  if (seen.curved >= kProbe.places - 1) {
    out.curved = true;
    return out;
  }
  // Doubles that are straight along short steps need no further look, but where they stand still.
  const bool look = out.noise.relative > kProbe.coarse || seen.still > 0;
  if (!look) return out;
  std::string why = why_not(tell_shapes(meter, out.noise, seed), out.noise);
  if (why == kCurves) {
    out.curved = true;
  } else if (!why.empty()) {
    return refused(std::move(why));
  }
  return out;
}

}  // namespace exhume
