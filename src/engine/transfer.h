// Matrices on a device: made there, sent, fetched.
#pragma once

#include "engine/device.h"
#include "exhume/types.h"

namespace exhume {

[[nodiscard]] inline DeviceMatrix<double> zeros(Device& device, Index rows, Index cols) {
  DeviceMatrix<double> out(device, rows, cols);
  device.fill(out.view(), 0.0);
  return out;
}

[[nodiscard]] inline DeviceMatrix<double> sent(Device& device, const Matrix& A) {
  DeviceMatrix<double> out(device, A.rows(), A.cols());
  upload(device, A.data(), A.rows(), out.view());
  return out;
}

[[nodiscard]] inline Matrix fetched(Device& device, const DeviceView<double>& A) {
  Matrix out(A.rows, A.cols);
  download(device, A, out.data(), A.rows);
  return out;
}

}  // namespace exhume
