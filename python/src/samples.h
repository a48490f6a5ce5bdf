// A source of samples that keeps the arrays behind it alive.
#pragma once

#include "arrays.h"
#include "exhume/data/samples.h"

namespace exhume::python {

struct Samples {
  SamplePtr source;
  Rows x, y;  // empty for samples in files
};

}  // namespace exhume::python
