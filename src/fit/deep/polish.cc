#include "exhume/fit/deep/polish.h"

#include <cblas.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/in_time.h"
#include "exhume/base/blas.h"
#include "exhume/base/parallel.h"
#include "fit/deep/rows.h"
#include "fit/normal_sums.h"
#include "linalg/lapack.h"

namespace exhume {
namespace {

constexpr Index kTaskRows = 512;                    // rows that a task takes at least
constexpr Index kMostTasks = 16;                    // never depends on the number of threads
constexpr Index kStripRows = 256;                   // rows whose Jacobian is in memory at once
constexpr double kMostBytes = 1.5 * (1ULL << 30U);  // that the tasks' matrices may take together

// Tasks of consecutive rows, in strips: task(number, first, rows).
template <class Sums, class Add>
Sums over_rows(Index rows, Index most_tasks, const Sums& empty, const Control& control, const Add& add) {
  const Index tasks = std::clamp<Index>(rows / kTaskRows, 1, most_tasks);
  std::vector<Sums> sums(static_cast<std::size_t>(tasks), empty);
  parallel_for(tasks, control, [&](Index task) {
    const Index end = rows * (task + 1) / tasks;
    for (Index at = rows * task / tasks; at < end; at += kStripRows) {
      control.check();
      add(sums[static_cast<std::size_t>(task)], at, std::min(kStripRows, end - at));
    }
  });
  for (std::size_t task = 1; task < sums.size(); ++task) sums[0].merge(sums[task]);
  return std::move(sums[0]);
}

struct LinearPart {
  Matrix FF, FY;
  void merge(const LinearPart& other) {
    FF += other.FF;
    FY += other.FY;
  }
};

struct Residual {
  Matrix FR;
  double squares = 0;
  void merge(const Residual& other) {
    FR += other.FR;
    squares += other.squares;
  }
};

LinearPart linear_part(const DeepForm& form, const DeepData& data, const Control& control) {
  const Index q = form.features(), m = data.y.cols();
  return over_rows(data.rows(), kMostTasks, LinearPart{Matrix::Zero(q, q), Matrix::Zero(q, m)}, control,
                   [&](LinearPart& to, Index first, Index count) {
                     const DeepRows rows(form, data.x.middleRows(first, count));
                     to.FF.noalias() += rows.F().transpose() * rows.F();
                     to.FY.noalias() += rows.F().transpose() * data.y.middleRows(first, count);
                   });
}

Residual residual(const DeepForm& form, const DeepData& data, const Control& control) {
  const Index q = form.features(), m = data.y.cols();
  return over_rows(data.rows(), kMostTasks, Residual{Matrix::Zero(q, m), 0}, control,
                   [&](Residual& to, Index first, Index count) {
                     const DeepRows rows(form, data.x.middleRows(first, count));
                     const Matrix R = data.y.middleRows(first, count) - rows.F() * form.C;
                     to.FR.noalias() += rows.F().transpose() * R;
                     to.squares += R.squaredNorm();
                   });
}

// C for the V_l, refined with true residuals; the sum of squares that is left, and F^T F.
struct Solved {
  double squares = 0;
  Matrix FF;
};

Solved solve(DeepForm& form, const DeepData& data, const Control& control) {
  constexpr int kRefinements = 3;
  LinearPart part = linear_part(form, data, control);
  form.C = solve_scaled(part.FF, part.FY);
  Residual left = residual(form, data, control);
  for (int i = 0; i < kRefinements; ++i) {
    DeepForm refined = form;
    refined.C += solve_scaled(part.FF, left.FR);
    Residual next = residual(refined, data, control);
    const bool much = next.squares < 0.9 * left.squares;
    if (!(next.squares < left.squares)) break;
    form.C = std::move(refined.C);
    left = std::move(next);
    if (!much) break;
  }
  return {left.squares, std::move(part.FF)};
}

struct Normal {
  Matrix JJ;              // p x p, lower triangle
  std::vector<Matrix> K;  // of every output, q x p
  Vector gradient;
  void merge(const Normal& other) {
    JJ += other.JJ;
    for (std::size_t o = 0; o < K.size(); ++o) K[o] += other.K[o];
    gradient += other.gradient;
  }
};

// H with every row's own direction made as stiff as the others, and the gradient.
Normal normal_equations(const DeepForm& form, const Matrix& FF, const DeepData& data,
                        const Control& control) {
  const Index p = form.unknowns(), q = form.features(), m = data.y.cols();
  const double bytes = 8.0 * static_cast<double>(p * (p + q * m));
  const auto tasks = static_cast<Index>(std::clamp(kMostBytes / bytes, 2.0, static_cast<double>(kMostTasks)));
  const Normal empty{Matrix::Zero(p, p), std::vector<Matrix>(static_cast<std::size_t>(m), Matrix::Zero(q, p)),
                     Vector::Zero(p)};
  Normal sums = over_rows(data.rows(), tasks, empty, control, [&](Normal& to, Index first, Index count) {
    const DeepRows rows(form, data.x.middleRows(first, count));
    const Matrix R = data.y.middleRows(first, count) - rows.F() * form.C;
    for (Index o = 0; o < m; ++o) {
      const Matrix J = rows.jacobian(form.C.col(o));
      cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, static_cast<int>(p), static_cast<int>(count), 1,
                  J.data(), static_cast<int>(count), 1, to.JJ.data(), static_cast<int>(p));
      to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * J;
      to.gradient.noalias() += J.transpose() * R.col(o);
    }
  });
  // With F^T F = L L^T: K^T (F^T F)^-1 K = (L^-1 K)^T (L^-1 K).
  const Vector scale = FF.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  Matrix L = scale.asDiagonal() * FF * scale.asDiagonal();
  for (double ridge = 1e-14; ridge < 1; ridge *= 100) {
    L = scale.asDiagonal() * FF * scale.asDiagonal();
    L.diagonal().array() += ridge;
    if (lapack::potrf(L) == 0) break;
  }
  for (Matrix& K : sums.K) {
    Matrix half = scale.asDiagonal() * K;
    L.triangularView<Eigen::Lower>().solveInPlace(half);
    cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, static_cast<int>(p), static_cast<int>(q), -1,
                half.data(), static_cast<int>(q), 1, sums.JJ.data(), static_cast<int>(p));
  }
  Index at = 0;
  for (const Matrix& v : form.V) {
    for (Index j = 0; j < v.rows(); ++j) {
      const Index width = v.cols();
      auto block = sums.JJ.block(at, at, width, width);
      const double stiffness = block.diagonal().mean();
      block += stiffness * v.row(j).transpose() * v.row(j);
      at += width;
    }
  }
  return sums;
}

DeepForm stepped(const DeepForm& form, const Vector& step) {
  DeepForm out = form;
  Index at = 0;
  for (Matrix& v : out.V) {
    for (Index j = 0; j < v.rows(); ++j) {
      v.row(j) += step.segment(at, v.cols()).transpose();
      at += v.cols();
    }
  }
  normalise(out);
  return out;
}

}  // namespace

DeepData::DeepData(RowMatrix inputs, RowMatrix outputs) : x(std::move(inputs)), y(std::move(outputs)) {
  variation = std::max((y.rowwise() - y.colwise().mean()).squaredNorm(), kTiny);
}

Vector DeepData::squares(const DeepForm& form, const Control& control) const {
  constexpr Index kRows = 2048;
  Vector left(rows());
  parallel_for((rows() + kRows - 1) / kRows, control, [&](Index b) {
    const Index at = b * kRows, count = std::min(kRows, rows() - at);
    left.segment(at, count) =
        (y.middleRows(at, count) - evaluate(form, x.middleRows(at, count))).rowwise().squaredNorm();
  });
  return left;
}

DeepData DeepData::take_out(const std::vector<Index>& listed) {
  std::vector<Index> others;
  others.reserve(static_cast<std::size_t>(rows()));
  auto next = listed.begin();
  for (Index i = 0; i < rows(); ++i) {
    if (next != listed.end() && *next == i) {
      ++next;
    } else {
      others.push_back(i);
    }
  }
  DeepData out(x(listed, Eigen::all), y(listed, Eigen::all));
  *this = DeepData(x(others, Eigen::all), y(others, Eigen::all));
  return out;
}

void DeepData::append(const DeepData& other) {
  RowMatrix inputs(rows() + other.rows(), x.cols()), outputs(rows() + other.rows(), y.cols());
  inputs << x, other.x;
  outputs << y, other.y;
  *this = DeepData(std::move(inputs), std::move(outputs));
}

Index DeepData::bring_forward(const DeepForm& form, Index most, double least, const Control& control) {
  const Vector left = squares(form, control);
  std::vector<Index> hard;
  for (Index i = 0; i < rows(); ++i)
    if (left(i) > least) hard.push_back(i);
  std::stable_sort(hard.begin(), hard.end(), [&](Index i, Index j) { return left(i) > left(j); });
  hard.resize(std::min(hard.size(), static_cast<std::size_t>(most)));
  // In increasing order, so that no row that was brought forward is sent back by a later one.
  std::sort(hard.begin(), hard.end());
  for (std::size_t to = 0; to < hard.size(); ++to) {
    const auto i = static_cast<Index>(to);
    if (hard[to] == i) continue;
    x.row(i).swap(x.row(hard[to]));
    y.row(i).swap(y.row(hard[to]));
  }
  return static_cast<Index>(hard.size());
}

double fit_linear_part(DeepForm& form, const DeepData& data, const Control& control) {
  return solve(form, data, control).squares / data.variation;
}

double relative_error(const DeepForm& form, const DeepData& data, const Control& control) {
  return residual(form, data, control).squares / data.variation;
}

DeepPolished polish(const DeepForm& start, const DeepData& data, const DeepPolishOptions& options,
                    const Control& control) {
  constexpr int kTries = 8;
  constexpr double kRaise = 6, kLeastDamping = 1e-13, kFloor = 1e-9;
  const SingleThreadedBlas single;
  DeepPolished result{start, 0, 0, true};
  normalise(result.form);
  Solved now = solve(result.form, data, control);
  double damping = options.damping, at_hope = now.squares;
  int stalled = 0;
  const auto relative = [&](double squares) { return squares / data.variation; };
  const int most = start.unknowns() > 0 ? options.max_iterations : 0;
  while (result.iterations < most && relative(now.squares) > options.enough_relative) {
    if (control.out_of_time()) {
      result.in_time = false;
      break;
    }
    const Normal normal = normal_equations(result.form, now.FF, data, control);
    const Vector diagonal = normal.JJ.diagonal();
    const double floor = kFloor * diagonal.mean();
    bool accepted = false;
    double before = now.squares;
    for (int attempt = 0; attempt < kTries && !accepted; ++attempt) {
      Matrix factor = normal.JJ;
      factor.diagonal() += damping * (diagonal.array() + floor).matrix();
      if (lapack::potrf(factor) == 0) {
        Matrix step = normal.gradient;
        lapack::potrs(factor, step);
        DeepForm trial = stepped(result.form, step.col(0));
        Solved next = solve(trial, data, control);
        if (next.squares < now.squares) {
          accepted = true;
          result.form = std::move(trial);
          now = std::move(next);
          damping = std::max(damping / kRaise, kLeastDamping);
          continue;
        }
      }
      damping *= kRaise;
    }
    if (!accepted) break;
    ++result.iterations;
    stalled = now.squares > (1 - options.least_progress) * before ? stalled + 1 : 0;
    if (stalled >= options.patience) break;
    if (options.hope > 0 && result.iterations % options.hope == 0) {
      if (relative(now.squares) > options.hopeful && now.squares > 0.1 * at_hope) break;
      at_hope = now.squares;
    }
  }
  result.relative_mse = relative(now.squares);
  return result;
}

Matrix normal_matrix(const DeepForm& form, const DeepData& data, const Control& control) {
  const SingleThreadedBlas single;
  DeepForm unit = form;
  normalise(unit);
  const Solved solved = solve(unit, data, control);
  Matrix H = normal_equations(unit, solved.FF, data, control).JJ / static_cast<double>(data.rows());
  H.triangularView<Eigen::StrictlyUpper>() = H.transpose();
  return H;
}

Vector unit_worth(const DeepForm& form, std::size_t l, const DeepData& data, const Control& control) {
  struct Products {
    Matrix FF;
    std::vector<Matrix> K;  // of every output, q x k
    Vector squares;         // k
    void merge(const Products& other) {
      FF += other.FF;
      for (std::size_t o = 0; o < K.size(); ++o) K[o] += other.K[o];
      squares += other.squares;
    }
  };
  const Index q = form.features(), k = form.V[l].rows(), m = data.y.cols();
  const Products empty{Matrix::Zero(q, q),
                       std::vector<Matrix>(static_cast<std::size_t>(m), Matrix::Zero(q, k)), Vector::Zero(k)};
  const Products sums =
      over_rows(data.rows(), kMostTasks, empty, control, [&](Products& to, Index first, Index count) {
        const DeepRows rows(form, data.x.middleRows(first, count));
        to.FF.noalias() += rows.F().transpose() * rows.F();
        for (Index o = 0; o < m; ++o) {
          // d f / d q times q is d f / d |q| times |q|.
          const Matrix part = rows.slopes(form.C.col(o))[l].cwiseProduct(rows.Q(l));
          to.K[static_cast<std::size_t>(o)].noalias() += rows.F().transpose() * part;
          to.squares += part.colwise().squaredNorm().transpose();
        }
      });
  Vector worth = sums.squares;
  for (const Matrix& K : sums.K)
    worth -= K.cwiseProduct(solve_scaled(sums.FF, K)).colwise().sum().transpose();
  return worth.cwiseMax(0) / data.variation;
}

}  // namespace exhume
