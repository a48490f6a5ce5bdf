// A network's outputs on an array: blocks of rows by several threads, so that the hidden layers of all rows
// are never in memory at once. Net: anything with inputs(), outputs() and evaluate(net, rows).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "arrays.h"
#include "base/parallel.h"
#include "call.h"

namespace exhume::python {

template <class Net>
Array2 values(const Net& network, const Rows& x, int threads) {
  const ConstRows rows = map(x);
  if (rows.cols() != network.inputs()) {
    throw std::invalid_argument(
        fmt::format("x has {} columns, but the network has {} inputs", rows.cols(), network.inputs()));
  }
  Call call(threads, nb::none());
  return array(call.run([&](const Control& control) {
    RowMatrix out(rows.rows(), network.outputs());
    const Index blocks = (rows.rows() + kBlockRows - 1) / kBlockRows;
    parallel_for(blocks, control, [&](Index i) {
      const Index first = i * kBlockRows, count = std::min(kBlockRows, rows.rows() - first);
      out.middleRows(first, count) = evaluate(network, rows.middleRows(first, count));
    });
    return out;
  }));
}

}  // namespace exhume::python
