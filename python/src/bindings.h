// The extension module exhume._core: the library as Python sees it, one file per subject.
//
// Only shapes, types and lifetimes are dealt with here. Names, defaults and documentation that users meet are
// in python/package/exhume/*.py, which call these functions.
#pragma once

#include <nanobind/nanobind.h>

namespace exhume::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_network(nb::module_& m);
void bind_samples(nb::module_& m);
void bind_samples_verbs(nb::module_& m);
void bind_recover(nb::module_& m);
void bind_documents(nb::module_& m);
void bind_extract(nb::module_& m);
void bind_compare(nb::module_& m);
void bind_generate(nb::module_& m);
void bind_memorize(nb::module_& m);
void bind_threshold(nb::module_& m);
void bind_structure(nb::module_& m);
void bind_distributed(nb::module_& m);

}  // namespace exhume::python
