// exhume._core: errors, version, and the other files' bindings.
#include <nanobind/stl/string.h>

#include "base/blas.h"
#include "bindings.h"
#include "exhume/error.h"
#include "exhume/version.h"

namespace exhume::python {

void bind_errors(nb::module_& m) {
  const nb::exception<DataError> data(m, "DataError", PyExc_ValueError);
  data.attr("__doc__") =
      "Data that cannot be used: one sentence that names the place and the remedy. A ValueError.";
  const nb::exception<ResourceError> resource(m, "ResourceError", PyExc_RuntimeError);
  resource.attr("__doc__") = "A limit of the machine was reached: memory, disk. A RuntimeError.";
  const nb::exception<Interrupted> interrupted(m, "Interrupted", PyExc_RuntimeError);
  interrupted.attr("__doc__") = "The work was stopped; nothing was written. A RuntimeError.";
}

}  // namespace exhume::python

NB_MODULE(_core, m) {
  using namespace exhume::python;
  m.doc() = "The library behind the package exhume. Private: use exhume itself.";
  m.def("version", [] { return exhume::kVersion; });
  m.def("blas_kernels", &exhume::blas_kernels);
  m.def("better_blas_kernels", &exhume::better_blas_kernels);
  bind_errors(m);
  bind_network(m);
  bind_samples(m);
  bind_samples_verbs(m);
  bind_recover(m);
  bind_documents(m);
  bind_extract(m);
  bind_compare(m);
  bind_generate(m);
  bind_memorize(m);
  bind_threshold(m);
  bind_structure(m);
  bind_distributed(m);
}
