#include "moments/partial_moments.h"

#include <fmt/format.h>

#include <stdexcept>

#include "base/packed.h"
#include "exhume/error.h"
#include "io/sealed.h"
#include "linalg/symmetric_matrix.h"
#include "moments/standardise.h"

namespace exhume {
namespace {

constexpr std::string_view kTag = "EXPARTM1";

bool same(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() && (a.array() == b.array()).all();
}

// Numbers that a file of moments holds about its rows.
double numbers(Index d, Index m, int order) {
  const auto inputs = static_cast<double>(d), outputs = static_cast<double>(m);
  double monomials = 1, total = 0;
  for (int p = 0; p <= order; ++p) {
    total += 2 * outputs * monomials;  // even and odd rows
    monomials *= (inputs + p) / (p + 1);
  }
  return total + (inputs + outputs) * (inputs + outputs + 3) / 2;
}

}  // namespace

void PartialMoments::merge(const PartialMoments& other) {
  if (!same(P, other.P) || !same(mu, other.mu) || !same(D, other.D) || !same(nu, other.nu) ||
      !same(L, other.L)) {
    throw DataError(
        "these moments were made in different frames; make all but the first with the first one's frame "
        "(like)");
  }
  if (hermite.order != other.hermite.order) {
    throw DataError(fmt::format("these moments have orders {} and {}; make them of one order", hermite.order,
                                other.hermite.order));
  }
  hermite.merge(other.hermite);
  second.merge(other.second);
}

std::string PartialMoments::serialise() const {
  packing::Writer out;
  for (const Matrix& part : {P, Matrix(mu), Matrix(D), Matrix(nu), L}) out.put(part);
  out.put(hermite.serialise());
  out.put(second.serialise());
  return sealed(kTag, out.bytes);
}

PartialMoments PartialMoments::deserialise(const std::string& bytes, const std::string& name) {
  packing::Reader in(unsealed(kTag, bytes, name, "moments"));
  PartialMoments out;
  Matrix parts[5];
  std::string hermite, second;
  in.get(parts);
  in.get(hermite);
  in.get(second);
  out.hermite = HermiteMoments::deserialise(hermite);
  out.second = SecondMoments::deserialise(second);
  const Index d = out.hermite.inputs, m = out.hermite.outputs;
  // Before anything is done with them: 0 rows of 2^62 columns are read at no cost, and take forever.
  const Index rows[5] = {d, d, m, m, m}, columns[5] = {d, 1, 1, 1, d};
  bool fit = in.left().empty() && out.second.inputs == d && out.second.outputs == m;
  for (int i = 0; i < 5; ++i) fit = fit && parts[i].rows() == rows[i] && parts[i].cols() == columns[i];
  if (!fit) throw DataError(fmt::format("{} has shapes that do not fit together; make it again", name));
  out.P = parts[0];
  out.mu = parts[1];
  out.D = parts[2];
  out.nu = parts[3];
  out.L = parts[4];
  bool finite = out.second.count >= 1 && out.second.count == out.hermite.count[0] + out.hermite.count[1] &&
                out.second.mean.allFinite() && out.second.centred.allFinite() && d >= 1 && m >= 1;
  for (const Matrix& part : parts) finite = finite && part.allFinite();
  for (const RawSums& sums : out.hermite.sums) {
    finite = finite && sums.order0.allFinite() && sums.order1.allFinite() && sums.order2.allFinite() &&
             sums.order3.allFinite() && sums.order4.allFinite();
  }
  if (!finite) {
    throw DataError(
        fmt::format("{} holds sums that no rows have: not finite, or of no rows; make it again", name));
  }
  return out;
}

PartialMoments partial_moments(const SamplePtr& samples, int order, const PartialMoments* like,
                               const Control& control) {
  if (order < 2 || order > 4) throw std::invalid_argument(fmt::format("order is {}, expected 2 to 4", order));
  const Index d = samples->inputs(), m = samples->outputs();
  const double least = 2 * numbers(d, m, order) / static_cast<double>(d + m);
  if (static_cast<double>(samples->rows()) < least) {
    throw DataError(fmt::format(
        "{} rows are too few: their moments of order {} would nearly give them away; use {:.0f} rows or "
        "more, or a lower order",
        samples->rows(), order, least));
  }
  PartialMoments out;
  out.second = second_moments(*samples, control);
  if (like != nullptr) {
    if (like->hermite.inputs != d || like->hermite.outputs != m) {
      throw DataError(fmt::format("these samples have {} inputs and {} outputs, but the frame has {} and {}",
                                  d, m, like->hermite.inputs, like->hermite.outputs));
    }
    out.P = like->P;
    out.mu = like->mu;
    out.D = like->D;
    out.nu = like->nu;
    out.L = like->L;
  } else {
    const Standardisation frame = standardise(out.second);
    out.P = frame.map.P;
    out.mu = frame.map.mu;
    out.D = frame.map.D;
    out.nu = frame.map.nu;
    out.L = out.D.asDiagonal() * out.second.covariance_yx() * out.P.transpose();
  }
  const SamplePtr residual = with_outputs(
      affine(samples, {out.P, out.mu, out.D, out.nu}),
      [L = out.L](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) { y -= x * L.transpose(); });
  out.hermite = hermite_moments(*residual, order, control);
  return out;
}

}  // namespace exhume
