// Paper memorize: networks with quadratic units that fit any labels, in closed form and by perturbed descent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// Networks with quadratic units, in two or three layers: what `memorize` makes (paper memorize, section 2.2).
//
//   two layers      f(x) = A (W x)^2                     squares entry by entry
//   three layers    f(x) = A (W z)^2,   z = (R x)^p      powers entry by entry
//
//   R: k x d   first layer, random and fixed; empty (0 x 0) in two layers, and then z = x
//   p: power of the first layer
//   W: r x k   (k = d in two layers) the trained layer, one unit per row
//   A: m x r   signs: entry (o, i) is +1 or -1 where unit i belongs to output o, and 0 elsewhere
//
// An output o is thus a quadratic form of z, f_o(x) = z^T M_o z with M_o = W^T diag(A_o) W symmetric, and
// every symmetric matrix is of that form with at most k units. f is homogeneous of degree 2p (2 in two
// layers), so it cannot tell x from -x, and f(0) = 0.

struct QuadraticNetwork {
  Matrix R;       // k x d, or 0 x 0
  int power = 1;  // p; 1 in two layers
  Matrix W;       // r x k
  Matrix A;       // m x r

  [[nodiscard]] bool three_layers() const { return R.size() != 0; }
  [[nodiscard]] Index inputs() const { return three_layers() ? R.cols() : W.cols(); }
  [[nodiscard]] Index features() const { return W.cols(); }  // k
  [[nodiscard]] Index hidden() const { return W.rows(); }    // r
  [[nodiscard]] Index outputs() const { return A.rows(); }
  // Numbers that training chose: W, and one sign per unit. R is random and not counted (random_parameters).
  [[nodiscard]] Index parameters() const { return W.size() + W.rows(); }
  [[nodiscard]] Index random_parameters() const { return R.size(); }
  // Throws std::invalid_argument unless the shapes fit together and every entry is finite.
  void validate() const;
};

// z at every row of x: rows x k; x itself in two layers.
[[nodiscard]] RowMatrix first_layer(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// f at every row of x: rows x m.
[[nodiscard]] RowMatrix evaluate(const QuadraticNetwork& network, const Eigen::Ref<const RowMatrix>& x);

// The trained layer of the network with f_o(z) = z^T M_o z for every o: eigenvectors of M_o scaled by the
// root of |eigenvalue|, its sign on top, positive units first. Units with |eigenvalue| <= drop * (largest of
// M_o) are left out. Each M_o: k x k symmetric. Fills W and A; leaves R and power alone.
void set_quadratic_forms(QuadraticNetwork& network, const std::vector<Matrix>& forms, double drop = 1e-15);

// M_o = W^T diag(A_o) W: k x k.
[[nodiscard]] Matrix quadratic_form(const QuadraticNetwork& network, Index output);

// When a quadratic network can fit any labels: general position, made checkable (paper memorize, Theorem 4).
//
// The labels enter a two-layer network through x^T M x = <M, x (x) x>: linearly. Whatever the labels, they
// can be fitted if and only if the n vectors x_j (x) x_j are linearly independent, i.e.
//
//   Phi = [x_1 (x) x_1, ..., x_n (x) x_n],   d^2 x n,   has full column rank,
//
// and then how well is a matter of sigma, its smallest singular value. Phi^T Phi = K, K_ij = (x_i . x_j)^2,
// so sigma^2 = lambda_min(K). In three layers the same holds for z = (R x)^p. The vectors x (x) x live in a
// space of dimension d (d+1) / 2; with the first layer, in the image of the polynomials of degree 2p, of
// dimension C(d + 2p - 1, 2p), and in k (k+1) / 2.
//
// Two rows on one line through the origin (x' = c x, c = -1 included) are always dependent: the network's
// values there differ by the factor c^2 (c^2p), and other labels are refused by naming the rows.

// Dimension of {x (x) x}: d (d+1) / 2. The largest n that two layers can fit.
[[nodiscard]] double two_layer_capacity(Index inputs);

// The largest n that three layers can fit for generic rows: min(k (k+1) / 2, C(d + 2p - 1, 2p)).
[[nodiscard]] double three_layer_capacity(Index inputs, Index features, int power);

// Sizes with which three layers fit n rows: k = 2 ceil(sqrt n) (Theorem 5) and the smallest p >= 2 with
// C(d + 2p - 1, 2p) >= n. Empty for a single input, where every network of this kind is a multiple of x^2p.
struct ThreeLayerSize {
  Index features = 0;  // k
  int power = 0;       // p
};
[[nodiscard]] std::optional<ThreeLayerSize> three_layer_size(Index rows, Index inputs);

// Two rows whose labels no homogeneous function of degree `degree` can give: x_second = scale * x_first, but
// y_second != scale^degree * y_first. `first == second` stands for a zero row with a label other than 0.
struct Conflict {
  Index first = 0, second = 0;
  double scale = 1;
  // One sentence; rows are counted from 0.
  [[nodiscard]] std::string describe(const Eigen::Ref<const RowMatrix>& y) const;
};

// Pairs of rows on a common line, found by sorting: O(n log n + n d). At most `limit` conflicts, by first
// row. Rows count as parallel when their directions differ by less than 1e-13; labels as different beyond
// 1e-9 of the largest |label|.
[[nodiscard]] std::vector<Conflict> find_conflicts(const Eigen::Ref<const RowMatrix>& x,
                                                   const Eigen::Ref<const RowMatrix>& y, int degree,
                                                   Index limit = 10);

// Smoothing (Theorem 5): x_j + N(0, sd^2 I), the same rows for the same seed. The paper's v is sd^2.
[[nodiscard]] RowMatrix perturbed(const Eigen::Ref<const RowMatrix>& x, double sd, std::uint64_t seed);

// Rows divided by their norms, as the paper's experiments do; zero rows stay.
[[nodiscard]] RowMatrix unit_rows(const Eigen::Ref<const RowMatrix>& x);

// The two linear maps under everything that memorises, as matrix products over blocks of rows.
//
//   values    M  ->  (z_j^T M z_j)_j              n numbers      rowsum((Z M) o Z)
//   gram      v  ->  sum_j v_j z_j z_j^T          k x k          Z^T diag(v) Z
//
// They are each other's adjoint, and their composition is the kernel:  values(gram(v)) = K v with
// K_ij = (z_i . z_j)^2, at 4 n k^2 operations and without forming K. Z: n x k. Bits do not depend on threads.

// One column a form: n x forms.size(). Each form: k x k (need not be symmetric).
[[nodiscard]] Matrix form_values(const Eigen::Ref<const RowMatrix>& z, const std::vector<Matrix>& forms,
                                 const Control& control = {});

// One matrix a column of `weights` (n x m): k x k, exactly symmetric.
[[nodiscard]] std::vector<Matrix> weighted_grams(const Eigen::Ref<const RowMatrix>& z,
                                                 const Eigen::Ref<const Matrix>& weights,
                                                 const Control& control = {});

// Memorising by one linear solve.
//
// Wanted: symmetric M_o with z_j^T M_o z_j = y_jo for every row j and output o. Among them the one of least
// Frobenius norm is a combination of the rows' own rank-one matrices:
//
//   M_o = sum_j alpha_jo z_j z_j^T,     K alpha = Y,     K_ij = (z_i . z_j)^2     K: n x n;  alpha, Y: n x m
//
// and its eigenvectors are the units (set_quadratic_forms): k per output at most, Lemma 1 asks for 2k + 2.
//
//   Cholesky         K is formed in place, in the only n^2 numbers there are, scaled to unit diagonal (rows
//                    divided by their norms), and factored; n^3 / 3 operations. The default.
//   pivoted          QR with column pivoting of Phi = [z_j (x) z_j], of condition number the root of K's:
//                    where K is not numerically positive definite or the fit is not good, if Phi fits in
//                    memory. Where K is not definite and Phi does not fit: Cholesky with complete pivoting,
//                    which fits the rows it found independent.
//   conj. gradients  where K does not fit in memory: K v = values(gram(v)), 4 n k^2 operations, never formed.
//
// All end with iterative refinement of M itself, not of alpha: the residual y_j - z_j^T M z_j is what the
// network will leave, its correction is small, and so the error goes down to eps cond(Phi), not to
// eps cond(Phi)^2.

enum class KernelSolver { kAuto, kCholesky, kPivoted, kConjugateGradients };
[[nodiscard]] const char* to_string(KernelSolver solver);

struct ClosedFormOptions {
  KernelSolver solver = KernelSolver::kAuto;
  double memory_bytes = 0x1p32;  // the most that the solve may take: 8 n^2 and a little for Cholesky
  int max_refinements = 8;       // stops earlier when the residual no longer halves
  double good_fit = 1e-16;       // relative error above which Cholesky hands over to pivoted QR
  double cg_tolerance = 1e-10;   // ||K alpha - y|| / ||y|| of one run of conjugate gradients
  int cg_max_iterations = 5000;  // a run, an output
  bool spectrum = true;          // estimate sigma and the condition number
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

struct ClosedForm {
  std::vector<Matrix> forms;  // M_o: k x k, one per output
  double relative_error = 0;  // sum of squared residuals / sum of squared deviations of y from its mean
  KernelSolver solver = KernelSolver::kAuto;  // the one that gave `forms`
  Index rank = 0;  // columns of Phi found independent; n unless the rows are not in general position
  bool full_rank = false;
  // Independent columns whose kernel no computation in doubles can tell from a singular one are in no general
  // position that anybody could use: its condition number is at most 2^104, since Phi's own is its root.
  [[nodiscard]] bool in_general_position() const { return full_rank && condition <= 0x1p104; }
  double sigma_min = 0;             // smallest singular value of Phi (Theorem 4's sigma); 0 where rank < n
  double sigma_max = 0;             // largest
  double condition = 0;             // of K: (sigma_max / sigma_min)^2; infinite where rank < n
  bool spectrum_converged = false;  // false: sigma_min is only an upper bound (Lanczos stopped early)
  int refinements = 0;
  int iterations = 0;  // products with K, for conjugate gradients
  double kernel_seconds = 0, factor_seconds = 0, solve_seconds = 0, spectrum_seconds = 0;
};

// z: n x k, y: n x m.
// Throws ResourceError if not even the k x k matrices fit, std::invalid_argument, Interrupted.
[[nodiscard]] ClosedForm fit_closed_form(const Eigen::Ref<const RowMatrix>& z,
                                         const Eigen::Ref<const RowMatrix>& y,
                                         const ClosedFormOptions& options = {}, const Control& control = {});

// sum of squares of (values - y) / sum of squares of (y - column means); / sum of squares of y
// if y is constant.
[[nodiscard]] double relative_error(const Eigen::Ref<const Matrix>& values,
                                    const Eigen::Ref<const RowMatrix>& y);

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
// f <= n k ||M||_2^2 / (4 sigma^2) (Lemma 4). So a second-order stationary point is a global minimum
// (Lemma 1):
//
//   lambda_min(Hess f(W)) >= -eps   =>   f(W) <= n k eps^2 / (4 sigma^2).

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
#pragma GCC visibility pop
