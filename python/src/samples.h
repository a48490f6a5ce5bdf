// A source of samples that keeps the arrays behind it alive.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "arrays.h"
#include "base/passes.h"
#include "io/open.h"

namespace exhume::python {

struct Samples {
  OpenedSamples opened{};            // the rows, the names of their columns, and the files behind them
  Rows x{}, y{};                     // the memory that `opened` looks at; empty for samples in files
  Rows mirrored{};                   // outputs at -x; empty where there are none in memory
  std::shared_ptr<Passes> passes{};  // who shares the passes over them; empty: nobody

  [[nodiscard]] const SamplePtr& source() const { return opened.samples; }
  // What tells samples in memory from others: the digests of their numbers. Absent for others.
  [[nodiscard]] std::optional<std::vector<FileDigest>> identity() const;
};

}  // namespace exhume::python
