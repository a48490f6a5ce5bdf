#include "exhume/papers/memorize.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include "base/blas.h"
#include "base/random.h"
#include "linalg/lanczos.h"

namespace exhume {
namespace {

using Clock = std::chrono::steady_clock;
using Point = QuadraticObjective::Point;

// Uniform in the ball of this radius around 0 in r x k dimensions: the number-th draw of the seed.
Matrix ball(Index rows, Index cols, double radius, std::uint64_t seed, int number) {
  const Stream stream(seed + 0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(number + 1), "memorize ball");
  Matrix xi = stream.normal_matrix(rows, cols);
  const double u = Stream(seed, "memorize ball radius").uniforms(static_cast<std::uint64_t>(number), 0).first;
  return xi * (radius * std::pow(u, 1 / static_cast<double>(rows * cols)) / xi.norm());
}

// What f is compared to: the loss of the best constant.
double reference_loss(const Eigen::Ref<const Vector>& y) {
  double sum = (y.array() - y.mean()).square().sum();
  if (!(sum > 0)) sum = y.squaredNorm();
  return sum > 0 ? sum / (4 * static_cast<double>(y.size())) : 1;
}

void record(Descent& descent, const DescentOptions& options, const Point& point, int iteration, double step,
            bool perturbed, bool in_phase) {
  if (!perturbed && iteration % options.record_every != 0) return;
  descent.history.push_back({iteration, point.f, point.g, point.gradient.norm(), step, perturbed, in_phase});
}

void finish(Descent& descent, const Point& point, int iteration, DescentOutcome outcome) {
  descent.W = point.W;
  descent.f = point.f;
  descent.g = point.g;
  descent.iterations = iteration;
  descent.outcome = outcome;
}

// Algorithm 1, line by line.
void printed(const QuadraticObjective& objective, const DescentOptions& options, const Control& control,
             Descent& out) {
  const TheoremConstants& constants = out.constants;
  const Index r = objective.units(), k = objective.features();
  Point point = objective.at(options.start ? *options.start : Matrix::Zero(r, k));
  const double wait = std::ceil(constants.wait);  // the algorithm compares it for equality: a whole number
  double since = wait + 1;                        // t - t_noise
  Point before;                                   // x~ at t_noise
  for (int t = 0; t < options.max_iterations; ++t, since += 1) {
    control.check();
    bool added = false;
    if (point.gradient.norm() <= constants.gradient_threshold && since > wait) {
      before = point;
      since = 0;
      point = objective.at(point.W + ball(r, k, constants.radius, options.seed, out.perturbations));
      ++out.perturbations;
      added = true;
    }
    record(out, options, point, t, constants.step, added, since < wait);
    if (since == wait && out.perturbations > 0 && point.g - before.g > -constants.decrease_threshold) {
      finish(out, before, t, DescentOutcome::kLocalMinimum);
      return;
    }
    if (control.out_of_time()) {
      finish(out, point, t, DescentOutcome::kTime);
      return;
    }
    point = objective.at(point.W - constants.step * point.gradient);
    if (t % 256 == 0) control.report("descent", static_cast<double>(t) / options.max_iterations);
  }
  finish(out, point, options.max_iterations, DescentOutcome::kIterations);
}

void practical(const QuadraticObjective& objective, const DescentOptions& options, const Control& control,
               Descent& out) {
  const Index r = objective.units(), k = objective.features();
  const double n = static_cast<double>(objective.rows());
  const double f0 = objective.y().squaredNorm() / (4 * n);
  const double mean_square = objective.z().squaredNorm() / n;
  const double w0 = std::sqrt(std::sqrt(4 * f0) / mean_square);
  const double small_gradient = options.gradient_threshold * f0 / w0;
  const double radius = options.radius * w0 * std::sqrt(static_cast<double>(r));
  const double target = options.target * reference_loss(objective.y());
  const double first_step = w0 * w0 / f0;  // the one that changes W by w0 where the gradient is f0 / w0

  Point point = objective.at(options.start ? *options.start : Matrix::Zero(r, k)), before;
  int since = options.wait + 1;
  double trial = first_step;
  std::deque<double> recent;
  if (!(f0 > 0)) {  // all labels 0: zero is the answer
    record(out, options, point, 0, 0, false, false);
    finish(out, point, 0, DescentOutcome::kTarget);
    return;
  }
  for (int t = 0; t < options.max_iterations; ++t, ++since) {
    control.check();
    bool added = false;
    if (point.f > target && point.gradient.norm() <= small_gradient && since > options.wait) {
      before = point;
      since = 0;
      point = objective.at(point.W + ball(r, k, radius, options.seed, out.perturbations));
      ++out.perturbations;
      added = true;
      trial = first_step;
      recent.clear();
    }
    record(out, options, point, t, trial, added, since < options.wait);
    if (point.f <= target) {
      finish(out, point, t, DescentOutcome::kTarget);
      return;
    }
    if (since == options.wait && out.perturbations > 0 &&
        point.g - before.g > -options.decrease_threshold * f0) {
      finish(out, before, t, DescentOutcome::kLocalMinimum);
      return;
    }
    if (control.out_of_time()) {
      finish(out, point, t, DescentOutcome::kTime);
      return;
    }
    recent.push_back(point.g);
    if (static_cast<int>(recent.size()) > options.window) recent.pop_front();
    const double allowed = *std::max_element(recent.begin(), recent.end());
    const QuadraticObjective::Line line = objective.line(point, point.gradient);
    const double slope = point.gradient.squaredNorm();
    double step = trial;
    while (!(line.g(step) <= allowed - 1e-4 * step * slope) && step > 1e-18 * first_step) step *= 0.5;
    Point next = objective.at(point.W - step * point.gradient);
    // The next trial is Barzilai and Borwein's: the inverse of the curvature just seen along the step.
    const Matrix change = next.gradient - point.gradient;
    const double seen = -step * point.gradient.cwiseProduct(change).sum();  // <dW, dG>
    const double moved = step * step * slope;                               // <dW, dW>
    trial = seen > 0 ? moved / seen : 4 * step;
    trial = std::clamp(trial, 1e-6 * first_step, 1e8 * first_step);
    point = std::move(next);
    if (t % 256 == 0) control.report("descent", static_cast<double>(t) / options.max_iterations);
  }
  finish(out, point, options.max_iterations, DescentOutcome::kIterations);
}

// One epoch after the other over shuffled minibatches, with the moments of Kingma and Ba.
class Adam {
 public:
  Adam(const QuadraticObjective& objective, const DescentOptions& options)
      : objective_(objective),
        options_(options),
        batch_(std::min<Index>(options.batch, objective.rows())),
        W_(start(objective, options)),
        first_(Matrix::Zero(W_.rows(), W_.cols())),
        second_(first_),
        gradient_(W_.rows(), W_.cols()),
        rows_(batch_, objective.features()),
        labels_(batch_),
        order_(static_cast<std::size_t>(objective.rows())),
        shuffle_(options.seed, "memorize adam shuffle") {
    std::iota(order_.begin(), order_.end(), Index{0});
  }

  [[nodiscard]] const Matrix& W() const { return W_; }
  [[nodiscard]] int steps() const { return steps_; }

  // All rows once, or until the iterations are used up.
  void epoch(double rate, const Control& control) {
    const Index n = objective_.rows();
    for (Index i = n - 1; i > 0; --i) {
      std::swap(order_[static_cast<std::size_t>(i)],
                order_[shuffle_.below(static_cast<std::uint64_t>(i) + 1, draws_++)]);
    }
    for (Index begin = 0; begin < n && steps_ < options_.max_iterations; begin += batch_) {
      control.check();
      set_gradient(begin, std::min(batch_, n - begin));
      step(rate);
    }
    if (!W_.allFinite()) {
      throw std::invalid_argument(
          fmt::format("Adam diverged at rate {:g}; use a smaller one or rows of unit norm", rate));
    }
  }

 private:
  static Matrix start(const QuadraticObjective& objective, const DescentOptions& options) {
    if (options.start) return *options.start;
    RowMatrix uniform(objective.units(), objective.features());
    Stream(options.seed, "memorize adam start").fill_uniform(0, uniform);
    return (2 * uniform.array() - 1) / std::sqrt(static_cast<double>(objective.features()));
  }

  // Of the minibatch of `size` rows that begins at `begin` of the shuffled order.
  void set_gradient(Index begin, Index size) {
    const Vector& a = objective_.signs();
    for (Index i = 0; i < size; ++i) {
      const Index from = order_[static_cast<std::size_t>(begin + i)];
      rows_.row(i) = objective_.z().row(from);
      labels_(i) = objective_.y()(from);
    }
    const auto x = rows_.topRows(size);
    const RowMatrix p = x * W_.transpose();
    const Vector delta = p.array().square().matrix() * a - labels_.head(size);
    const RowMatrix weighted =
        (p.array().colwise() * delta.array()).rowwise() * (a.transpose().array() / static_cast<double>(size));
    gradient_.noalias() = weighted.transpose() * x;
    gradient_ += objective_.gamma() * W_;
  }

  void step(double rate) {
    ++steps_;
    first_ = options_.beta1 * first_ + (1 - options_.beta1) * gradient_;
    second_ = options_.beta2 * second_ + (1 - options_.beta2) * gradient_.cwiseAbs2();
    const double first_scale = 1 / (1 - std::pow(options_.beta1, steps_)),
                 second_scale = 1 / (1 - std::pow(options_.beta2, steps_));
    W_.array() -= rate * first_scale * first_.array() /
                  ((second_scale * second_.array()).sqrt() + options_.adam_epsilon);
  }

  const QuadraticObjective& objective_;
  const DescentOptions& options_;
  Index batch_;
  Matrix W_, first_, second_, gradient_;
  RowMatrix rows_;
  Vector labels_;
  std::vector<Index> order_;
  Stream shuffle_;
  std::uint64_t draws_ = 0;
  int steps_ = 0;
};

void adam(const QuadraticObjective& objective, const DescentOptions& options, const Control& control,
          Descent& out) {
  const double target = options.target * reference_loss(objective.y());
  Adam descent(objective, options);
  const auto record_epoch = [&](double rate) {
    const Point whole = objective.at(descent.W());
    out.history.push_back({descent.steps(), whole.f, whole.g, whole.gradient.norm(), rate, false, false});
    finish(out, whole, descent.steps(),
           whole.f <= target ? DescentOutcome::kTarget : DescentOutcome::kIterations);
  };
  for (int epoch = 0; descent.steps() < options.max_iterations; ++epoch) {
    const double rate = options.rate * std::pow(options.decay, epoch / options.decay_epochs);
    record_epoch(rate);
    if (out.outcome == DescentOutcome::kTarget) return;
    if (control.out_of_time()) {
      out.outcome = DescentOutcome::kTime;
      return;
    }
    descent.epoch(rate, control);
    control.report("adam", static_cast<double>(descent.steps()) / options.max_iterations);
  }
  record_epoch(0);
}

}  // namespace

QuadraticObjective::QuadraticObjective(const Eigen::Ref<const RowMatrix>& z,
                                       const Eigen::Ref<const Vector>& y, Index units, double gamma,
                                       Control control)
    : z_(z), y_(y), signs_(units), gamma_(gamma), control_(std::move(control)) {
  if (z.rows() != y.size())
    throw std::invalid_argument(fmt::format("{} rows of inputs but {} labels", z.rows(), y.size()));
  if (z.rows() == 0 || z.cols() == 0)
    throw std::invalid_argument("there is nothing to fit: no rows or no columns");
  if (units < 2 || units % 2 != 0) {
    throw std::invalid_argument(
        fmt::format("the number of units is {}; it must be even and at least 2", units));
  }
  signs_.head(units / 2).setOnes();
  signs_.tail(units / 2).setConstant(-1);
}

Point QuadraticObjective::at(Matrix W) const {
  if (W.rows() != units() || W.cols() != features()) {
    throw std::invalid_argument(fmt::format("the weights are {} x {}; they must be {} x {}", W.rows(),
                                            W.cols(), units(), features()));
  }
  const double n = static_cast<double>(rows());
  Point point;
  point.W = std::move(W);
  const Matrix signed_w = signs_.asDiagonal() * point.W;
  Matrix form(features(), features());
  form.noalias() = point.W.transpose() * signed_w;
  point.delta = form_values(z_, {form}, control_).col(0) - y_;
  point.M = weighted_grams(z_, point.delta / n, control_)[0];
  point.gradient.noalias() = signed_w * point.M;
  if (gamma_ != 0) point.gradient += gamma_ * point.W;
  point.f = point.delta.squaredNorm() / (4 * n);
  point.g = point.f + gamma_ / 2 * point.W.squaredNorm();
  return point;
}

Matrix QuadraticObjective::hessian_product(const Point& point, const Matrix& V, bool regularised) const {
  const double n = static_cast<double>(rows());
  const Matrix signed_w = signs_.asDiagonal() * point.W;
  const Matrix s = form_values(z_, {signed_w.transpose() * V}, control_);
  const Matrix N = weighted_grams(z_, s * (2 / n), control_)[0];
  Matrix product = signs_.asDiagonal() * (V * point.M);
  product += signed_w * N;
  if (regularised && gamma_ != 0) product += gamma_ * V;
  return product;
}

QuadraticObjective::Line QuadraticObjective::line(const Point& point, const Matrix& G) const {
  const Matrix signed_g = signs_.asDiagonal() * G;
  const Matrix values = form_values(z_, {point.W.transpose() * signed_g, G.transpose() * signed_g}, control_);
  Line line;
  line.delta_ = point.delta;
  line.first_ = values.col(0);
  line.second_ = values.col(1);
  line.n_ = static_cast<double>(rows());
  line.gamma_ = gamma_;
  line.ww_ = point.W.squaredNorm();
  line.wg_ = point.W.cwiseProduct(G).sum();
  line.gg_ = G.squaredNorm();
  return line;
}

double QuadraticObjective::Line::g(double t) const {
  return (delta_ - 2 * t * first_ + t * t * second_).squaredNorm() / (4 * n_) +
         gamma_ / 2 * (ww_ - 2 * t * wg_ + t * t * gg_);
}

TheoremConstants theorem_constants(const Eigen::Ref<const RowMatrix>& z, const Eigen::Ref<const Vector>& y,
                                   Index units, double sigma, double epsilon, double c, double delta) {
  if (!(sigma > 0)) {
    throw std::invalid_argument(
        fmt::format("sigma is {}; Theorem 4 needs rows in general position, sigma > 0", sigma));
  }
  if (!(epsilon > 0)) throw std::invalid_argument(fmt::format("epsilon is {}; it must be positive", epsilon));
  if (!(c > 0 && c <= 1)) throw std::invalid_argument(fmt::format("c is {}; it must be in (0, 1]", c));
  if (!(delta > 0 && delta < 1))
    throw std::invalid_argument(fmt::format("delta is {}; it must be in (0, 1)", delta));
  TheoremConstants out;
  const double n = static_cast<double>(z.rows()), k = static_cast<double>(z.cols());
  out.epsilon = epsilon;
  out.c = c;
  out.delta = delta;
  out.sigma = sigma;
  out.B = z.rowwise().norm().maxCoeff();
  out.Y = y.cwiseAbs().maxCoeff();
  out.f0 = y.squaredNorm() / (4 * n);
  const double b4 = std::pow(out.B, 4);
  out.gamma = std::sqrt(sigma * sigma * epsilon / (n * k));
  out.rho = 6 * b4 * std::sqrt(2 * (out.f0 + 1)) * std::pow(n * k / (sigma * sigma * epsilon), 0.25);
  out.ell = std::max(3 * b4 * 2 * (out.f0 + 1) / out.gamma + out.Y * out.B * out.B + out.gamma, 1.0);
  out.delta_f = out.f0 + 1;
  const double unknowns = static_cast<double>(units) * k;
  out.chi = 3 * std::max(std::log(unknowns * out.ell * out.delta_f / (c * epsilon * epsilon * delta)), 4.0);
  out.step = c / out.ell;
  out.radius = std::sqrt(c) * epsilon / (out.chi * out.chi * out.ell);
  out.gradient_threshold = std::sqrt(c) * epsilon / (out.chi * out.chi);
  out.decrease_threshold = c / std::pow(out.chi, 3) * std::sqrt(std::pow(epsilon, 3) / out.rho);
  out.wait = out.chi * out.ell / (c * c * std::sqrt(out.rho * epsilon));
  return out;
}

void DescentOptions::validate() const {
  const auto positive = [](const char* name, double value) {
    if (!(value > 0)) throw std::invalid_argument(fmt::format("{} is {}; it must be positive", name, value));
  };
  positive("max_iterations", max_iterations);
  positive("record_every", record_every);
  positive("radius", radius);
  positive("wait", wait);
  positive("window", window);
  positive("batch", batch);
  positive("rate", rate);
  positive("decay", decay);
  positive("decay_epochs", decay_epochs);
  if (!(target >= 0)) throw std::invalid_argument(fmt::format("target is {}; it must be 0 or more", target));
  if (!(gamma >= 0)) throw std::invalid_argument(fmt::format("gamma is {}; it must be 0 or more", gamma));
}

SecondOrder certify_stationarity(const QuadraticObjective& objective, const Point& point, double sigma) {
  const Index r = objective.units(), k = objective.features(), half = r / 2;
  SecondOrder out;
  const Matrix of_f = point.gradient - objective.gamma() * point.W;
  out.gradient_norm = of_f.norm();
  out.f = point.f;
  out.wide_enough = r >= 2 * k + 2;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(point.M);
  const Vector& value = eigen.eigenvalues();
  out.lower_bound = -std::max(std::abs(value(0)), std::abs(value(k - 1)));
  // Lemma 3's direction V = u z0^T: z0 the eigenvector of M largest in magnitude, u on the units of the sign
  // that makes u^T diag(a) u z0^T M z0 negative, and as orthogonal to their weights as can be.
  const bool negative = std::abs(value(0)) >= std::abs(value(k - 1));
  const Vector z0 = eigen.eigenvectors().col(negative ? 0 : k - 1);
  const Matrix weights = negative ? point.W.topRows(half) : point.W.bottomRows(half);
  const Eigen::SelfAdjointEigenSolver<Matrix> gram(Matrix(weights * weights.transpose()));
  Matrix start = Matrix::Zero(r, k);
  (negative ? start.topRows(half) : start.bottomRows(half)) = gram.eigenvectors().col(0) * z0.transpose();
  LanczosOptions options;
  options.end = LanczosOptions::End::kSmallest;
  options.max_steps = 80;
  options.tolerance = 1e-10;
  const LanczosResult result = lanczos(
      [&](const Vector& in, Vector& product) {
        const Matrix V = Eigen::Map<const Matrix>(in.data(), r, k);
        const Matrix image = objective.hessian_product(point, V, false);
        product = Eigen::Map<const Vector>(image.data(), image.size());
      },
      Eigen::Map<const Vector>(start.data(), start.size()), options);
  out.lambda_min = result.smallest;
  out.lanczos_steps = result.steps;
  out.epsilon = std::max(0.0, -out.lambda_min);
  const double n = static_cast<double>(objective.rows());
  out.lemma1_bound = sigma > 0 ? n * static_cast<double>(k) * out.epsilon * out.epsilon / (4 * sigma * sigma)
                               : std::numeric_limits<double>::infinity();
  out.lemma1_holds = out.f <= out.lemma1_bound * (1 + 1e-6);
  return out;
}

const char* to_string(DescentOutcome outcome) {
  switch (outcome) {
    case DescentOutcome::kTarget:
      return "target reached";
    case DescentOutcome::kLocalMinimum:
      return "local minimum";
    case DescentOutcome::kIterations:
      return "out of iterations";
    case DescentOutcome::kTime:
      return "out of time";
  }
  return "";
}

Descent descend(const Eigen::Ref<const RowMatrix>& z, const Eigen::Ref<const Vector>& y, Index units,
                const DescentOptions& options, const Control& control) {
  options.validate();
  const SingleThreadedBlas single;
  const auto start = Clock::now();
  Descent out;
  double gamma = options.gamma;
  if (options.rule == DescentOptions::Rule::kPrinted) {
    out.constants = theorem_constants(z, y, units, options.sigma, options.epsilon, options.c, options.delta);
    gamma = out.constants.gamma;
  }
  const QuadraticObjective objective(z, y, units, gamma, control);
  switch (options.rule) {
    case DescentOptions::Rule::kPrinted:
      printed(objective, options, control, out);
      break;
    case DescentOptions::Rule::kPractical:
      practical(objective, options, control, out);
      break;
    case DescentOptions::Rule::kAdam:
      adam(objective, options, control, out);
      break;
  }
  out.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return out;
}

}  // namespace exhume
