#include "fit/partial_sums.h"

#include <fmt/format.h>

#include "base/blas.h"
#include "base/packed.h"
#include "base/packed_shape.h"
#include "base/parallel.h"
#include "exhume/error.h"
#include "fit/sums.h"
#include "io/digest.h"
#include "io/safetensors.h"
#include "io/sealed.h"
#include "moments/moments.h"

namespace exhume {
namespace {

constexpr std::string_view kTag = "EXPARTS1";
constexpr double kMostSummedRows = 1e15;

}  // namespace

void PartialSums::merge(const PartialSums& other) {
  if (network != other.network)
    throw DataError("these sums were made at different networks; make all of a round at the same one");
  if (!same_shape(other, *this))
    throw DataError("these sums have different shapes, although they name one network; make them again");
  const double all = rows + other.rows;
  const Vector gap = other.mean - mean;
  spread += other.spread + gap.cwiseAbs2() * (rows * other.rows / all);
  mean += gap * (other.rows / all);
  rows = all;
  squares += other.squares;
  FF += other.FF;
  FR += other.FR;
  GG += other.GG;
  GF += other.GF;
  gradient += other.gradient;
}

std::string PartialSums::serialise() const { return sealed(kTag, packed(*this)); }

PartialSums PartialSums::deserialise(const std::string& bytes, const std::string& name) {
  auto sums = unpacked<PartialSums>(unsealed(kTag, bytes, name, "sums"));
  const Index P = sums.GG.rows(), q = sums.FF.rows(), m = sums.squares.size();
  if (sums.GG.cols() != P || sums.GF.rows() != P || sums.GF.cols() != q || sums.FF.cols() != q ||
      sums.FR.rows() != q || sums.FR.cols() != m || sums.gradient.size() != P || sums.mean.size() != m ||
      sums.spread.size() != m)
    throw DataError(fmt::format("{} has shapes that do not fit together; make it again", name));
  const bool finite = sums.squares.allFinite() && sums.mean.allFinite() && sums.spread.allFinite() &&
                      sums.FF.allFinite() && sums.FR.allFinite() && sums.GG.allFinite() &&
                      sums.GF.allFinite() && sums.gradient.allFinite();
  if (!finite || !(sums.rows >= 1 && sums.rows < kMostSummedRows) || m < 1 ||
      !(sums.squares.minCoeff() >= 0) || !(sums.spread.minCoeff() >= 0)) {
    throw DataError(
        fmt::format("{} holds sums that no rows have: not finite, negative, or of no rows; make "
                    "it again",
                    name));
  }
  return sums;
}

PartialSums partial_sums(const Network& network, const SamplePtr& samples, const Control& control) {
  const SingleThreadedBlas single;
  const Form model = to_signed_form(network);
  if (model.inputs != samples->inputs() || model.C.cols() != samples->outputs()) {
    throw DataError(fmt::format("the network has {} inputs and {} outputs, but the samples have {} and {}",
                                model.inputs, model.C.cols(), samples->inputs(), samples->outputs()));
  }
  const Index least = 2 * (model.V[0].size() + model.features() + samples->outputs());
  if (samples->rows() < least) {
    throw DataError(
        fmt::format("{} rows are too few: sums over them would nearly give them away; use {} rows or more",
                    samples->rows(), least));
  }
  const SecondMoments moments = second_moments(*samples, control);
  const ResidualSums residual = residual_sums(model, *samples, kBlockRows, control);
  NormalSums normal = normal_sums(model, *samples, kBlockRows, control);
  PartialSums out;
  out.network = sha256(network_bytes(network));
  out.rows = static_cast<double>(samples->rows());
  out.squares = residual.squares;
  out.mean = moments.mean_y();
  out.spread = moments.covariance_y().diagonal() * out.rows;
  out.FF = std::move(normal.FF);
  out.FR = residual.FR;
  out.GG = std::move(normal.GG);
  out.GF = std::move(normal.GF);
  out.gradient = std::move(normal.gradient);
  return out;
}

Network stepped(const Network& network, const PartialSums& sums, double damping) {
  const SingleThreadedBlas single;
  if (sums.network != sha256(network_bytes(network)))
    throw DataError("the sums were made at another network; make them at the one that is to be polished");
  Form model = to_signed_form(network);
  const Index k = model.units(), width = model.inputs + 1;
  // The digest of the network may be stated of any sums.
  if (sums.FF.rows() != model.features() || sums.FR.cols() != model.C.cols() || sums.GG.rows() != k * width ||
      sums.gradient.rows() != width || sums.gradient.cols() != k)
    throw DataError("the sums have other shapes than this network gives; make them at it again");
  const Matrix S = solve_scaled(sums.FF, sums.FR);  // q x m: what C alone would gain
  Matrix H = projected_normal_matrix(model, {sums.GG, sums.GF, sums.FF, sums.gradient});
  Matrix gradient = sums.gradient;
  for (Index j = 0; j < k; ++j)
    gradient.col(j) -= sums.GF.middleRows(j * width, width) * (S * model.C.row(j).transpose());
  Vector diagonal = H.diagonal();
  diagonal.array() += 1e-12 * diagonal.mean() + kTiny;
  H.diagonal() += damping * diagonal;
  const Vector flat = gradient.reshaped();
  const Vector x = solve_scaled(H, flat);
  Matrix moved = sums.FR;  // F^T (R - G dV)
  for (Index j = 0; j < k; ++j) {
    moved -=
        (sums.GF.middleRows(j * width, width).transpose() * x.segment(j * width, width)) * model.C.row(j);
  }
  model.C += solve_scaled(sums.FF, moved);
  model.V[0] += Eigen::Map<const Matrix>(x.data(), width, k).transpose();
  return to_network(model);
}

}  // namespace exhume
