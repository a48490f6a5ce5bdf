#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/transfer.h"
#include "fit/form_sums.h"
#include "model/form.h"

namespace exhume {
namespace {

constexpr double kJacobianBytes = 512.0 * (1ULL << 20U);  // of the Jacobian of a strip of rows
constexpr double kFloor = 1e-9;                           // of the mean diagonal, that is damped too

using Doubles = DeviceMatrix<double>;
using DoubleView = DeviceView<double>;

class LayerSystemOnDevice final : public NormalSystem {
 public:
  LayerSystemOnDevice(std::shared_ptr<Device> device, Doubles H, Doubles gradient)
      : device_(std::move(device)), H_(std::move(H)), gradient_(std::move(gradient)) {
    const DoubleView h = H_.view();
    diagonal_ = fetched(*device_, DoubleView{h.data, 1, h.cols, h.stride + 1}).transpose();
  }

  [[nodiscard]] std::optional<Vector> step(double damping) const override {
    const Index p = diagonal_.size();
    const Doubles factor(*device_, p, p), step(*device_, p, 1);
    device_->copy(H_.view(), factor.view());
    const Matrix added = damping * (diagonal_.array() + kFloor * diagonal_.mean()).matrix();
    const Doubles shift = sent(*device_, added);
    device_->add_diagonal(factor.view(), shift.view());
    if (!device_->cholesky(factor.view())) return std::nullopt;
    device_->copy(gradient_.view(), step.view());
    device_->solve_cholesky(factor.view(), step.view());
    Vector out = fetched(*device_, step.view());
    if (!out.allFinite()) return std::nullopt;
    return out;
  }
  [[nodiscard]] Matrix matrix() const override { return fetched(*device_, H_.view()); }

 private:
  std::shared_ptr<Device> device_;
  Doubles H_, gradient_;
  Vector diagonal_;
};

class LayerSumsOnDevice final : public FormSums {
 public:
  LayerSumsOnDevice(std::shared_ptr<Device> device, const DeepData& data)
      : device_(std::move(device)), x_(sent(*device_, data.x)), y_(sent(*device_, data.y)) {}

  LinearSums linear(const Form& form, const Control& control) override {
    const Index q = form.features(), m = y_.view().cols;
    const Doubles FF(*device_, q, q), FY(*device_, q, m);
    device_->fill(FF.view(), 0.0);
    device_->fill(FY.view(), 0.0);
    over_strips(form, 0, control, [&](const Strip& strip) {
      device_->product(1, strip.F, true, strip.F, false, 1, FF.view());
      device_->product(1, strip.F, true, strip.y, false, 1, FY.view());
    });
    return {fetched(*device_, FF.view()), fetched(*device_, FY.view())};
  }

  Residual residual(const Form& form, const Control& control) override {
    const Index q = form.features(), m = y_.view().cols;
    const Doubles FR(*device_, q, m), squares(*device_, 1, 1), C = sent(*device_, form.C);
    device_->fill(FR.view(), 0.0);
    device_->fill(squares.view(), 0.0);
    over_strips(form, 0, control, [&](const Strip& strip) {
      const DoubleView R = residuals(strip, C, squares);
      device_->product(1, strip.F, true, R, false, 1, FR.view());
    });
    return {fetched(*device_, FR.view()), fetched(*device_, squares.view())(0, 0)};
  }

  std::unique_ptr<NormalSystem> normal_system(const Form& form, const Matrix& FF,
                                              const Control& control) override {
    const Index p = form.unknowns(), q = form.features(), m = y_.view().cols;
    Doubles H(*device_, p, p), gradient(*device_, p, 1);
    const Doubles K(*device_, q, p * m), squares(*device_, 1, 1), C = sent(*device_, form.C);
    std::vector<Doubles> V;
    for (const Matrix& v : form.V) V.push_back(sent(*device_, v));
    for (const DoubleView& view : {H.view(), gradient.view(), K.view()}) device_->fill(view, 0.0);
    over_strips(form, p, control, [&](const Strip& strip) {
      const DoubleView R = residuals(strip, C, squares);
      for (Index o = 0; o < m; ++o) {
        jacobian(form, strip, V, C.view().columns(o, 1));
        device_->gram(1, strip.J, 1, H.view());
        device_->product(1, strip.F, true, strip.J, false, 1, K.view().columns(o * p, p));
        device_->product(1, strip.J, true, R.columns(o, 1), false, 1, gradient.view());
      }
    });
    // With F^T F = L L^T: K^T (F^T F)^-1 K = (L^-1 K)^T (L^-1 K). Columns of K scaled by a product.
    ScaledFactor features;
    static_cast<void>(factor_scaled(FF, kFeatureRidge, features));
    const Doubles L = sent(*device_, features.L), scale = sent(*device_, Matrix(features.scale.asDiagonal()));
    const Doubles half(*device_, q, p);
    for (Index o = 0; o < m; ++o) {
      device_->product(1, scale.view(), false, K.view().columns(o * p, p), false, 0, half.view());
      device_->solve_lower(L.view(), half.view());
      device_->gram(-1, half.view(), 1, H.view());
    }
    stiffen(form, H.view());
    return std::make_unique<LayerSystemOnDevice>(device_, std::move(H), std::move(gradient));
  }

 private:
  struct Strip {
    DoubleView P, F, y, J, g, E;  // columns as in DeepRows; J: the Jacobian's place; g: slopes by P's columns
    const std::vector<Doubles>* Q;
    const FormLayout* layout;
    std::vector<DoubleView> S;
  };

  // H's blocks, one per unit: a step along a row costs as much as one across it.
  void stiffen(const Form& form, const DoubleView& H) {
    const Matrix diagonal = fetched(*device_, DoubleView{H.data, 1, H.cols, H.stride + 1});
    Index at = 0;
    for (const Matrix& v : form.V) {
      const Doubles columns = sent(*device_, v.transpose());
      const Index width = v.cols();
      for (Index j = 0; j < v.rows(); ++j, at += width) {
        const DoubleView column = columns.view().columns(j, 1);
        device_->product(diagonal.middleCols(at, width).mean(), column, false, column, true, 1,
                         H.block(at, at, width, width));
      }
    }
    device_->synchronise();
  }

  DoubleView residuals(const Strip& strip, const Doubles& C, const Doubles& squares) {
    device_->product(1, strip.F, false, C.view(), false, 0, strip.E);
    device_->residual(strip.E, strip.y, -1.0, squares.view());
    return strip.E;  // y - f
  }

  void jacobian(const Form& form, const Strip& strip, const std::vector<Doubles>& V, const DoubleView& c) {
    const FormLayout& layout = *strip.layout;
    const Device::Kind kind = form.plain ? Device::Kind::kRectified : Device::Kind::kAbsolute;
    device_->fill(strip.g, 0.0);
    device_->fill_rows(strip.g.columns(0, layout.features), DoubleView{c.data, 1, layout.features, 1});
    Index at = form.unknowns();
    for (std::size_t l = form.depth(); l-- > 0;) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      const DoubleView Q = (*strip.Q)[l].view().block(0, 0, strip.P.rows, units), S = strip.S[l];
      at -= units * count;
      if (units == 0) continue;
      device_->slope(kind, Q, strip.g.columns(to, units), S);
      if (l > 0) device_->product(1, S, false, V[l].view(), false, 1, strip.g.columns(from, count));
      device_->row_products(S, strip.P.columns(from, count), strip.J.columns(at, units * count));
    }
  }

  // Features of all rows, a strip at a time; `unknowns` columns of a Jacobian where asked for.
  template <class Use>
  void over_strips(const Form& form, Index unknowns, const Control& control, const Use& use) {
    const FormLayout layout(form);
    const Device::Kind kind = form.plain ? Device::Kind::kRectified : Device::Kind::kAbsolute;
    const Index n = x_.view().rows, m = y_.view().cols;
    const double bytes = 8.0 * static_cast<double>(2 * layout.columns + unknowns + 1);
    const auto rows = static_cast<Index>(std::clamp(kJacobianBytes / bytes, 256.0, static_cast<double>(n)));
    const Doubles P(*device_, rows, layout.columns), g(*device_, rows, unknowns > 0 ? layout.columns : 0),
        J(*device_, rows, unknowns), E(*device_, rows, m);
    std::vector<Doubles> Q, S, V;
    for (const Matrix& v : form.V) {
      Q.emplace_back(*device_, rows, v.rows());
      S.emplace_back(*device_, rows, unknowns > 0 ? v.rows() : 0);
      V.push_back(sent(*device_, v));
    }
    for (Index column : layout.ones) device_->fill(P.view().columns(column, 1), 1.0);
    for (Index first = 0; first < n; first += rows) {
      control.check();
      const Index count = std::min(rows, n - first);
      Strip strip;
      strip.P = P.view().block(0, 0, count, layout.columns);
      strip.F = strip.P.columns(0, layout.features);
      strip.y = y_.view().block(first, 0, count, m);
      strip.J = J.view().block(0, 0, count, unknowns);
      strip.g = g.view().block(0, 0, count, g.view().cols);
      strip.E = E.view().block(0, 0, count, m);
      strip.Q = &Q;
      strip.layout = &layout;
      for (const Doubles& s : S) strip.S.push_back(s.view().block(0, 0, count, s.view().cols));
      device_->copy(x_.view().block(first, 0, count, layout.inputs.count),
                    strip.P.columns(layout.inputs.first, layout.inputs.count));
      for (std::size_t l = 0; l < form.depth(); ++l) {
        const auto [from, below] = layout.below[l];
        const auto [to, units] = layout.hidden[l];
        if (units == 0) continue;
        const DoubleView q = Q[l].view().block(0, 0, count, units);
        device_->product(1, strip.P.columns(from, below), false, V[l].view(), true, 0, q);
        device_->activate(kind, q, strip.P.columns(to, units));
      }
      use(strip);
    }
    device_->synchronise();
  }

  std::shared_ptr<Device> device_;
  Doubles x_, y_;
};

}  // namespace

std::unique_ptr<FormSums> device_sums(const std::shared_ptr<Device>& device, const DeepData& data) {
  return std::make_unique<LayerSumsOnDevice>(device, data);
}

}  // namespace exhume
