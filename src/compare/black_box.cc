#include "compare/black_box.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "base/counted.h"
#include "base/random.h"
#include "compare/arithmetic.h"
#include "compare/sensitivity.h"
#include "exhume/error.h"

namespace exhume {
namespace {

constexpr Index kFirst = 256;     // random inputs that tell the arithmetic
constexpr double kFarOut = 1000;  // times the size of the domain
constexpr int kBisections = 48;   // to a place on a line
constexpr double kCoarse = 4;     // times the error of int8 that is simulated
// Answers (rows times outputs) of which the covariance is taken (sensitivity.h): a tenth of a second, and
// one.
constexpr Index kFewEntries = 1024, kManyEntries = 2560;

// Queries in batches, counted; never more than the limit.
class Asked {
 public:
  Asked(Oracle& oracle, Index limit, Index outputs, const Control& control)
      : oracle_(oracle), limit_(limit), outputs_(outputs), control_(control) {}

  [[nodiscard]] Index left() const { return limit_ - count_; }
  [[nodiscard]] Index count() const { return count_; }
  [[nodiscard]] std::string name() const { return oracle_.name(); }
  RowMatrix operator()(const RowMatrix& x) {
    RowMatrix y(x.rows(), std::max<Index>(outputs_, 0));
    for (Index at = 0; at < x.rows();) {
      const Index rows = std::min<Index>(x.rows() - at, oracle_.batch_rows());
      const RowMatrix part = oracle_.answer(x.middleRows(at, rows), control_);
      if (part.rows() != rows)
        throw DataError(fmt::format("{} answered {} rows with {}", oracle_.name(), rows, part.rows()));
      if (outputs_ < 0) {
        outputs_ = part.cols();
        y.resize(x.rows(), outputs_);
      }
      if (part.cols() != outputs_) {
        throw DataError(fmt::format("{} answers with {}, expected {}", oracle_.name(),
                                    counted(part.cols(), "output"), outputs_));
      }
      y.middleRows(at, rows) = part;
      at += rows;
      count_ += rows;
      control_.check();
      control_.report("queries", static_cast<double>(count_) / static_cast<double>(limit_));
    }
    return y;
  }

 private:
  Oracle& oracle_;
  Index limit_, outputs_, count_ = 0;
  const Control& control_;
};

RowMatrix all_corners(const Vector& low, const Vector& high) {
  const Index rows = Index{1} << low.size();
  RowMatrix x(rows, low.size());
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < low.size(); ++i) x(r, i) = ((r >> i) & 1) != 0 ? high(i) : low(i);
  return x;
}

// Inputs along random lines through the domain, `points` on each, from end to end of the box.
RowMatrix line_inputs(const Vector& low, const Vector& high, Index lines, Index points, std::uint64_t seed) {
  const RowMatrix through = uniform_inputs(low, high, lines, seed, "compare line places");
  RowMatrix along(lines, low.size());
  Stream(seed, "compare line directions").fill_normal(0, along);
  RowMatrix x(lines * points, low.size());
  for (Index k = 0; k < lines; ++k) {
    double first = -std::numeric_limits<double>::infinity(), last = -first;
    for (Index i = 0; i < low.size(); ++i) {
      const double v = along(k, i) * (high(i) - low(i));
      along(k, i) = v;
      if (v == 0) continue;
      const double a = (low(i) - through(k, i)) / v, b = (high(i) - through(k, i)) / v;
      first = std::max(first, std::min(a, b));
      last = std::min(last, std::max(a, b));
    }
    for (Index p = 0; p < points; ++p) {
      const double t = std::isfinite(first) ? first + (last - first) * static_cast<double>(p) /
                                                          static_cast<double>(std::max<Index>(points - 1, 1))
                                            : 0;
      x.row(k * points + p) = through.row(k) + t * along.row(k);
    }
  }
  for (Index i = 0; i < low.size(); ++i) x.col(i) = x.col(i).cwiseMax(low(i)).cwiseMin(high(i));
  return x;
}

// The largest difference of two answers to the same queries, where it is more than the order of sums explains
// in single precision; zero otherwise. `size` is rounding_size (search.h).
double unsteadiness(const RowMatrix& y, const RowMatrix& again, const RowMatrix& size) {
  constexpr double kOrderOfSums = 64 * kSingleRoundoff;
  const RowMatrix gap = (y - again).cwiseAbs();
  return (gap.array() > kOrderOfSums * size.array()).any() ? gap.maxCoeff() : 0;
}

bool within(const Vector& x, const Vector& low, const Vector& high) {
  return (x.array() >= low.array()).all() && (x.array() <= high.array()).all();
}

// Two answers of `name` to the same query differ by `unsteady`. Without a tolerance, a difference that is not
// far beyond that decides nothing: returns true, with verdict and reason.
bool undecided_by_noise(double unsteady, const std::string& name, CompareResult& out) {
  constexpr double kFarBeyond = 20;
  if (!(unsteady > 0)) return false;
  const std::string said =
      fmt::format("{} answers the same query differently, by up to {:.3g}", name, unsteady);
  if (out.tolerance || out.worst_difference > kFarBeyond * unsteady) {
    out.remarks.push_back(fmt::format("{}.", said));
    return false;
  }
  out.verdict = CompareVerdict::kUndecided;
  out.reason = fmt::format(
      "undecided: {}, and the largest difference found, {:.3g}, may be such noise; give a tolerance", said,
      out.worst_difference);
  return true;
}

// The comparison of one file with one black box.
class Hunt {
 public:
  Hunt(const Network& f, Oracle& oracle, const CompareOptions& options, const Control& control,
       CompareResult& out)
      : f_(f),
        blocks_(to_blocks(f)),
        plain_(to_plain_blocks(f)),
        options_(options),
        low_(out.low),
        high_(out.high),
        out_(out),
        ask_(oracle, options.queries, f.outputs(), control) {}

  void run() {
    tell_arithmetic();
    if (explained_) {
      domain_queries();
      if (!found()) far_queries();
    }
    if (out_.worst_difference > 0 && beyond_) ascend();
    const bool steady = unsteady_ == 0;
    if (beyond_ && steady) attribute();
    if (beyond_ && steady && std::isfinite(out_.worst_difference) && ask_.left() > 2 * low_.size() + 1) {
      add_simple_input(
          options_.rows,
          [&](const RowMatrix& x) {
            const RowMatrix gap = (ask_(x) - evaluate(f_, x)).cwiseAbs();
            return Vector(gap.rowwise().maxCoeff());
          },
          out_);
    }
    conclude();
  }

 private:
  [[nodiscard]] bool found() const { return beyond_; }

  RowMatrix reference(const RowMatrix& x) const {
    return how_.reference ? evaluate_in(*how_.reference, f_, x, how_.biases) : evaluate(f_, x);
  }

  // How far the answers are off the file's, over what is accepted; and keeps the worst of the domain.
  Vector look(const RowMatrix& x) {
    if (x.rows() == 0) return Vector(0);
    return judge(x, ask_(x));
  }

  Vector judge(const RowMatrix& x, const RowMatrix& y) {
    const RowMatrix own = evaluate(f_, x), gap = (y - own).cwiseAbs();
    const RowMatrix rest = how_.reference ? RowMatrix((y - reference(x)).cwiseAbs()) : gap;
    const RowMatrix size = rounding_size(f_, x);
    // The scale of int8 may be that of the batch: a row among larger ones is rounded as coarsely as they are.
    double coarse = 0;
    if (!how_.reference && how_.arithmetic == to_string(Arithmetic::kInt8))
      coarse = kCoarse * (evaluate_in(Arithmetic::kInt8, f_, x) - own).cwiseAbs().maxCoeff();
    Vector over(x.rows());
    for (Index r = 0; r < x.rows(); ++r) {
      const bool good = y.row(r).allFinite();
      const double worst = good ? gap.row(r).maxCoeff() : std::numeric_limits<double>::infinity();
      const double limit = out_.tolerance ? *out_.tolerance : 0;
      double ratio = worst <= limit ? 0 : std::numeric_limits<double>::infinity();
      // Without a tolerance: beyond rounding. With one: above it, and not by rounding alone.
      if (ratio > 0 && good && explained_ && !out_.tolerance) {
        ratio = ((rest.row(r).array() - 1e-300) / ((how_.share * size.row(r).array()).max(coarse) + 1e-300))
                    .maxCoeff();
      }
      over(r) = ratio;
      const Vector place = x.row(r);
      if (!within(place, low_, high_)) continue;
      if (worst > out_.worst_difference || out_.worst_input.size() == 0) {
        out_.worst_difference = worst;
        out_.worst_input = place;
        out_.first_outputs = own.row(r);
        out_.second_outputs = y.row(r);
      }
      if (ratio > 1) beyond_ = true;
    }
    return over;
  }

  void tell_arithmetic() {
    const Index rows = std::max<Index>(1, std::min<Index>(kFirst, options_.queries / 4));
    const RowMatrix x = uniform_inputs(low_, high_, rows, options_.seed, "compare first queries");
    const RowMatrix y = ask_(x);
    out_.random_queries += rows;
    if (!y.allFinite()) {
      judge(x, y);
      return;
    }
    how_ = arithmetic_that_explains(f_, x, y, is_rough());
    // Noise is as rough as rounding. Where no arithmetic explains the answers to the digits of single
    // precision, the same queries are made once more, in the same batches: int8 may be scaled by the batch.
    const bool exact = how_.reference || how_.arithmetic == "double" || how_.arithmetic == "float32";
    if (!exact) {
      unsteady_ = unsteadiness(y, ask_(x), rounding_size(f_, x));
      if (unsteady_ > 0) how_ = {};
    }
    explained_ = !how_.arithmetic.empty() || out_.tolerance.has_value();
    if (!how_.arithmetic.empty() && how_.arithmetic != "double") out_.arithmetic = how_.arithmetic;
    if (!explained_) beyond_ = true;
    judge(x, y);
    out_.random_differences = (y - evaluate(f_, x)).cwiseAbs().rowwise().maxCoeff();
  }

  // Second differences of y - f over steps of a hundredth of the domain: as large as itself where it is
  // rounding, nothing where it is linear.
  bool is_rough() {
    constexpr Index kPlaces = 24;
    if (ask_.left() < 3 * kPlaces) return false;
    const RowMatrix middle = uniform_inputs(low_, high_, kPlaces, options_.seed, "compare roughness");
    RowMatrix step(kPlaces, low_.size());
    Stream(options_.seed, "compare roughness steps").fill_normal(0, step);
    step *= 0.01;
    for (Index i = 0; i < low_.size(); ++i) step.col(i) *= (high_(i) - low_(i));
    RowMatrix x(3 * kPlaces, low_.size());
    x << middle - step, middle, middle + step;
    for (Index i = 0; i < low_.size(); ++i) x.col(i) = x.col(i).cwiseMax(low_(i)).cwiseMin(high_(i));
    const RowMatrix gap = ask_(x) - evaluate(f_, x);
    const auto a = gap.topRows(kPlaces), b = gap.middleRows(kPlaces, kPlaces), c = gap.bottomRows(kPlaces);
    const Vector bend = (a - 2 * b + c).rowwise().norm(), size = a.rowwise().norm() + c.rowwise().norm();
    // Whether most of the difference is rough. Not at most places: where a changed unit is off, rounding
    // alone is left. Nor in the sum of squares: one place where a changed unit switches would decide it.
    // The features of int8 bend it by a few tenths of the error of its weights, a smooth unit by a hundredth.
    constexpr double kBent = 0.05;
    double rough = 0;
    for (Index r = 0; r < kPlaces; ++r) rough += bend(r) > kBent * size(r) ? size(r) : 0;
    return rough > size.sum() / 2;
  }

  [[nodiscard]] Index part(double share) const {
    return std::min(ask_.left(), static_cast<Index>(share * static_cast<double>(options_.queries)));
  }

  void domain_queries() {
    if (options_.rows.rows() > 0) {
      const RowMatrix rows = options_.rows.topRows(std::min<Index>(options_.rows.rows(), part(0.2)));
      if (rows.rows() > 0) {
        const RowMatrix y = ask_(rows);
        judge(rows, y);
        out_.row_differences = (y - evaluate(f_, rows)).cwiseAbs().rowwise().maxCoeff();
      }
    }
    const Index random = part(0.35);
    const RowMatrix inside = uniform_inputs(low_, high_, random, options_.seed, "compare inputs");
    if (random > 0) {
      const RowMatrix y = ask_(inside);
      judge(inside, y);
      out_.random_queries += random;
      doubt_rounding(inside, y);
    }
    const Index kinks = part(0.2);
    const RowMatrix from =
        uniform_inputs(low_, high_, std::max<Index>(1, kinks / 8), options_.seed, "compare kinks");
    const RowMatrix beside = kink_inputs(blocks_, from, low_, high_, 8);
    const Index asked = std::min<Index>(kinks, beside.rows());
    look(beside.topRows(asked));
    out_.kink_queries = asked;
    const Index corners = part(0.2);
    const bool all = low_.size() < 30 && (Index{1} << low_.size()) <= ask_.left() / 2;
    all_corners_ = all;
    look(all ? all_corners(low_, high_)
             : corner_inputs(low_, high_, corners, options_.seed, "compare corners"));
    constexpr Index kMostExtremes = 600;  // a climb each: seconds where there are more
    look(extreme_inputs(blocks_, low_, high_, std::min(kMostExtremes, part(0.06)), options_.seed));
    constexpr Index kMostActing = 150;  // a second
    look(acting_inputs(blocks_, inside, low_, high_, std::min(kMostActing, part(0.05))));
    constexpr Index kPoints = 32;
    look(line_inputs(low_, high_, part(0.1) / kPoints, kPoints, options_.seed));
  }

  void far_queries() {
    if (options_.inside) return;
    const Index rows = std::min(part(0.1), ask_.left() / 2);
    if (rows < 4) return;
    const Vector middle = (low_ + high_) / 2, half = (high_ - low_) / 2;
    RowMatrix along(rows, low_.size());
    Stream(options_.seed, "compare far out").fill_normal(0, along);
    RowMatrix x = along;
    for (Index r = 0; r < rows; ++r) {
      // Near and far: some units need only a little more than the domain has.
      const double factor = std::pow(kFarOut, static_cast<double>(r % 4 + 1) / 4);
      x.row(r) = middle.transpose() + factor * (along.row(r).array() * half.transpose().array()).matrix();
    }
    Vector over;
    try {
      over = look(x);
    } catch (const DataError&) {
      out_.remarks.emplace_back(
          "The black box does not answer outside the domain: units that are active only there were not "
          "looked for.");
      return;
    }
    out_.far_queries = rows;
    Index shown = 0, home = 0;
    for (Index r = 0; r < rows && home < 12 && ask_.left() > 2 * low_.size() + kBisections; ++r) {
      if (!(over(r) > 1)) continue;
      ++shown;
      if (beyond_) break;
      ++home;
      follow_home(x.row(r), middle);
    }
    for (Index r = 0; r < rows; ++r) outside_ += over(r) > 1 ? 1 : 0;
  }

  double over_at(const Vector& x) { return look(RowMatrix(x.transpose()))(0); }

  // The signed difference of the output that differs most at x.
  Vector differences_at(const RowMatrix& x, Index output) {
    return ask_(x).col(output) - reference(x).col(output);
  }

  // From a difference outside to the corner of the domain where the unit that makes it would be on.
  void follow_home(const Vector& far, const Vector& middle) {
    const Index d = low_.size();
    const RowMatrix gap = ask_(far.transpose()) - reference(far.transpose());
    Index output = 0;
    gap.row(0).cwiseAbs().maxCoeff(&output);
    // Where it begins on the way from the middle.
    double off = 0, on = 1;
    for (int k = 0; k < kBisections / 2 && ask_.left() > d + 4; ++k) {
      const double t = (off + on) / 2;
      (over_at(middle + t * (far - middle)) > 1 ? on : off) = t;
    }
    const Vector place = middle + on * (far - middle);
    // Its gradient a little behind that place, by central differences where it is linear.
    const Vector behind = middle + std::min(1.0, on * 1.2 + 1e-6) * (far - middle);
    const double step = 0.02 * on * (far - middle).norm() / std::sqrt(static_cast<double>(d));
    if (ask_.left() < 2 * d) return;
    RowMatrix x = behind.transpose().replicate(2 * d, 1);
    for (Index i = 0; i < d; ++i) {
      x(2 * i, i) += step;
      x(2 * i + 1, i) -= step;
    }
    const Vector values = differences_at(x, output);
    Vector slope(d);
    for (Index i = 0; i < d; ++i) slope(i) = values(2 * i) - values(2 * i + 1);
    if (gap(0, output) < 0) slope *= -1;
    if (!(slope.norm() > 0) || !slope.allFinite()) return;
    Vector corner(d);
    for (Index i = 0; i < d; ++i) corner(i) = slope(i) >= 0 ? high_(i) : low_(i);
    plane_ = slope / slope.norm();
    plane_place_ = place;
    // The corner, and the way there from the middle.
    RowMatrix tries(8, d);
    for (Index k = 0; k < 8; ++k) {
      const double t = 1 - 0.06 * static_cast<double>(k);
      tries.row(k) = middle + t * (corner - middle);
    }
    look(tries.topRows(std::min<Index>(8, ask_.left())));
  }

  void ascend() {
    const Index d = low_.size();
    const Vector width = high_ - low_;
    for (int round = 0; round < 12; ++round) {
      const Index needed = d + 1 + 20;
      if (ask_.left() < needed) break;
      const Vector at = out_.worst_input;
      const double before = out_.worst_difference;
      Index output = 0;
      (out_.second_outputs - out_.first_outputs).cwiseAbs().maxCoeff(&output);
      RowMatrix x = at.transpose().replicate(d, 1);
      Vector step(d);
      for (Index i = 0; i < d; ++i) {
        step(i) = 1e-4 * width(i) * (at(i) + 1e-4 * width(i) <= high_(i) ? 1 : -1);
        x(i, i) += step(i);
      }
      const double here = out_.second_outputs(output) - out_.first_outputs(output);
      const RowMatrix y = ask_(x);
      const Vector values = (y - evaluate(f_, x)).col(output);
      Vector slope(d);
      for (Index i = 0; i < d; ++i)
        slope(i) = step(i) == 0 ? 0 : (values(i) - here) / step(i) * (here >= 0 ? 1 : -1);
      judge(x, y);
      if (!(slope.norm() > 0) || !slope.allFinite()) break;
      RowMatrix tries(20, d);
      for (int k = 0; k < 10; ++k) {
        const double t = std::ldexp(1.0, -k);
        tries.row(2 * k) = at.array() + t * slope.array().sign() * width.array();
        tries.row(2 * k + 1) = at + t * width.norm() / slope.norm() * slope;
      }
      for (Index i = 0; i < d; ++i) tries.col(i) = tries.col(i).cwiseMax(low_(i)).cwiseMin(high_(i));
      look(tries);
      if (!(out_.worst_difference > 1.001 * before)) break;
    }
  }

  // A difference of the size of rounding that goes with one weight of the file is no rounding
  // (sensitivity.h).
  void doubt_rounding(const RowMatrix& x, const RowMatrix& y) {
    const bool fine = out_.arithmetic == "float32" || how_.reference;
    if (beyond_ || out_.tolerance || !fine || !y.allFinite()) return;
    const RowMatrix r = y - reference(x);
    std::optional<SuspectWeight> found = suspect(x, r, kFewEntries);
    // Not sure yet: more rows.
    if (found && std::abs(found->t) > kChanged / 2 && std::abs(found->t) <= kChanged)
      found = suspect(x, r, kManyEntries);
    if (!found || std::abs(found->t) <= kChanged) return;
    beyond_ = true;
    out_.arithmetic.clear();
    name(*found);
  }

  // The weight that explains most of r at the rows x; nothing where there is no difference.
  [[nodiscard]] std::optional<SuspectWeight> suspect(const RowMatrix& x, const RowMatrix& r,
                                                     Index entries) const {
    const Sample some = sample(x, r, entries);
    return Sensitivity(plain_, some.outputs, some.x, some.r, some.size).worst();
  }

  struct Sample {
    RowMatrix x, r, size;
    std::vector<Index> outputs;
  };
  [[nodiscard]] Sample sample(const RowMatrix& x, const RowMatrix& r, Index entries) const {
    // The covariance of sensitivity.h is of this size squared.
    constexpr Index kLeastRows = 32, kMostOutputs = 16;
    const Index columns = std::min(kMostOutputs, r.cols());
    const Index rows = std::min(x.rows(), std::max(kLeastRows, entries / columns));
    Sample out;
    out.x = x.topRows(rows);
    const RowMatrix size = rounding_size(f_, out.x).cwiseMax(kTiny);
    const Vector by_output = (r.topRows(rows).array() / size.array()).square().colwise().mean().transpose();
    std::vector<Index> order(static_cast<std::size_t>(r.cols()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return by_output(a) > by_output(b); });
    order.resize(static_cast<std::size_t>(columns));
    std::sort(order.begin(), order.end());
    out.r.resize(rows, columns);
    out.size.resize(rows, columns);
    for (Index c = 0; c < columns; ++c) {
      out.r.col(c) = r.col(order[static_cast<std::size_t>(c)]).head(rows);
      out.size.col(c) = size.col(order[static_cast<std::size_t>(c)]);
    }
    out.outputs = order;
    return out;
  }

  void name(const SuspectWeight& found) {
    ComparedUnit unit;
    unit.layer = static_cast<Index>(found.layer);
    unit.first_row = unit.second_row = found.unit;
    unit.weight = found.source < 0 ? std::string("bias")
                  : found.source == 0
                      ? fmt::format("weight on input {}", found.from + 1)
                      : fmt::format("weight on unit {} of layer {}", found.from + 1, found.source);
    unit.first_weight = found.weight;
    unit.second_weight = found.weight + found.change;
    const BlockLayer& layer = plain_.layers[found.layer];
    double norm = layer.b(found.unit) * layer.b(found.unit);
    for (const Matrix& block : layer.from)
      if (block.size() != 0) norm += block.row(found.unit).squaredNorm();
    unit.change = std::abs(found.change) / std::max(std::sqrt(norm), kTiny);
    unit.input = out_.worst_input;
    out_.changed.push_back(std::move(unit));
    out_.remarks.push_back(fmt::format(
        "The difference goes with one weight of the file: a change of it explains {:.0f}% of the squares "
        "over random inputs. Its new value is an estimate.",
        100 * found.share));
  }

  // Which units of the file the difference goes with: one weight, the weights of one unit, or units that are
  // on wherever it is.
  void attribute() {
    if (!out_.changed.empty()) return;
    const Index rows = std::min<Index>(512, ask_.left());
    if (rows < 64) return;
    const RowMatrix x = uniform_inputs(low_, high_, rows, options_.seed, "compare attribution");
    const RowMatrix y = ask_(x);
    const Vector gap = (y - evaluate(f_, x)).cwiseAbs().rowwise().maxCoeff();
    const double size = gap.maxCoeff();
    const auto differs = (gap.array() > 1e-6 * size + 1e-9 * out_.worst_difference).eval();
    const Index many = differs.count();
    if (out_.random_differences.size() == 0) out_.random_differences = gap;
    if (many < 8 || !y.allFinite()) return;
    constexpr double kMostOfIt = 0.9;
    const Sample some = sample(x, y - evaluate(f_, x), kFewEntries);
    const Sensitivity sensitivity(plain_, some.outputs, some.x, some.r, some.size);
    if (const std::optional<SuspectWeight> found = sensitivity.worst(); found && found->share > kMostOfIt) {
      name(*found);
      return;
    }
    if (const std::optional<SuspectUnit> found = sensitivity.worst_unit();
        found && found->share > kMostOfIt) {
      ComparedUnit unit;
      unit.layer = static_cast<Index>(found->layer);
      unit.first_row = unit.second_row = found->unit;
      unit.weight =
          fmt::format("changes of its weights explain {:.0f}% of the difference", 100 * found->share);
      unit.input = out_.worst_input;
      out_.changed.push_back(std::move(unit));
      return;
    }
    if (many == rows || !plain_.piecewise_linear()) return;
    const std::vector<RowMatrix> h = features(blocks_, x);
    for (std::size_t l = 0; l < blocks_.depth(); ++l) {
      for (Index i = 0; i < blocks_.layers[l].units(); ++i) {
        const auto on = (h[l + 1].col(i).array() > 0).eval();
        const Index both = (on && differs).count();
        // On wherever there is a difference, and hardly anywhere else.
        if (both < many - many / 50 || on.count() > many + many / 10 + 2) continue;
        ComparedUnit unit;
        unit.layer = static_cast<Index>(l);
        unit.first_row = unit.second_row = i;
        unit.weight = "the answers differ where this unit is on, and there alone";
        unit.share = static_cast<double>(on.count()) / static_cast<double>(rows);
        unit.input = out_.worst_input;
        out_.changed.push_back(std::move(unit));
      }
    }
  }

  void conclude() {
    out_.queries = ask_.count();
    out_.confidence = options_.confidence;
    out_.lower = out_.worst_difference;
    const bool found = beyond_;
    if (undecided_by_noise(unsteady_, ask_.name(), out_)) return;
    // No difference in N random inputs: the share p of those that show one has (1 - p)^N >= 1 - confidence.
    if (!found) {
      out_.unseen_share =
          1 - std::pow(1 - options_.confidence, 1.0 / static_cast<double>(out_.random_queries));
    }
    if (found) {
      out_.verdict = CompareVerdict::kDifferent;
      if (plane_.size() > 0) {
        ComparedUnit unit;
        unit.weight = "found far out and followed into the domain";
        unit.weights = Vector(plane_.size() + 1);
        unit.weights << plane_, -plane_.dot(plane_place_);
        unit.input = out_.worst_input;
        out_.extra.push_back(std::move(unit));
      } else if (out_.changed.empty() && explained_ && !out_.tolerance) {
        ComparedUnit unit;
        unit.weight = "the file has nothing that explains the difference at this input";
        unit.input = out_.worst_input;
        out_.extra.push_back(std::move(unit));
      }
    } else if (out_.tolerance) {
      out_.verdict = CompareVerdict::kSameFunction;
      if (!out_.arithmetic.empty()) out_.verdict = CompareVerdict::kRounding;
    } else {
      out_.verdict = out_.arithmetic.empty() ? CompareVerdict::kSameFunction : CompareVerdict::kRounding;
    }
    if (outside_ > 0 && !found) {
      out_.remarks.push_back(
          fmt::format("Outside the domain the answers differ at {} of {} inputs: the black box has units "
                      "there that the file does not have. Inside the domain no difference was found.",
                      outside_, out_.far_queries));
    }
    if (!found) {
      out_.remarks.push_back(fmt::format(
          "What no query met is unknown: a difference on less than {:.2g} of the domain, such as a small "
          "ball around one input, is missed by the {} random queries with a probability above {:.2g}{}.",
          out_.unseen_share, out_.random_queries, 1 - options_.confidence,
          all_corners_
              ? "; every corner of the box was queried: one further unit of the first layer that reaches the "
                "outputs would have shown at one of them, several that cancel each other would not"
              : ""));
    }
  }

  const Network& f_;
  BlockNetwork blocks_, plain_;
  const CompareOptions& options_;
  const Vector low_, high_;
  CompareResult& out_;
  Asked ask_;
  Explained how_;
  bool explained_ = false, beyond_ = false, all_corners_ = false;
  Index outside_ = 0;
  double unsteady_ = 0;  // what two answers to the same query differ by, beyond single precision
  Vector plane_, plane_place_;
};

}  // namespace

void compare_black_box(const Network& f, Oracle& oracle, const CompareOptions& options,
                       const Control& control, CompareResult& out) {
  Hunt(f, oracle, options, control, out).run();
}

void compare_two_black_boxes(Oracle& first, Oracle& second, const CompareOptions& options,
                             const Control& control, CompareResult& out) {
  constexpr double kSingle = 1.0 / (1 << 20);  // sixteen roundings of float32, of the largest output
  Asked f(first, options.queries, -1, control);
  const RowMatrix probe = uniform_inputs(out.low, out.high, 1, options.seed, "compare first queries");
  const Index outputs = f(probe).cols();
  Asked g(second, options.queries, outputs, control);
  const Index half = std::max<Index>(1, options.queries / 2 - 1),
              quarter = std::max<Index>(1, options.queries / 4);
  const RowMatrix random = uniform_inputs(out.low, out.high, half, options.seed, "compare inputs");
  std::vector<RowMatrix> sets = {
      random, corner_inputs(out.low, out.high, quarter / 2, options.seed, "compare corners"),
      line_inputs(out.low, out.high, quarter / 32, 32, options.seed)};
  if (options.rows.rows() > 0)
    sets.emplace_back(options.rows.topRows(std::min(options.rows.rows(), quarter)));
  double scale = 0;
  const RowMatrix few = random.topRows(std::min<Index>(half, std::max<Index>(1, options.queries / 32)));
  const RowMatrix first_answers = f(few), second_answers = g(few);
  double unsteady = 0;
  std::string unsteady_name;
  if (!out.tolerance && first_answers != second_answers) {
    const auto twice = [&](Asked& ask, const RowMatrix& answers) {
      const RowMatrix size =
          RowMatrix::Constant(answers.rows(), answers.cols(), answers.cwiseAbs().maxCoeff());
      const double by = unsteadiness(answers, ask(few), size);
      if (by > unsteady) {
        unsteady = by;
        unsteady_name = ask.name();
      }
    };
    twice(f, first_answers);
    twice(g, second_answers);
  }
  for (std::size_t k = 0; k < sets.size(); ++k) {
    if (sets[k].rows() == 0) continue;
    const RowMatrix a = f(sets[k]), b = g(sets[k]);
    const Vector gap = (a - b).cwiseAbs().rowwise().maxCoeff();
    scale = std::max(scale, a.cwiseAbs().maxCoeff());
    if (k == 0) out.random_differences = gap;
    if (k == 3) out.row_differences = gap;
    Index at = 0;
    const double most = gap.allFinite() ? gap.maxCoeff(&at) : std::numeric_limits<double>::infinity();
    if (most <= out.worst_difference && out.worst_input.size() != 0) continue;
    out.worst_difference = most;
    out.worst_input = sets[k].row(at);
    out.first_outputs = a.row(at);
    out.second_outputs = b.row(at);
  }
  out.random_queries = half;
  out.queries = f.count() + g.count();
  out.confidence = options.confidence;
  out.lower = out.worst_difference;
  const double accepted = out.tolerance.value_or(kSingle * scale);
  if (undecided_by_noise(unsteady, unsteady_name, out)) return;
  if (out.worst_difference > accepted) {
    out.verdict = CompareVerdict::kDifferent;
    return;
  }
  out.unseen_share = 1 - std::pow(1 - options.confidence, 1.0 / static_cast<double>(half));
  out.verdict = CompareVerdict::kSameFunction;
  if (!out.tolerance && out.worst_difference > 0) {
    out.verdict = CompareVerdict::kRounding;
    out.arithmetic = "what float32 rounds off outputs of this size";
  }
}

}  // namespace exhume
