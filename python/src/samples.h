// A source of samples that keeps the arrays behind it alive.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "base/passes.h"
#include "exhume/certificate.h"
#include "exhume/samples.h"
#include "io/open.h"

namespace exhume::python {

struct Samples {
  SamplePtr source;
  Rows x, y;                                           // empty for samples in files
  Rows mirrored;                                       // outputs at -x; empty where there are none in memory
  OpenedSamples opened;                                // empty for samples in memory
  std::vector<std::string> input_names, output_names;  // of the columns, where they have some
  std::shared_ptr<Passes> passes;  // who shares or remembers the passes over them; empty: nobody

  [[nodiscard]] std::vector<FileDigest> digests() const { return opened.digests({}); }
  // What the data are called, and what was noticed about them.
  void describe(Certificate& certificate) const;
};

}  // namespace exhume::python
