// Training a quadratic network by descent: the paper's objective, its perturbed gradient descent, Adam, and
// what can be certified of the point where they stop. One output; Z: n x k rows z_j, y: n labels, W: r x k
// one unit a row, a: r signs, the first half +1, the rest -1.
//
//   f(W) = 1/(4n) sum_j delta_j^2,    delta_j = z_j^T B z_j - y_j,   B = W^T diag(a) W        (section 2.2)
//   g(W) = f(W) + gamma/2 ||W||_F^2                                                          (section 3.2)
//
// With the k x k matrix  M = 1/n sum_j delta_j z_j z_j^T  everything is a few matrix products (appendix C):
//
//   grad g(W)     = diag(a) W M + gamma W
//   Hess g(W)[V]  = diag(a) V M + diag(a) W N + gamma V,
//                   N = 2/n sum_j s_j z_j z_j^T,   s_j = z_j^T (W^T diag(a) V) z_j
//
// and along a line W - t G the outputs are quadratic in t, so any number of trial steps costs O(n) each.
//
// The landscape. lambda_min(Hess f) >= -||M||_2 always, with equality if r >= 2k + 2 (Lemma 3), and
// f <= n k ||M||_2^2 / (4 sigma^2) (Lemma 4). So a second-order stationary point is a global minimum (Lemma 1):
//
//   lambda_min(Hess f(W)) >= -eps   =>   f(W) <= n k eps^2 / (4 sigma^2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

namespace exhume {

// f, g and their derivatives at points. Holds references: z and y must outlive it.
class QuadraticObjective {
 public:
  // units: r, even, at least 2.
  QuadraticObjective(const Eigen::Ref<const RowMatrix>& z, const Eigen::Ref<const Vector>& y, Index units,
                     double gamma = 0, Control control = {});

  struct Point {
    Matrix W;         // r x k
    Vector delta;     // n
    Matrix M;         // k x k
    Matrix gradient;  // of g: r x k
    double f = 0, g = 0;
  };
  [[nodiscard]] Point at(Matrix W) const;
  // Hess g(point)[V], or Hess f with gamma left out.
  [[nodiscard]] Matrix hessian_product(const Point& point, const Matrix& V, bool regularised = true) const;

  // g(W - t G) as a function of t, exactly, at O(n) a value.
  class Line {
   public:
    [[nodiscard]] double g(double t) const;

   private:
    friend class QuadraticObjective;
    Vector delta_, first_, second_;  // delta(t) = delta - 2 t first + t^2 second
    double n_ = 1, gamma_ = 0, ww_ = 0, wg_ = 0, gg_ = 0;
  };
  [[nodiscard]] Line line(const Point& point, const Matrix& G) const;

  [[nodiscard]] Index rows() const { return z_.rows(); }
  [[nodiscard]] Index features() const { return z_.cols(); }
  [[nodiscard]] Index units() const { return signs_.size(); }
  [[nodiscard]] const Vector& signs() const { return signs_; }
  [[nodiscard]] double gamma() const { return gamma_; }
  [[nodiscard]] const Eigen::Ref<const RowMatrix>& z() const { return z_; }
  [[nodiscard]] const Eigen::Ref<const Vector>& y() const { return y_; }

 private:
  Eigen::Ref<const RowMatrix> z_;
  Eigen::Ref<const Vector> y_;
  Vector signs_;
  double gamma_;
  Control control_;
};

// The constants that Theorem 4 prescribes and Algorithm 1 derives from them.
struct TheoremConstants {
  double epsilon = 0, c = 1, delta = 0;    // given: target for f, the absolute constant, failure probability
  double sigma = 0, B = 0, Y = 0, f0 = 0;  // of the data: sigma of Phi, max ||z_j||, max |y_j|, f(0)
  double gamma = 0;                        // (sigma^2 eps / (n k))^(1/2)
  double rho = 0;                          // 6 B^4 sqrt(2 (f0+1)) (n k / (sigma^2 eps))^(1/4)
  double ell = 0;                          // max(3 B^4 2 (f0+1) / gamma + Y B^2 + gamma, 1)
  double delta_f = 0;                      // f0 + 1
  double chi = 0;                 // 3 max(log(dim ell Delta_f / (c eps^2 delta)), 4),   dim = r k unknowns
  double step = 0;                // eta = c / ell
  double radius = 0;              // sqrt(c) eps / (chi^2 ell)
  double gradient_threshold = 0;  // sqrt(c) eps / chi^2
  double decrease_threshold = 0;  // c / chi^3 sqrt(eps^3 / rho)
  double wait = 0;  // t_thres = chi ell / (c^2 sqrt(rho eps)); iterations of a perturbation phase
};
[[nodiscard]] TheoremConstants theorem_constants(const Eigen::Ref<const RowMatrix>& z,
                                                 const Eigen::Ref<const Vector>& y, Index units, double sigma,
                                                 double epsilon, double c, double delta);

struct DescentOptions {
  enum class Rule {
    kPrinted,    // Algorithm 1 with the constants of Theorem 4: provable, and far too cautious to finish
    kPractical,  // the same perturbation rule, thresholds from the data's own scale, backtracking steps
    kAdam,       // the paper's experiments: minibatches, decaying rate
  } rule = Rule::kPractical;
  std::uint64_t seed = 0;
  int max_iterations = 20000;
  double target = 1e-12;        // not printed: stop at f <= target f_ref, f_ref = 1/(4n) sum (y - mean)^2
  std::optional<Matrix> start;  // r x k; empty: zero (Adam: uniform in +-1/sqrt k)
  int record_every = 1;

  // Printed.
  // c must be below a constant c_max that the theorem does not give. 1 is above it: on instances of two rows
  // the phase is then too short to leave the saddle at zero, which is reported as a minimum; 0.5 leaves it.
  double epsilon = 1e-3, c = 0.5, delta = 0.01;
  double sigma = 0;  // Theorem 4's sigma, from fit_closed_form; must be positive for kPrinted

  // Practical. Natural scale of a weight: w0^2 = rms(y) / mean ||z||^2, of a gradient: f(0) / w0.
  double gamma = 0;                   // regulariser
  double gradient_threshold = 1e-9;   // times f(0) / w0: below it, perturb
  double radius = 1e-2;               // times w0 sqrt(r): of the ball the perturbation is drawn from
  int wait = 60;                      // iterations between perturbations, and until one is judged
  double decrease_threshold = 1e-12;  // times f(0): a perturbation that gains less ends the descent
  int window = 8;                     // a step must improve on the worst of this many values (1: monotone)

  // Adam.
  int batch = 128;
  double rate = 0.003, decay = 0.3;
  int decay_epochs = 15;
  double beta1 = 0.9, beta2 = 0.999, adam_epsilon = 1e-8;

  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct DescentStep {
  int iteration = 0;
  double f = 0, g = 0, gradient_norm = 0;  // over all rows; Adam: once an epoch
  double step = 0;                         // the first step tried from here; Adam: the rate
  bool perturbed = false;  // a perturbation was added at this iterate, before the values above were taken
  bool in_phase = false;   // within `wait` iterations of a perturbation
};

// What is known of a point (Definition 2, Lemmas 1, 3 and 4).
struct SecondOrder {
  double gradient_norm = 0;  // of f
  double lambda_min = 0;     // smallest eigenvalue of Hess f, by Lanczos from Lemma 3's direction: from above
  double lower_bound = 0;    // -||M||_2: a lower bound for it, for any r
  int lanczos_steps = 0;
  double epsilon = 0;  // max(0, -lambda_min)
  double f = 0;
  double lemma1_bound = 0;    // n k eps^2 / (4 sigma^2)
  bool wide_enough = false;   // r >= 2k + 2, which Lemma 1 assumes
  bool lemma1_holds = false;  // f <= bound (1 + 1e-6)
};
[[nodiscard]] SecondOrder certify_stationarity(const QuadraticObjective& objective,
                                               const QuadraticObjective::Point& point, double sigma);

enum class DescentOutcome {
  kTarget,        // f came below the target
  kLocalMinimum,  // a perturbation at a stationary point gained nothing
  kIterations,    // ran out of iterations
  kTime,          // ran past the deadline
};
[[nodiscard]] const char* to_string(DescentOutcome outcome);

struct Descent {
  DescentOutcome outcome = DescentOutcome::kIterations;
  Matrix W;  // r x k
  double f = 0, g = 0;
  int iterations = 0;
  int perturbations = 0;
  double seconds = 0;
  TheoremConstants constants;  // printed rule only
  std::vector<DescentStep> history;
};

// Minimises g (gamma from Theorem 4 in the printed rule, from the options otherwise).
// Throws std::invalid_argument, Interrupted.
[[nodiscard]] Descent descend(const Eigen::Ref<const RowMatrix>& z, const Eigen::Ref<const Vector>& y,
                              Index units, const DescentOptions& options, const Control& control = {});

}  // namespace exhume
