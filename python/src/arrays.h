// NumPy arrays in and out.
//
//   in    Rows, Entries   views of C-contiguous float64 memory, from NumPy or any exporter of DLPack; no copy
//   out   array()         a new array that owns its memory; no second copy for row-major matrices
//         bytes()         a Python bytes object
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <utility>

#include "bindings.h"
#include "exhume/types.h"

namespace exhume::python {

using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Entries = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Array2 = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>;
using Array1 = nb::ndarray<nb::numpy, double, nb::ndim<1>, nb::c_contig>;

inline ConstRows map(const Rows& rows) {
  return {rows.data(), static_cast<Index>(rows.shape(0)), static_cast<Index>(rows.shape(1))};
}

inline Eigen::Map<const Vector> map(const Entries& entries) {
  return {entries.data(), static_cast<Index>(entries.shape(0))};
}

inline Array2 array(RowMatrix values) {
  auto kept = std::make_unique<RowMatrix>(std::move(values));
  RowMatrix* raw = kept.get();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<RowMatrix*>(p); });
  return Array2(raw->data(), {static_cast<size_t>(raw->rows()), static_cast<size_t>(raw->cols())}, owner);
}

inline Array1 array(Vector values) {
  auto kept = std::make_unique<Vector>(std::move(values));
  Vector* raw = kept.get();
  const nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<Vector*>(p); });
  return Array1(raw->data(), {static_cast<size_t>(raw->size())}, owner);
}

inline nb::bytes bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

}  // namespace exhume::python
