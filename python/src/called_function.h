// A Python function as an oracle: rows of queries in, rows of answers out.
#pragma once

#include <exception>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "exhume/error.h"

namespace exhume::python {

// function(x: n x d array) -> n x m array of float64, called with the GIL. What it raises ends the work with
// Interrupted; rethrow() then gives the caller the exception itself.
class CalledFunction {
 public:
  explicit CalledFunction(nb::object function) : function_(std::move(function)) {}

  RowMatrix operator()(const Eigen::Ref<const RowMatrix>& x) {
    const nb::gil_scoped_acquire held;
    try {
      const Rows rows = nb::cast<Rows>(function_(array(RowMatrix(x))));
      return map(rows);
    } catch (...) {
      raised_ = std::current_exception();
      throw Interrupted();
    }
  }
  void rethrow() const {
    if (raised_) std::rethrow_exception(raised_);
  }

 private:
  nb::object function_;
  std::exception_ptr raised_;
};

}  // namespace exhume::python
