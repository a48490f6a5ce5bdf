#include "exhume/papers/memorize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>

#include <fmt/format.h>
#include <Eigen/QR>

#include "base/blas.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/stage_clock.h"
#include "exhume/error.h"
#include "linalg/cholesky.h"
#include "linalg/lanczos.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

using Forms = std::vector<Matrix>;

// Rows and what scales them: u_j = z_j / ||z_j||, so that the kernel of the u_j has a unit diagonal.
struct Rows {
  const Eigen::Ref<const RowMatrix>& z;
  const Control& control;
  Vector scale;  // 1 / ||z_j||^2, or 0 for a zero row

  Rows(const Eigen::Ref<const RowMatrix>& rows, const Control& c) : z(rows), control(c), scale(rows.rows()) {
    for (Index j = 0; j < z.rows(); ++j) {
      const double square = z.row(j).squaredNorm();
      scale(j) = square > 0 ? 1 / square : 0;
    }
  }
  [[nodiscard]] Index n() const { return z.rows(); }
  [[nodiscard]] Index k() const { return z.cols(); }
};

// Solves K alpha = r approximately: the change of the forms that removes the residual r (n x m).
class Solver {
 public:
  virtual ~Solver() = default;
  [[nodiscard]] virtual Forms correction(const Matrix& residual) = 0;
  // v <- K^-1 v (K unscaled), for sigma; false where there is no such thing.
  virtual bool inverse(Vector& v) = 0;
  [[nodiscard]] virtual Index rank() const = 0;
};

// Rows of `from` (n x m) times their scales in the order of the first `count` pivots, and back; rows without
// a pivot become zero. Pivots are LAPACK's: they count from 1.
Matrix to_pivots(const Rows& rows, const std::vector<int>& pivots, Index count, const Matrix& from) {
  Matrix out(count, from.cols());
  for (Index j = 0; j < count; ++j) {
    const Index p = pivots[static_cast<std::size_t>(j)] - 1;
    out.row(j) = rows.scale(p) * from.row(p);
  }
  return out;
}

Matrix from_pivots(const Rows& rows, const std::vector<int>& pivots, const Matrix& from) {
  Matrix out = Matrix::Zero(rows.n(), from.cols());
  for (Index j = 0; j < from.rows(); ++j) {
    const Index p = pivots[static_cast<std::size_t>(j)] - 1;
    out.row(p) = rows.scale(p) * from.row(j);
  }
  return out;
}

// The scaled kernel's lower triangle, tile by tile.
void form_kernel(const Rows& rows, Eigen::Ref<Matrix> kernel) {
  constexpr Index kTile = 512;
  const Index n = rows.n(), strips = (n + kTile - 1) / kTile;
  std::vector<std::pair<Index, Index>> tiles;
  for (Index j = 0; j < strips; ++j) {
    for (Index i = j; i < strips; ++i) tiles.emplace_back(i * kTile, j * kTile);
  }
  parallel_for(static_cast<Index>(tiles.size()), rows.control, [&](Index t) {
    const auto [i, j] = tiles[static_cast<std::size_t>(t)];
    const Index height = std::min(kTile, n - i), width = std::min(kTile, n - j);
    auto tile = kernel.block(i, j, height, width);
    tile.noalias() = rows.z.middleRows(i, height) * rows.z.middleRows(j, width).transpose();
    tile = tile.array().square();
    tile.array().colwise() *= rows.scale.segment(i, height).array();
    tile.array().rowwise() *= rows.scale.segment(j, width).transpose().array();
    if (i == j) {
      for (Index r = 0; r < height; ++r) tile(r, r) = 1;  // also for zero rows, whose alpha then stays 0
    }
  });
}

class CholeskySolver : public Solver {
 public:
  // Empty if the kernel is not numerically positive definite.
  static std::unique_ptr<CholeskySolver> make(const Rows& rows, ClosedForm& times) {
    std::unique_ptr<CholeskySolver> solver(new CholeskySolver(rows));
    StageClock clock;
    form_kernel(rows, solver->factor_);
    times.kernel_seconds += clock.seconds();
    clock = {};
    const Index failed = cholesky_in_place(solver->factor_, rows.control);
    times.factor_seconds += clock.seconds();
    if (failed >= 0) return nullptr;
    return solver;
  }
  Forms correction(const Matrix& residual) override {
    Matrix alpha = residual.array().colwise() * rows_.scale.array();
    cholesky_solve(factor_, alpha);
    alpha.array().colwise() *= rows_.scale.array();
    return weighted_grams(rows_.z, alpha, rows_.control);
  }
  bool inverse(Vector& v) override {
    v.array() *= rows_.scale.array();
    cholesky_solve(factor_, v);
    v.array() *= rows_.scale.array();
    return true;
  }
  Index rank() const override { return (rows_.scale.array() > 0).count(); }

 private:
  explicit CholeskySolver(const Rows& rows) : rows_(rows), factor_(rows.n(), rows.n()) {}
  const Rows& rows_;
  Matrix factor_;
};

// QR with column pivoting of the scaled Phi: features (i <= j) of u u^T, off-diagonal ones times sqrt 2.
class PivotedQr : public Solver {
 public:
  static double bytes(Index n, Index k) {
    return 8.0 * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(k + 1) / 2;
  }
  PivotedQr(const Rows& rows, ClosedForm& times) : rows_(rows) {
    const SingleThreadedBlas single;
    StageClock clock;
    const Index n = rows.n(), k = rows.k(), size = k * (k + 1) / 2;
    phi_.resize(size, n);
    parallel_for(n, rows.control, [&](Index j) {
      Index at = 0;
      for (Index a = 0; a < k; ++a) {
        phi_(at++, j) = rows.z(j, a) * rows.z(j, a) * rows.scale(j);
        for (Index b = a + 1; b < k; ++b)
          phi_(at++, j) = std::sqrt(2.0) * rows.z(j, a) * rows.z(j, b) * rows.scale(j);
      }
    });
    times.kernel_seconds += clock.seconds();
    clock = {};
    if (lapack::geqp3(phi_, pivot_, tau_) != 0) throw std::runtime_error("dgeqp3 failed");
    const double tiny = 16 * static_cast<double>(std::max(size, n)) * std::numeric_limits<double>::epsilon();
    for (rank_ = 0; rank_ < tau_.size() && std::abs(phi_(rank_, rank_)) > tiny * std::abs(phi_(0, 0));)
      ++rank_;
    if (rank_ < n) {
      // Least squares over all rows: [R11 R12]^T t = P^T r.
      Matrix trapezoid = phi_.topRows(rank_).triangularView<Eigen::Upper>();
      tall_.compute(trapezoid.transpose());
    }
    times.factor_seconds += clock.seconds();
  }
  Forms correction(const Matrix& residual) override {
    const SingleThreadedBlas single;
    const Index n = rows_.n(), m = residual.cols(), k = rows_.k();
    const Matrix permuted = to_pivots(rows_, pivot_, n, residual);
    Matrix t = Matrix::Zero(phi_.rows(), m);
    if (rank_ == n) {
      t.topRows(n) = phi_.topRows(n).triangularView<Eigen::Upper>().transpose().solve(permuted);
    } else if (rank_ > 0) {
      t.topRows(rank_) = tall_.solve(permuted);
    }
    lapack::ormqr(phi_, tau_, t);
    Forms forms;
    for (Index o = 0; o < m; ++o) {
      Matrix form(k, k);
      Index at = 0;
      for (Index a = 0; a < k; ++a) {
        form(a, a) = t(at++, o);
        for (Index b = a + 1; b < k; ++b) form(a, b) = form(b, a) = t(at++, o) / std::sqrt(2.0);
      }
      forms.push_back(std::move(form));
    }
    return forms;
  }
  bool inverse(Vector& v) override {
    const Index n = rows_.n();
    if (rank_ < n) return false;
    Vector w = to_pivots(rows_, pivot_, n, v);
    const auto r = phi_.topRows(n).triangularView<Eigen::Upper>();
    r.transpose().solveInPlace(w);
    r.solveInPlace(w);
    v = from_pivots(rows_, pivot_, w);
    return true;
  }
  Index rank() const override { return rank_; }

 private:
  const Rows& rows_;
  Matrix phi_;  // R above the diagonal, reflectors below
  std::vector<int> pivot_;
  Vector tau_;
  Index rank_ = 0;
  Eigen::HouseholderQR<Matrix> tall_;
};

// Cholesky with complete pivoting, for what is too large for QR. Fits the rows it found independent.
class PivotedCholesky : public Solver {
 public:
  PivotedCholesky(const Rows& rows, ClosedForm& times) : rows_(rows), factor_(rows.n(), rows.n()) {
    const SingleThreadedBlas single;
    StageClock clock;
    form_kernel(rows, factor_);
    times.kernel_seconds += clock.seconds();
    clock = {};
    const double tolerance = 4 * static_cast<double>(rows.n()) * std::numeric_limits<double>::epsilon();
    lapack::pstrf(factor_, tolerance, pivot_, rank_);
    times.factor_seconds += clock.seconds();
  }
  Forms correction(const Matrix& residual) override {
    Matrix part = to_pivots(rows_, pivot_, rank_, residual);
    cholesky_solve(factor_.topLeftCorner(rank_, rank_), part);
    return weighted_grams(rows_.z, from_pivots(rows_, pivot_, part), rows_.control);
  }
  bool inverse(Vector& v) override {
    if (rank_ < rows_.n()) return false;
    Matrix w = to_pivots(rows_, pivot_, v.size(), v);
    cholesky_solve(factor_, w);
    v = from_pivots(rows_, pivot_, w);
    return true;
  }
  Index rank() const override { return rank_; }

 private:
  const Rows& rows_;
  Matrix factor_;
  std::vector<int> pivot_;
  int rank_ = 0;
};

class ConjugateGradients : public Solver {
 public:
  ConjugateGradients(const Rows& rows, const ClosedFormOptions& options, ClosedForm& times)
      : rows_(rows), options_(options), times_(times) {}
  Forms correction(const Matrix& residual) override {
    const Index n = rows_.n(), m = residual.cols();
    Matrix alpha = Matrix::Zero(n, m);
    for (Index o = 0; o < m; ++o) {
      Vector x = Vector::Zero(n), r = residual.col(o).cwiseProduct(rows_.scale), p = r, kp(n);
      const double first = r.norm();
      double rr = r.squaredNorm();
      for (int i = 0; i < options_.cg_max_iterations && std::sqrt(rr) > options_.cg_tolerance * first; ++i) {
        if (rows_.control.out_of_time()) break;
        const Vector weight = p.cwiseProduct(rows_.scale);
        kp = form_values(rows_.z, weighted_grams(rows_.z, weight, rows_.control), rows_.control).col(0);
        kp.array() *= rows_.scale.array();
        ++times_.iterations;
        const double curvature = p.dot(kp);
        if (!(curvature > 0)) break;
        const double step = rr / curvature;
        x += step * p;
        r -= step * kp;
        const double next = r.squaredNorm();
        p = r + (next / rr) * p;
        rr = next;
      }
      alpha.col(o) = x.cwiseProduct(rows_.scale);
    }
    return weighted_grams(rows_.z, alpha, rows_.control);
  }
  bool inverse(Vector&) override { return false; }
  Index rank() const override { return rows_.n(); }

 private:
  const Rows& rows_;
  const ClosedFormOptions& options_;
  ClosedForm& times_;
};

// Refines the forms until the residual stops falling, `enough` is reached or `most` rounds are done.
void refine(Solver& solver, const Rows& rows, const Eigen::Ref<const RowMatrix>& y, int most, double enough,
            ClosedForm& fit) {
  const StageClock clock;
  fit.forms = solver.correction(y);
  Matrix residual = y - form_values(rows.z, fit.forms, rows.control);
  fit.relative_error = relative_error(Matrix(y - residual), y);
  fit.refinements = 0;
  for (int i = 0; i < most && fit.relative_error > enough; ++i) {
    Forms better = solver.correction(residual);
    for (std::size_t o = 0; o < better.size(); ++o) better[o] += fit.forms[o];
    const Matrix left = y - form_values(rows.z, better, rows.control);
    const double error = relative_error(Matrix(y - left), y);
    if (!(error < fit.relative_error)) break;
    const bool done = error > 0.25 * fit.relative_error;
    fit.forms = std::move(better);
    residual = left;
    fit.relative_error = error;
    ++fit.refinements;
    if (done) break;
  }
  fit.solve_seconds += clock.seconds();
}

// Bytes that the solvers take, against the limit.
struct Memory {
  double limit, kernel, phi, others;

  Memory(const Rows& rows, Index outputs, const ClosedFormOptions& options) : limit(options.memory_bytes) {
    const double n = static_cast<double>(rows.n()), k = static_cast<double>(rows.k());
    kernel = 8 * n * n;
    phi = PivotedQr::bytes(rows.n(), rows.k());
    others = 8 * (2 * n * k +
                  static_cast<double>(rows.control.workers() + 4) * static_cast<double>(outputs) * k * k);
    small_ = rows.n() < 46000;
  }
  [[nodiscard]] bool anything_fits() const { return others <= limit; }
  [[nodiscard]] bool kernel_fits() const { return kernel + others <= limit && small_; }
  // Phi and the workspace of its factorisation, while the Cholesky factor is still there to fall back on.
  [[nodiscard]] bool qr_fits() const { return 2 * phi + kernel + others <= limit; }

 private:
  bool small_;  // n^2 is a 32-bit number, as LAPACK counts
};

// The fit by a pivoted factorisation, kept where it is no worse than that of `solver`, if there is one.
void pivot(const Rows& rows, const Eigen::Ref<const RowMatrix>& y, const ClosedFormOptions& options,
           const Memory& memory, std::unique_ptr<Solver>& solver, ClosedForm& fit) {
  const ClosedForm before = fit;
  std::unique_ptr<Solver> pivoted;
  if (memory.qr_fits()) {
    pivoted = std::make_unique<PivotedQr>(rows, fit);
  } else {
    solver.reset();
    pivoted = std::make_unique<PivotedCholesky>(rows, fit);
  }
  refine(*pivoted, rows, y, options.max_refinements, 0, fit);
  fit.solver = KernelSolver::kPivoted;
  if (solver == nullptr || fit.relative_error <= before.relative_error) {
    solver = std::move(pivoted);
    return;
  }
  fit.forms = before.forms;
  fit.relative_error = before.relative_error;
  fit.refinements = before.refinements;
  fit.solver = KernelSolver::kCholesky;
}

void estimate_spectrum(Solver& solver, const Rows& rows, ClosedForm& fit) {
  const StageClock clock;
  const Index n = rows.n();
  Vector start(n);
  const Matrix normals = Stream(1, "memorize spectrum").normal_matrix(n, 1);
  for (Index j = 0; j < n; ++j) start(j) = normals(j, 0);
  LanczosOptions options;
  options.tolerance = 1e-4;
  options.max_steps = 100;
  const auto product = [&](const Vector& in, Vector& out) {
    out = form_values(rows.z, weighted_grams(rows.z, in, rows.control), rows.control).col(0);
  };
  // A positive start shows the largest eigenvalue almost at once: the kernel is a positive matrix.
  const LanczosResult top = lanczos(product, start.cwiseAbs(), options);
  fit.sigma_max = std::sqrt(std::max(0.0, top.largest));
  Vector probe = start;
  if (solver.inverse(probe)) {
    const LanczosResult bottom = lanczos(
        [&](const Vector& in, Vector& out) {
          out = in;
          solver.inverse(out);
        },
        start, options);
    fit.sigma_min = std::sqrt(1 / bottom.largest);
    fit.spectrum_converged = bottom.converged;
  } else if (fit.solver == KernelSolver::kConjugateGradients) {
    options.end = LanczosOptions::End::kSmallest;
    const LanczosResult bottom = lanczos(product, start, options);
    fit.sigma_min = std::sqrt(std::max(0.0, bottom.smallest));
    fit.spectrum_converged = false;
  } else {
    fit.sigma_min = 0;
    fit.spectrum_converged = true;
  }
  const double ratio = fit.sigma_max / fit.sigma_min;
  fit.condition = fit.sigma_min > 0 ? ratio * ratio : std::numeric_limits<double>::infinity();
  fit.spectrum_seconds += clock.seconds();
}

}  // namespace

const char* to_string(KernelSolver solver) {
  static constexpr const char* kNames[] = {"auto", "cholesky", "pivoted", "conjugate gradients"};
  return kNames[static_cast<std::size_t>(solver)];
}

void ClosedFormOptions::validate() const {
  const auto require = [](bool holds, const char* name, double value, const char* range) {
    if (!holds) throw std::invalid_argument(fmt::format("{} is {}; it must be {}", name, value, range));
  };
  require(memory_bytes > 0, "memory_bytes", memory_bytes, "positive");
  require(max_refinements >= 0, "max_refinements", max_refinements, "0 or more");
  require(cg_tolerance > 0, "cg_tolerance", cg_tolerance, "positive");
  require(cg_max_iterations >= 1, "cg_max_iterations", cg_max_iterations, "1 or more");
}

double relative_error(const Eigen::Ref<const Matrix>& values, const Eigen::Ref<const RowMatrix>& y) {
  const double missed = (values - y).squaredNorm();
  double spread = (y.rowwise() - y.colwise().mean()).squaredNorm();
  if (!(spread > 0)) spread = y.squaredNorm();
  return spread > 0 ? missed / spread : missed;
}

ClosedForm fit_closed_form(const Eigen::Ref<const RowMatrix>& z, const Eigen::Ref<const RowMatrix>& y,
                           const ClosedFormOptions& options, const Control& control) {
  options.validate();
  if (z.rows() != y.rows())
    throw std::invalid_argument(fmt::format("{} rows of inputs but {} of labels", z.rows(), y.rows()));
  if (z.rows() == 0 || z.cols() == 0 || y.cols() == 0)
    throw std::invalid_argument("there is nothing to fit: no rows or no columns");
  const SingleThreadedBlas single;
  const Rows rows(z, control);
  const Memory memory(rows, y.cols(), options);
  if (!memory.anything_fits()) {
    throw ResourceError(
        fmt::format("{} rows of {} features need {:.1f} GiB without any kernel; the limit is {:.1f} GiB",
                    rows.n(), rows.k(), memory.others / 0x1p30, memory.limit / 0x1p30));
  }
  KernelSolver wanted = options.solver;
  if (wanted == KernelSolver::kAuto)
    wanted = memory.kernel_fits() ? KernelSolver::kCholesky : KernelSolver::kConjugateGradients;
  ClosedForm fit;
  std::unique_ptr<Solver> solver;
  if (wanted == KernelSolver::kConjugateGradients) {
    fit.solver = wanted;
    solver = std::make_unique<ConjugateGradients>(rows, options, fit);
    // A round costs as much as the first solve here: no further than rounding would matter to anyone.
    refine(*solver, rows, y, options.max_refinements, 1e-20, fit);
  } else {
    if (wanted == KernelSolver::kCholesky) {
      solver = CholeskySolver::make(rows, fit);
      if (solver != nullptr) {
        fit.solver = KernelSolver::kCholesky;
        refine(*solver, rows, y, options.max_refinements, 0, fit);
      }
    }
    const bool poor = !(fit.relative_error <= options.good_fit);
    const bool may_pivot = options.solver != KernelSolver::kCholesky && memory.qr_fits();
    if (solver == nullptr || (poor && may_pivot)) pivot(rows, y, options, memory, solver, fit);
  }
  fit.rank = solver->rank();
  fit.full_rank = fit.rank == rows.n();
  if (options.spectrum) estimate_spectrum(*solver, rows, fit);
  return fit;
}

}  // namespace exhume
