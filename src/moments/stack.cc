#include "moments/stack.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/resident.h"
#include "engine/ritz.h"
#include "engine/transfer.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"
#include "moments/device_moments.h"

namespace exhume {
namespace {

// A singular value stands out from the noise where it is larger by this much.
constexpr double kAbove = 1.05;
// Pairs up to which a device finds all eigenvalues; beyond, the Krylov space that their ends are taken from.
constexpr Index kMostDense = 12'000, kBlock = 128, kBlocks = 24;
constexpr std::uint64_t kSeed = 1;

// From eigenvalues of G - N, ascending.
StackSpectrum spectrum_of(const Vector& eigenvalues) {
  StackSpectrum out;
  out.singular_values = eigenvalues.reverse().cwiseMax(0).cwiseSqrt();
  out.noise_floor = std::sqrt(std::max(0.0, -eigenvalues(0)));
  out.above_noise = (out.singular_values.array() > kAbove * out.noise_floor).count();
  return out;
}

class DeviceStack final : public MomentStack {
 public:
  DeviceStack(std::shared_ptr<Device> device, Index pairs)
      : device_(std::move(device)),
        p_(pairs),
        gram_(*device_, pairs, pairs),
        crossed_(*device_, pairs, pairs) {
    device_->fill(gram_.view(), 0.0);
    device_->fill(crossed_.view(), 0.0);
  }

  void add(const SampleSource& samples, int order, const Control& control) override {
    const DeviceMatrix<double> T(*device_, p_, p_), D(*device_, p_, p_);
    device_->fill(T.view(), 0.0);
    device_->fill(D.view(), 0.0);
    Index columns = 0;
    moments_on_device(*rows_on_device(samples), order, control,
                      [&](const DeviceView<double>& sum, const DeviceView<double>& difference) {
                        columns += sum.cols;
                        if (order == 4) {  // symmetric: the lower triangle of its square
                          device_->gram(0.25, sum, 1, T.view());
                          device_->gram(0.25, difference, 1, D.view());
                        } else {
                          device_->product(0.25, sum, false, sum, true, 1, T.view());
                          device_->product(0.25, difference, false, difference, true, 1, D.view());
                        }
                      });
    const DeviceView<double> d = D.view();
    const double squares = fetched(*device_, {d.data, 1, p_, p_ + 1}).sum();
    const double variance =
        std::max(squares / (static_cast<double>(p_) * static_cast<double>(columns)), kTiny);
    device_->add(1 / variance, T.view(), gram_.view());
    device_->add(-1 / variance, D.view(), crossed_.view());
    device_->synchronise();
  }

  StackSpectrum spectrum(std::optional<Index> hidden, const Control& control) override {
    control.check();
    device_->add(1, gram_.view(), crossed_.view());
    if (p_ > kMostDense) return ends(hidden, control);
    const DeviceMatrix<double> values(*device_, p_, 1);
    must(device_->eigen(crossed_.view(), false, values.view()));
    StackSpectrum out = spectrum_of(fetched(*device_, values.view()));
    const Index count = std::min<Index>(hidden.value_or(out.above_noise), p_);
    if (count == 0) return out;
    control.check();
    must(device_->eigen(gram_.view(), true, values.view()));
    out.basis = fetched(*device_, gram_.view().columns(p_ - count, count)).rowwise().reverse();
    return out;
  }

 private:
  // The same for many pairs, from the ends of both spectra.
  StackSpectrum ends(std::optional<Index> hidden, const Control& control) {
    const Index block = std::min<Index>(kBlock, p_ / kBlocks);
    device_->mirror(crossed_.view());
    StackSpectrum out = spectrum_of(ritz_pairs(*device_, crossed_.view(), block, kBlocks, kSeed).values);
    const Index count = std::min<Index>(hidden.value_or(out.above_noise), block * kBlocks);
    if (count == 0) return out;
    control.check();
    device_->mirror(gram_.view());
    const RitzPairs found = ritz_pairs(*device_, gram_.view(), block, kBlocks, kSeed);
    const Index first = block * kBlocks - count;
    out.basis =
        fetched(*device_, found.vectors.view().block(first, 0, count, p_)).transpose().rowwise().reverse();
    return out;
  }

  static void must(bool found) {
    if (!found) throw ResourceError("the device found no eigenvalues; compute on the processor");
  }

  std::shared_ptr<Device> device_;
  Index p_;
  DeviceMatrix<double> gram_, crossed_;
};

}  // namespace

void HostStack::add(const SampleSource& samples, int order, const Control& control) {
  const HermiteMoments moments = hermite_moments(samples, order, control);
  add(moments.estimate(order), moments.noise(order));
}

void HostStack::add(const Matrix& T, const Matrix& D) {
  const double variance = std::max(D.squaredNorm() / static_cast<double>(D.size()), kTiny);
  gram_.noalias() += T * T.transpose() / variance;
  crossed_.noalias() -= D * D.transpose() / variance;
}

StackSpectrum HostStack::spectrum(std::optional<Index> hidden, const Control& control) {
  control.check();
  const Eigen::SelfAdjointEigenSolver<Matrix> noise(Matrix(crossed_ + gram_), Eigen::EigenvaluesOnly);
  StackSpectrum out = spectrum_of(noise.eigenvalues());
  const Index count = std::min<Index>(hidden.value_or(out.above_noise), gram_.rows());
  if (count == 0) return out;
  control.check();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(gram_);
  out.basis = eigen.eigenvectors().rightCols(count).rowwise().reverse();
  return out;
}

std::unique_ptr<MomentStack> moment_stack(const SampleSource& samples) {
  const Index p = symmetric_size(samples.inputs());
  if (const DeviceRows* there = rows_on_device(samples))
    return std::make_unique<DeviceStack>(there->device, p);
  return std::make_unique<HostStack>(p);
}

}  // namespace exhume
