#include "fit/errors.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/blas.h"
#include "base/random.h"
#include "data/reduce.h"
#include "fit/sums.h"
#include "linalg/lanczos.h"
#include "linalg/lapack.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr Index kColumnsAtOnce = 128;

// Few rows in smaller blocks, so that there is work for all threads.
Index block_rows(Index rows) { return std::clamp<Index>(rows / 8, 128, kBlockRows); }

// d(user parameters of a unit) / d(standardised parameters (w', b', a')): (d+1+m) x (d+1+m).
Matrix unit_jacobian(const Vector& w_standard, double b_standard, const Vector& a_standard,
                     const Standardisation& to, const Matrix& unmix, bool scale_is_free) {
  const Index d = w_standard.size(), m = a_standard.size();
  const Matrix& P = to.map.P;
  const Vector w = P.transpose() * w_standard;
  const double s = w.norm();
  const Vector u = w / s;
  const double beta = (b_standard - w.dot(to.map.mu)) / s;
  Matrix J = Matrix::Zero(d + 1 + m, d + 1 + m);
  if (!scale_is_free) {
    J.topLeftCorner(d, d) = P.transpose();
    J.row(d).head(d) = -(to.map.mu.transpose() * P.transpose());
    J(d, d) = 1;
    J.bottomRightCorner(m, m) = unmix;
    return J;
  }
  const Eigen::RowVectorXd ds = u.transpose() * P.transpose();
  J.topLeftCorner(d, d) = (P.transpose() - u * ds) / s;
  J.row(d).head(d) = -(to.map.mu.transpose() * P.transpose()) / s - beta / s * ds;
  J(d, d) = 1 / s;
  J.bottomLeftCorner(m, d) = unmix * a_standard * ds;
  J.bottomRightCorner(m, m) = s * unmix;
  return J;
}

}  // namespace

Curvature::Curvature(const Form& form, const SampleSource& samples, const Control& control)
    : form_(form), rows_(samples.rows()) {
  const SingleThreadedBlas single;
  const NormalSums sums = normal_sums(form, samples, block_rows(samples.rows()), control);
  covariance_V_ = inverse_scaled(projected_normal_matrix(form, sums));
  FF_inverse_ = inverse_scaled(sums.FF);
  response_ = FF_inverse_ * sums.GF.transpose();
}

// dC_jo = -response_j diag(C_o) dV + an independent part with covariance FF^-1. Row j of that matrix:
Vector Curvature::response_to_V(Index feature, Index o) const {
  const Index width = form_.inputs + 1;
  Vector row = -response_.row(feature).transpose();
  for (Index j = 0; j < form_.units(); ++j) row.segment(j * width, width) *= form_.C(j, o);
  return row;
}

ErrorEstimate Curvature::errors(double variance, const Standardisation& coordinates,
                                const Matrix& unmix) const {
  const SingleThreadedBlas single;
  const Index k = form_.units(), d = form_.inputs, width = d + 1, m = form_.C.cols(), q = form_.features(),
              P = k * width;
  ErrorEstimate result;
  result.errors.W().resize(k, d);
  result.errors.b().resize(k);
  result.errors.A().resize(m, k);
  result.errors.c().resize(m);
  const auto deviations = [&](const Matrix& J, const Matrix& covariance) {
    return Vector((J * covariance).cwiseProduct(J).rowwise().sum().cwiseMax(0).cwiseSqrt() *
                  std::sqrt(variance));
  };

  Matrix towards(P, m), carried(P, m);
  for (Index o = 0; o < m; ++o) towards.col(o) = response_to_V(q - 1, o);
  carried.noalias() = covariance_V_ * towards;
  Matrix constants = carried.transpose() * towards;
  constants.diagonal().array() += FF_inverse_(q - 1, q - 1);
  result.errors.c() = deviations(unmix, constants);
  // A unit's own covariance; its row of A meets V and, through the mixing, itself.
  const Index at_once = std::max<Index>(1, kColumnsAtOnce / std::max<Index>(m, 1));
  for (Index first = 0; first < k; first += at_once) {
    const Index units = std::min(at_once, k - first);
    towards.resize(P, units * m);
    for (Index u = 0; u < units; ++u) {
      for (Index o = 0; o < m; ++o) towards.col(u * m + o) = response_to_V(first + u, o);
    }
    carried.resize(P, units * m);
    carried.noalias() = covariance_V_ * towards;
    for (Index u = 0; u < units; ++u) {
      const Index j = first + u;
      Matrix covariance(width + m, width + m);
      covariance.topLeftCorner(width, width) = covariance_V_.block(j * width, j * width, width, width);
      covariance.topRightCorner(width, m) = carried.block(j * width, u * m, width, m);
      covariance.bottomLeftCorner(m, width) = covariance.topRightCorner(width, m).transpose();
      covariance.bottomRightCorner(m, m) =
          carried.middleCols(u * m, m).transpose() * towards.middleCols(u * m, m);
      covariance.bottomRightCorner(m, m).diagonal().array() += FF_inverse_(j, j);
      const Matrix J = unit_jacobian(form_.V[0].row(j).head(d).transpose(), form_.V[0](j, d),
                                     form_.C.row(j).transpose(), coordinates, unmix, form_.scale_is_free());
      const Vector errors = deviations(J, covariance);
      result.errors.W().row(j) = errors.head(d).transpose();
      result.errors.b()(j) = errors(d);
      result.errors.A().col(j) = errors.tail(m);
    }
  }
  result.largest =
      std::max({k > 0 ? result.errors.W().maxCoeff() : 0.0, k > 0 ? result.errors.b().maxCoeff() : 0.0,
                k > 0 ? result.errors.A().maxCoeff() : 0.0, m > 0 ? result.errors.c().maxCoeff() : 0.0});
  if (P > 0) {
    // The smallest eigenvalue of the projected normal matrix as the largest of its inverse.
    const LanczosResult ends =
        lanczos([&](const Vector& in, Vector& out) { out.noalias() = covariance_V_ * in; },
                Vector::Ones(P).normalized(), {.max_steps = 40, .tolerance = 1e-3});
    if (ends.largest > 0) {
      result.smallest_singular = 1 / std::sqrt(ends.largest * static_cast<double>(std::max<Index>(rows_, 1)));
    }
  }
  return result;
}

Matrix Curvature::of_values(const Eigen::Ref<const RowMatrix>& x) const {
  const SingleThreadedBlas single;
  const FormRows rows(form_, x, true);
  const Index width = form_.inputs + 1;
  // df_o = sum_j C_jo (g_j - response^T F)_j dV_j + F dC, the last independent with covariance FF^-1.
  const Matrix projected = rows.gradients() - rows.F() * response_;
  const Vector of_C = (rows.F() * FF_inverse_).cwiseProduct(rows.F()).rowwise().sum();
  Matrix out(x.rows(), form_.C.cols());
  for (Index o = 0; o < out.cols(); ++o) {
    Matrix gradient = projected;
    for (Index j = 0; j < form_.units(); ++j) gradient.middleCols(j * width, width) *= form_.C(j, o);
    out.col(o) = of_C + (gradient * covariance_V_).cwiseProduct(gradient).rowwise().sum();
  }
  return out.cwiseMax(0);
}

Matrix Curvature::of_parameters() const {
  const SingleThreadedBlas single;
  const Index P = covariance_V_.rows(), q = form_.features(), m = form_.C.cols();
  Matrix out(P + q * m, P + q * m);
  Matrix along(q * m, P);  // dC = along dV + what is independent of it
  for (Index o = 0; o < m; ++o) {
    for (Index f = 0; f < q && P > 0; ++f) along.row(o * q + f) = response_to_V(f, o).transpose();
  }
  out.topLeftCorner(P, P) = covariance_V_;
  out.bottomLeftCorner(q * m, P).noalias() = along * covariance_V_;
  out.topRightCorner(P, q * m) = out.bottomLeftCorner(q * m, P).transpose();
  out.bottomRightCorner(q * m, q * m).noalias() = out.bottomLeftCorner(q * m, P) * along.transpose();
  for (Index o = 0; o < m; ++o) out.block(P + o * q, P + o * q, q, q) += FF_inverse_;
  return out;
}

namespace {

constexpr double kPullProducts = 2e10;
// Parameters for every row below which the leverage of a row moves no digit that is printed.
constexpr double kLeverageMatters = 2e-3;
constexpr double kMostLeverage = 0.9;

struct PullSums {
  Matrix B;  // lower triangle
  void merge(const PullSums& other) { B += other.B; }
};

}  // namespace

bool FitCovariance::affordable(const Form& form) {
  return !form.rectifier && form.depth() <= 1 && (form.plain || form.turned || form.units() == 0) &&
         form.unknowns() + form.C.size() <= kMostParameters;
}

FitCovariance::FitCovariance(const Form& form, const SamplePtr& samples, const Control& control)
    : form_(form) {
  const SingleThreadedBlas single;
  const Curvature curvature(form, *samples, control);
  const Matrix bread = curvature.of_parameters();
  const Index N = bread.rows(), k = form.units(), width = form.inputs + 1, q = form.features(),
              m = form.C.cols();
  const double each = static_cast<double>(N) * static_cast<double>(N),
               n = static_cast<double>(samples->rows());
  SamplePtr rows = samples;
  if (n * each > kPullProducts)
    rows = spread_subset(*samples, std::max<Index>(20 * N, static_cast<Index>(kPullProducts / each)));
  const bool few = static_cast<double>(N) > kLeverageMatters * n * static_cast<double>(m);
  const PullSums sums = reduce_blocks(
      *rows, PullSums{Matrix::Zero(N, N)}, control, "",
      [&](PullSums& to, const SampleBlock& block) {
        const FormBlock seen(form_, block, true);
        Matrix r = seen.Y - seen.F() * form_.C;
        if (few) {
          const Matrix leverage = curvature.of_values(block.x()).cwiseMin(kMostLeverage);
          r.array() /= 1 - leverage.array();
        }
        Matrix pull(block.rows(), N);
        if (k > 0) {
          pull.leftCols(k * width) = seen.gradients();
          const Matrix weights = r * form_.C.topRows(k).transpose();  // rows x k
          for (Index j = 0; j < k; ++j)
            pull.middleCols(j * width, width).array().colwise() *= weights.col(j).array();
        }
        for (Index o = 0; o < m; ++o)
          pull.middleCols(k * width + o * q, q) = r.col(o).asDiagonal() * seen.F();
        add_gram(pull, 1, to.B);
      },
      block_rows(rows->rows()));
  Matrix B = sums.B;
  B.triangularView<Eigen::StrictlyUpper>() = B.transpose();
  matrix_.noalias() = bread * B * bread;
  matrix_ *= n / static_cast<double>(rows->rows());
}

Network FitCovariance::errors(const Standardisation& coordinates, const Matrix& unmix) const {
  const Index k = form_.units(), d = form_.inputs, width = d + 1, m = form_.C.cols(), q = form_.features();
  const bool linear = q > k + 1;
  Network out(Matrix(k, d), Vector(k), Matrix(m, k), Vector(m), linear ? Matrix(m, d) : Matrix());
  const auto deviations = [](const Matrix& J, const Matrix& covariance) {
    return Vector((J * covariance).cwiseProduct(J).rowwise().sum().cwiseMax(0).cwiseSqrt());
  };
  for (Index j = 0; j < k; ++j) {
    std::vector<Index> places;
    for (Index a = 0; a < width; ++a) places.push_back(of_V(j, a));
    for (Index o = 0; o < m; ++o) places.push_back(of_C(j, o));
    const Matrix J = unit_jacobian(form_.V[0].row(j).head(d).transpose(), form_.V[0](j, d),
                                   form_.C.row(j).transpose(), coordinates, unmix, form_.scale_is_free());
    const Vector errors = deviations(J, matrix_(places, places));
    out.W().row(j) = errors.head(d).transpose();
    out.b()(j) = errors(d);
    out.A().col(j) = errors.tail(m);
  }
  // c = unmix (c' - L'^T P mu), L = unmix L'^T P: both linear in the lower rows of C.
  const AffineMap& map = coordinates.map;
  const Index lower = q - k;
  Matrix to_user = Matrix::Zero(lower, linear ? width : 1);  // columns: L along every input, then c
  if (linear) {
    to_user.topLeftCorner(d, d) = map.P;
    to_user.topRightCorner(d, 1) = -map.P * map.mu;
  }
  to_user(lower - 1, to_user.cols() - 1) = 1;
  std::vector<Index> places;
  for (Index o = 0; o < m; ++o) {
    for (Index f = k; f < q; ++f) places.push_back(of_C(f, o));
  }
  const Matrix covariance = matrix_(places, places);
  for (Index o = 0; o < m; ++o) {
    Matrix J(to_user.cols(), lower * m);
    for (Index from = 0; from < m; ++from)
      J.middleCols(from * lower, lower) = unmix(o, from) * to_user.transpose();
    const Vector errors = deviations(J, covariance);
    if (linear) out.L().row(o) = errors.head(d).transpose();
    out.c()(o) = errors(errors.size() - 1);
  }
  return out;
}

namespace {

// The largest eigenvalue of a positive definite matrix, to a percent or so.
double largest_eigenvalue(const Eigen::Ref<const Matrix>& B) {
  constexpr int kSteps = 60;
  Vector v = Vector::LinSpaced(B.rows(), 1.0, 2.0).normalized();
  // From the column that is largest, so that no direction is missed by symmetry.
  Index at = 0;
  B.diagonal().maxCoeff(&at);
  v += B.col(at) / std::max(B.col(at).norm(), kTiny);
  double value = 0;
  for (int i = 0; i < kSteps; ++i) {
    v /= std::max(v.norm(), kTiny);
    const Vector next = B * v;
    value = v.dot(next);
    v = next;
  }
  return std::max(value, B.diagonal().maxCoeff());
}

// Whether each of these rows lies on the kink of some unit.
std::vector<bool> on_a_kink(const Form& form, const Eigen::Ref<const RowMatrix>& x, double at_kink) {
  std::vector<bool> out(static_cast<std::size_t>(x.rows()), false);
  const FormRows rows(form, x);
  for (std::size_t l = 0; l < form.depth(); ++l) {
    const auto [from, count] = rows.layout().below[l];
    const Vector near = at_kink * rows.P().middleCols(from, count).rowwise().norm();
    for (Index i = 0; i < x.rows(); ++i)
      if ((rows.Q(l).row(i).array().abs() <= near(i)).any()) out[static_cast<std::size_t>(i)] = true;
  }
  return out;
}

DeepData off_kinks(const Form& form, DeepData data, double at_kink) {
  if (!form.scale_is_free()) return data;  // units without a kink
  std::vector<Index> on;
  for (Index first = 0; first < data.rows(); first += kStripRows) {
    const std::vector<bool> strip =
        on_a_kink(form, data.x.middleRows(first, std::min(kStripRows, data.rows() - first)), at_kink);
    for (std::size_t i = 0; i < strip.size(); ++i)
      if (strip[i]) on.push_back(first + static_cast<Index>(i));
  }
  if (!on.empty()) static_cast<void>(data.take_out(on));
  return data;
}

}  // namespace

double Determined::least() const {
  return smallest.empty() ? 1 : *std::min_element(smallest.begin(), smallest.end());
}

namespace {

// A unit that is on at all rows is linear there: what its constant adds, the constants above take up. Any
// constant with which it stays on is as good, so it is held.
void fix_constants_of_units_always_on(const Form& plain, const DeepData& data, Matrix& H) {
  if (data.rows() == 0 || !plain.plain) return;
  const FormRows rows(plain, data.x);
  Index first = 0;
  const double held = H.diagonal().maxCoeff();
  for (std::size_t l = 0; l < plain.depth(); ++l) {
    const Index width = plain.V[l].cols();
    for (Index j = 0; j < plain.V[l].rows(); ++j, first += width)
      if (rows.Q(l).col(j).minCoeff() > 0) H(first + width - 1, first + width - 1) += held;
  }
}

}  // namespace

namespace {

// D H D = L L^T, D the diagonal matrix of `scale`, L in `factor`. False where H is singular to rounding, or
// holds weights on which nothing depends.
bool factored(const Matrix& H, Vector& scale, Matrix& factor) {
  scale = H.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  factor = scale.asDiagonal() * H * scale.asDiagonal();
  return H.diagonal().minCoeff() > 0 && lapack::potrf(factor) == 0;
}

Matrix curvature_at(const Form& plain, const DeepData& data, const Control& control, double at_kink) {
  Matrix H = normal_matrix(plain, off_kinks(plain, data, at_kink), control);
  fix_constants_of_units_always_on(plain, data, H);
  return H;
}

// The largest eigenvalue of the block of H^-1 that belongs to `size` weights from `first` on.
double largest_of_inverse(const Vector& scale, const Matrix& factor, Index first, Index size) {
  constexpr double kToAPercent = 1e-2;
  const auto product = [&](const Vector& in, Vector& out) {
    Vector padded = Vector::Zero(factor.rows());
    padded.segment(first, size) = in.cwiseProduct(scale.segment(first, size));
    lapack::potrs(factor, padded);
    out = padded.segment(first, size).cwiseProduct(scale.segment(first, size));
  };
  const Vector start = Stream(0, "weights that rows hardly show").normal_matrix(size, 1);
  return lanczos(product, start, {.tolerance = kToAPercent}).largest;
}

}  // namespace

Determined how_determined(const Form& plain, const DeepData& data, const Control& control, double at_kink) {
  Determined out;
  const Matrix H = curvature_at(plain, data, control, at_kink);
  Vector scale;
  Matrix factor;
  out.smallest.assign(plain.depth(), 0);
  if (!factored(H, scale, factor) || lapack::potri(factor) != 0) return out;
  factor.triangularView<Eigen::StrictlyUpper>() = factor.transpose();
  out.inverse = scale.asDiagonal() * factor * scale.asDiagonal();
  Index first = 0;
  for (std::size_t l = 0; l < plain.depth(); ++l) {
    const Index size = plain.V[l].size();
    if (size > 0) {
      const double largest = largest_eigenvalue(out.inverse.block(first, first, size, size));
      out.smallest[l] = largest > 0 ? 1 / std::sqrt(largest) : 0;
    } else {
      out.smallest[l] = 1;
    }
    first += size;
  }
  out.largest_error = std::sqrt(std::max(out.inverse.diagonal().maxCoeff(), 0.0));
  return out;
}

std::vector<double> smallest_singular_values(const Form& plain, const DeepData& data, const Control& control,
                                             double at_kink) {
  std::vector<double> smallest(plain.depth(), 0);
  const Matrix H = curvature_at(plain, data, control, at_kink);
  Vector scale;
  Matrix factor;
  if (!factored(H, scale, factor)) return smallest;
  Index first = 0;
  for (std::size_t l = 0; l < plain.depth(); ++l) {
    const Index size = plain.V[l].size();
    const double largest = size > 0 ? largest_of_inverse(scale, factor, first, size) : 1;
    smallest[l] = largest > 0 ? 1 / std::sqrt(largest) : 0;
    first += size;
  }
  return smallest;
}

namespace {

// A without its constraints, and B.
struct Sandwich {
  Matrix A, B;
  void merge(const Sandwich& other) {
    A += other.A;
    B += other.B;
  }
};

Sandwich sandwich(const Form& form, const DeepData& data, const Vector& weights, const Control& control) {
  const Index p = form.unknowns(), q = form.features(), m = data.y.cols(), all = p + q * m;
  const Sandwich empty{Matrix::Zero(all, all), Matrix::Zero(all, all)};
  return over_rows(data.rows(), empty, control, [&](Sandwich& to, Index first, Index count) {
    const FormRows rows(form, data.x.middleRows(first, count));
    const Matrix residuals = data.y.middleRows(first, count) - rows.F() * form.C;
    Matrix pull = Matrix::Zero(count, all), g(count, all);
    for (Index o = 0; o < m; ++o) {
      g.setZero();
      g.leftCols(p) = rows.jacobian(form.C.col(o));
      g.middleCols(p + o * q, q) = rows.F();
      to.A.noalias() += weights(o) * (g.transpose() * g);
      pull.noalias() += weights(o) * (residuals.col(o).asDiagonal() * g);
    }
    to.B.noalias() += pull.transpose() * pull;
  });
}

// sum_u c_u c_u^T, on the scale of A.
void fix_scales(const Form& form, Matrix& A) {
  Index at = 0;
  for (const Matrix& V : form.V) {
    const Index width = V.cols();
    for (Index j = 0; j < V.rows(); ++j, at += width) {
      const Vector w = V.row(j).head(width - 1).transpose();
      A.block(at, at, width - 1, width - 1) +=
          A.diagonal().segment(at, width).maxCoeff() * (w * w.transpose());
    }
  }
}

}  // namespace

Network weight_errors(const Network& network, const DeepData& rows, Index fitted, const Vector& weights,
                      const Control& control) {
  const Form form = to_plain_form(network);
  Sandwich sums = sandwich(form, rows, weights, control);
  fix_scales(form, sums.A);
  const Vector scale = sums.A.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  Matrix inverse = scale.asDiagonal() * sums.A * scale.asDiagonal();
  if (lapack::potrf(inverse) != 0 || lapack::potri(inverse) != 0) return {};
  inverse.triangularView<Eigen::StrictlyUpper>() = inverse.transpose();
  inverse = (scale.asDiagonal() * inverse * scale.asDiagonal()).eval();
  const auto entries = static_cast<double>(fitted * network.outputs());
  const double taken = entries / std::max(1.0, entries - static_cast<double>(network.parameters()));
  const double fewer = static_cast<double>(rows.rows()) / static_cast<double>(fitted);
  const Vector variance = (inverse * sums.B).cwiseProduct(inverse).rowwise().sum() * (taken * fewer);
  const Vector errors = variance.cwiseMax(0).cwiseSqrt();
  Network out = network;
  Index at = 0;
  for (auto& layer : out.layers) {
    for (Index j = 0; j < layer.W.rows(); ++j) {
      layer.W.row(j) = errors.segment(at, layer.W.cols()).transpose();
      layer.b(j) = errors(at + layer.W.cols());
      at += layer.W.cols() + 1;
    }
  }
  return out;
}

}  // namespace exhume
