// Rows seen through a form with one hidden layer (model/form.h) on a device.
//
//     Z = X W^T + 1 b^T: rows x k      F = (phi(Z), [X], 1): rows x q
#pragma once

#include "engine/device.h"
#include "engine/transfer.h"
#include "model/form.h"

namespace exhume {

class DeviceFeatures {
 public:
  using Doubles = DeviceMatrix<double>;
  using View = DeviceView<double>;

  // Which forms there may be: units |z| or max(z, 0).
  [[nodiscard]] static bool may_run(const Form& form) { return !form.rectifier; }

  // Place for at most so many rows.
  DeviceFeatures(Device& device, const Form& form, Index rows)
      : device_(device),
        kind_(form.activation() == Activation::kRelu ? Device::Kind::kRectified : Device::Kind::kAbsolute),
        linear_(!form.plain),
        k_(form.units()),
        d_(form.inputs),
        V_(sent(device, form.V[0])),
        C_(sent(device, form.C)),
        Z_(device, rows, k_),
        F_(device, rows, form.features()) {
    device.fill(F_.view().columns(form.features() - 1, 1), 1.0);
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
  // Y -= what the form says at the rows of X.
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
