// Rows seen through a separable model (model/separable_model.h) on a device.
//
//     Z = X W^T + 1 b^T: rows x k      F = (phi(Z), [X], 1): rows x q
#pragma once

#include "engine/device.h"
#include "engine/transfer.h"
#include "model/separable_model.h"

namespace exhume {

class DeviceFeatures {
 public:
  using Doubles = DeviceMatrix<double>;
  using View = DeviceView<double>;

  // Which models there may be: units |z| or max(z, 0).
  [[nodiscard]] static bool may_run(const SeparableModel& model) { return !model.rectifier; }

  // Place for at most so many rows.
  DeviceFeatures(Device& device, const SeparableModel& model, Index rows)
      : device_(device),
        kind_(model.activation == Activation::kRelu ? Device::Kind::kRectified : Device::Kind::kAbsolute),
        linear_(model.linear_term),
        k_(model.units()),
        d_(model.inputs()),
        V_(sent(device, model.V)),
        C_(sent(device, model.C)),
        Z_(device, rows, k_),
        F_(device, rows, model.features()) {
    device.fill(F_.view().columns(model.features() - 1, 1), 1.0);
  }

  // Features of the rows of X (at most as many as there is place for): the first rows of Z and F.
  View make(const View& X) const {
    const View z = Z(X.rows), f = F(X.rows);
    if (k_ > 0) {
      device_.fill_rows(z, View{V_.data() + k_ * d_, 1, k_, 1});
      device_.product(1, X, false, V_.view().columns(0, d_), true, 1, z);
      device_.activate(kind_, z, f.columns(0, k_));
    }
    if (linear_) device_.copy(X, f.columns(k_, d_));
    return f;
  }
  // Y -= what the model says at the rows of X.
  void subtract(const View& X, const View& Y) const {
    device_.product(-1, make(X), false, C_.view(), false, 1, Y);
  }

  [[nodiscard]] View Z(Index rows) const { return Z_.view().block(0, 0, rows, k_); }
  [[nodiscard]] View F(Index rows) const { return F_.view().block(0, 0, rows, F_.view().cols); }
  [[nodiscard]] View C() const { return C_.view(); }
  [[nodiscard]] View C_units() const { return C_.view().block(0, 0, k_, C_.view().cols); }
  [[nodiscard]] Device::Kind kind() const { return kind_; }

 private:
  Device& device_;
  Device::Kind kind_;
  bool linear_;
  Index k_, d_;
  Doubles V_, C_, Z_, F_;
};

}  // namespace exhume
