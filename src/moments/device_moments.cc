#include "moments/device_moments.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/transfer.h"
#include "linalg/symmetric_matrix.h"
#include "moments/device_order4.h"

namespace exhume {
namespace {

using Doubles = DeviceMatrix<double>;
using View = DeviceView<double>;

// p x 1: 1 at (a, a), 0 elsewhere, so that products with it take traces.
Matrix trace_coordinates(Index d) {
  Matrix e = Matrix::Zero(symmetric_size(d), 1);
  for (Index a = 0; a < d; ++a) e(symmetric_position(a, a), 0) = 1;
  return e;
}

// Place for the features of a strip, and for what is made of them.
struct Place {
  Doubles memory;
  [[nodiscard]] View operator()(Index rows) const {
    return memory.view().block(0, 0, rows, memory.view().cols);
  }
};

// DeviceCoefficients of Hermite polynomials up to a degree, one set an output, one after the other in one
// vector.
struct DeviceCoefficients {
  Index d, m, p;
  int degree;
  Doubles all;

  DeviceCoefficients(Device& device, Index inputs, Index outputs, int highest)
      : d(inputs),
        m(outputs),
        p(symmetric_size(inputs)),
        degree(highest),
        all(zeros(device, m * (1 + d + (highest >= 2 ? p : 0) + (highest >= 3 ? p * d : 0)), 1)) {}
  [[nodiscard]] View order(int j) const {
    double* at = all.data();
    if (j == 0) return {at, 1, m, 1};
    if (j == 1) return {at + m, d, m, d};
    if (j == 2) return {at + m * (1 + d), p, m, p};
    return {at + m * (1 + d + p), p, d * m, p};
  }
};

// Polynomials at the rows of a device.
class Polynomials {
 public:
  Polynomials(const DeviceRows& rows, int degree, const Control& control)
      : rows_(rows),
        device_(*rows.device),
        control_(control),
        d_(rows.inputs()),
        m_(rows.outputs()),
        p_(symmetric_size(d_)),
        degree_(degree),
        strip_(std::min(rows.rows(),
                        strip_rows(device_, (degree >= 2 ? p_ : 0) + (degree >= 3 ? d_ * m_ : 0) + m_))),
        K_{Doubles(device_, strip_, degree >= 2 ? p_ : 0)},
        cubic_{Doubles(device_, strip_, degree >= 3 ? d_ * m_ : 0)},
        E_{Doubles(device_, strip_, m_)},
        ones_(device_, strip_, 1),
        traces_(sent(device_, trace_coordinates(d_))),
        constant_(device_, 1, m_),
        linear_(device_, d_, m_) {
    device_.fill(ones_.view(), 1.0);
  }

  // The moments of y: every half counts as much as the other.
  void moments(DeviceCoefficients& to) {
    device_.fill(to.all.view(), 0.0);
    for_strips(rows_, strip_, control_, [&](const DeviceStrip& strip) {
      features(strip);
      add(strip, strip.y, to);
    });
    correct(to);
  }

  // Those of the polynomial `q` at the rows.
  void moments_of(const DeviceCoefficients& q, DeviceCoefficients& to) {
    device_.fill(to.all.view(), 0.0);
    prepare(q);
    for_strips(rows_, strip_, control_, [&](const DeviceStrip& strip) {
      features(strip);
      const View E = E_(strip.x.rows);
      evaluate(q, strip, E);
      add(strip, E, to);
    });
    correct(to);
  }

  // y - q(x) for all rows.
  void left(const DeviceCoefficients& q, const DeviceRows& to) {
    prepare(q);
    for_strips(rows_, strip_, control_, [&](const DeviceStrip& strip) {
      features(strip);
      const View E = E_(strip.x.rows), out = to.y->view().block(strip.first, 0, strip.x.rows, m_);
      evaluate(q, strip, E);
      device_.copy(strip.y, out);
      device_.add(-1, E, out);
    });
  }

 private:
  void features(const DeviceStrip& strip) {
    if (degree_ >= 2) device_.pairs(strip.x, {}, false, K_(strip.x.rows));
  }

  void add(const DeviceStrip& strip, const View& R, DeviceCoefficients& to) {
    const double weight = 0.5 / static_cast<double>(rows_.count[strip.half]);
    const Index size = strip.x.rows;
    device_.product(weight, ones_.view().block(0, 0, size, 1), true, R, false, 1, to.order(0));
    device_.product(weight, strip.x, true, R, false, 1, to.order(1));
    if (degree_ >= 2) device_.product(weight, K_(size), true, R, false, 1, to.order(2));
    if (degree_ < 3) return;
    device_.row_products(R, strip.x, cubic_(size));
    device_.product(weight, K_(size), true, cubic_(size), false, 1, to.order(3));
  }

  // From raw moments to Hermite moments.
  void correct(DeviceCoefficients& to) {
    if (degree_ >= 2) device_.product(-1, traces_.view(), false, to.order(0), false, 1, to.order(2));
    if (degree_ >= 3) device_.hermite3(1, to.order(1), to.order(3));
  }

  // What Hermite polynomials of orders 2 and 3 subtract, for symmetric coefficients: constants and linear
  // functions.
  void prepare(const DeviceCoefficients& q) {
    device_.copy(q.order(0), constant_.view());
    device_.copy(q.order(1), linear_.view());
    if (degree_ >= 2) device_.product(-1, traces_.view(), true, q.order(2), false, 1, constant_.view());
    if (degree_ >= 3)
      device_.product(-3, q.order(3), true, traces_.view(), false, 1,
                      View{linear_.data(), d_ * m_, 1, d_ * m_});
  }

  void evaluate(const DeviceCoefficients& q, const DeviceStrip& strip, const View& E) {
    const Index size = strip.x.rows;
    device_.fill_rows(E, constant_.view());
    device_.product(1, strip.x, false, linear_.view(), false, 1, E);
    if (degree_ >= 2) device_.product(1, K_(size), false, q.order(2), false, 1, E);
    if (degree_ < 3) return;
    device_.product(1, K_(size), false, q.order(3), false, 0, cubic_(size));
    device_.row_dots(cubic_(size), strip.x, E);
  }

  const DeviceRows& rows_;
  Device& device_;
  const Control& control_;
  Index d_, m_, p_;
  int degree_;
  Index strip_;
  Place K_, cubic_, E_;
  Doubles ones_, traces_, constant_, linear_;
};

// Divides order j by j!, the squared norm of its features.
void precondition(Device& device, const DeviceCoefficients& r, const DeviceCoefficients& z) {
  device.copy(r.all.view(), z.all.view());
  if (r.degree >= 2) device.scale(1.0 / 2, z.order(2));
  if (r.degree >= 3) device.scale(1.0 / 6, z.order(3));
}

}  // namespace

std::array<LowSums, 2> low_sums_on_device(const DeviceRows& rows, int order, const Control& control) {
  const Index d = rows.inputs(), m = rows.outputs();
  Device& device = *rows.device;
  // sum r x x^T of every output side by side: d x (d m).
  const Index strip = std::min(rows.rows(), strip_rows(device, order >= 2 ? d * m : 1));
  const Doubles weighted(device, strip, order >= 2 ? d * m : 0), ones(device, strip, 1);
  device.fill(ones.view(), 1.0);
  std::vector<Doubles> zeroth, first, second;
  for (int h = 0; h < 2; ++h) {
    zeroth.push_back(zeros(device, 1, m));
    first.push_back(zeros(device, d, order >= 1 ? m : 0));
    second.push_back(zeros(device, d, order >= 2 ? d * m : 0));
  }
  for_strips(rows, strip, control, [&](const DeviceStrip& at) {
    const auto h = static_cast<std::size_t>(at.half);
    device.product(1, ones.view().block(0, 0, at.x.rows, 1), true, at.y, false, 1, zeroth[h].view());
    if (order >= 1) device.product(1, at.x, true, at.y, false, 1, first[h].view());
    if (order < 2) return;
    const View xr = weighted.view().block(0, 0, at.x.rows, d * m);
    device.row_products(at.y, at.x, xr);
    device.product(1, at.x, true, xr, false, 1, second[h].view());
  });
  std::array<LowSums, 2> out;
  for (std::size_t h = 0; h < 2; ++h) {
    LowSums& sums = out[h];
    sums.order0 = fetched(device, zeroth[h].view()).transpose();
    if (order >= 1) sums.order1 = fetched(device, first[h].view());
    if (order < 2) continue;
    const Matrix squares = fetched(device, second[h].view());
    sums.order2.resize(symmetric_size(d), m);
    for (Index o = 0; o < m; ++o) sums.order2.col(o) = to_coordinates(squares.middleCols(o * d, d));
  }
  return out;
}

Matrix output_covariance_on_device(const DeviceRows& rows) {
  Device& device = *rows.device;
  const Index n = rows.rows(), m = rows.outputs();
  const Doubles ones(device, n, 1), sum(device, 1, m), products(device, m, m);
  device.fill(ones.view(), 1.0);
  device.product(1, ones.view(), true, rows.y->view(), false, 0, sum.view());
  device.product(1, rows.y->view(), true, rows.y->view(), false, 0, products.view());
  const Vector mean = fetched(device, sum.view()).transpose() / static_cast<double>(n);
  return fetched(device, products.view()) / static_cast<double>(n) - mean * mean.transpose();
}

PolynomialCoefficients fit_polynomial_on_device(const DeviceRows& rows, int degree, const Control& control,
                                                int max_iterations, double tolerance) {
  Device& device = *rows.device;
  const Index d = rows.inputs(), m = rows.outputs();
  Polynomials polynomials(rows, degree, control);
  DeviceCoefficients x(device, d, m, degree), r(device, d, m, degree), z(device, d, m, degree),
      p(device, d, m, degree), Ap(device, d, m, degree);
  polynomials.moments(r);
  precondition(device, r, z);
  device.copy(z.all.view(), p.all.view());
  double rz = device.dot(r.all.view(), z.all.view());
  const double enough = rz * tolerance * tolerance;
  int iteration = 0;
  for (; iteration < max_iterations && rz > enough && rz > 0; ++iteration) {
    control.report("polynomial fit", static_cast<double>(iteration) / max_iterations);
    polynomials.moments_of(p, Ap);
    const double alpha = rz / device.dot(p.all.view(), Ap.all.view());
    if (!std::isfinite(alpha)) break;
    device.add(alpha, p.all.view(), x.all.view());
    device.add(-alpha, Ap.all.view(), r.all.view());
    precondition(device, r, z);
    const double next = device.dot(r.all.view(), z.all.view());
    device.scale(next / rz, p.all.view());
    device.add(1, z.all.view(), p.all.view());
    rz = next;
  }
  PolynomialCoefficients out;
  out.iterations = iteration;
  for (int order = 0; order <= degree; ++order)
    out.Q[static_cast<std::size_t>(order)] = fetched(device, x.order(order));
  return out;
}

DeviceRows less_polynomial_on_device(const DeviceRows& rows, int degree, const std::array<Matrix, 4>& Q,
                                     const Control& control) {
  Device& device = *rows.device;
  const DeviceCoefficients q(device, rows.inputs(), rows.outputs(), degree);
  for (int order = 0; order <= degree; ++order) {
    const Matrix& part = Q[static_cast<std::size_t>(order)];
    upload(device, part.data(), part.rows(), q.order(order));
  }
  DeviceRows out = rows.with_outputs(rows.outputs());
  Polynomials(rows, degree, control).left(q, out);
  return out;
}

void moments_on_device(const DeviceRows& rows, int order, const Control& control,
                       const std::function<void(const View& sum, const View& difference)>& use) {
  Device& device = *rows.device;
  const Index d = rows.inputs(), m = rows.outputs(), p = symmetric_size(d);
  if (order == 4) {
    order4_on_device(rows, order4_plan(d), control, use);
    return;
  }
  const Index columns = order == 2 ? m : d * m;
  const auto factor = [&](int half) {
    return 1.0 / static_cast<double>(std::max<Index>(rows.count[half], 1));
  };
  const Doubles traces = sent(device, trace_coordinates(d));
  const Index strip = std::min(rows.rows(), strip_rows(device, p + (order == 3 ? columns : 0)));
  const Doubles K(device, strip, p), other(device, strip, order == 3 ? columns : 0), ones(device, strip, 1);
  device.fill(ones.view(), 1.0);
  const Doubles halves[2] = {zeros(device, p, columns), zeros(device, p, columns)};
  const Doubles first[2] = {zeros(device, d, m), zeros(device, d, m)};
  const Doubles zeroth[2] = {zeros(device, 1, m), zeros(device, 1, m)};
  for_strips(rows, strip, control, [&](const DeviceStrip& at) {
    const Index size = at.x.rows;
    const View k = K.view().block(0, 0, size, p);
    device.pairs(at.x, {}, false, k);
    if (order == 2) {
      device.product(1, k, true, at.y, false, 1, halves[at.half].view());
      device.product(1, ones.view().block(0, 0, size, 1), true, at.y, false, 1, zeroth[at.half].view());
      return;
    }
    const View xr = other.view().block(0, 0, size, columns);
    device.row_products(at.y, at.x, xr);
    device.product(1, k, true, xr, false, 1, halves[at.half].view());
    device.product(1, at.x, true, at.y, false, 1, first[at.half].view());
  });
  for (int h = 0; h < 2; ++h) {
    if (order == 2) {
      device.product(-1, traces.view(), false, zeroth[h].view(), false, 1, halves[h].view());
      device.scale(factor(h), halves[h].view());
    } else {
      device.hermite3(factor(h), first[h].view(), halves[h].view());
    }
  }
  device.sum_and_difference(halves[0].view(), halves[1].view());
  use(halves[0].view(), halves[1].view());
  device.synchronise();
}

DirectionMoments direction_moments(const DeviceRows& rows, const Matrix& W, const Control& control) {
  Device& device = *rows.device;
  const Index k = W.cols(), m = rows.outputs(), strip = std::min(rows.rows(), strip_rows(device, 2 * k));
  const Doubles directions = sent(device, W), Z(device, strip, k), H(device, strip, k);
  const Doubles sums[2] = {zeros(device, k, m), zeros(device, k, m)};
  for_strips(rows, strip, control, [&](const DeviceStrip& at) {
    const View z = Z.view().block(0, 0, at.x.rows, k), h = H.view().block(0, 0, at.x.rows, k);
    device.product(1, at.x, false, directions.view(), false, 0, z);
    for (int order : {2, 3}) {
      device.hermite(order, z, h);
      device.product(1, h, true, at.y, false, 1, sums[order - 2].view());
    }
  });
  return {fetched(device, sums[0].view()), fetched(device, sums[1].view())};
}

}  // namespace exhume
