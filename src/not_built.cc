// What stands for the library's later parts where EXHUME_PARTS is `first` (cmake/parts.cmake).
#include <stdexcept>

#include "exhume/memorize.h"
#include "exhume/papers/memorize.h"
#include "report/extraction_check.h"
#include "routes/depth2_jennrich.h"
#include "routes/route.h"
#include "session/generate.h"
#include "session/site_sums.h"

namespace exhume {
namespace {

[[noreturn]] void not_built(const char* what) {
  throw std::invalid_argument(std::string(what) +
                              " is not in this build, which has what `make demo` runs; "
                              "`make program` builds the rest");
}

}  // namespace

// Rows without a name are left out of the table.
Route deep_route() { return {}; }
Route rectified_any_route() { return {}; }
Route rectified_arbitrary_noise_route() { return {}; }
Route rectified_few_outputs_route() { return {}; }
Route rectified_ica_route() { return {}; }
Route rectified_noise_route() { return {}; }
Route rectified_sparse_noise_route() { return {}; }
Route rectified_symmetric_route() { return {}; }
Route rectified_tensor_route() { return {}; }
Route threshold_route() { return {}; }
Route threshold_sigmoid_route() { return {}; }

Generated generate_threshold(const GenerateOptions&, const Control&) {
  not_built("a planted layer with thresholds");
}
Generated generate_formula(const std::string&) { not_built("an instance of a formula"); }
PartialMoments read_moments(const std::vector<std::string>&) { not_built("a start from moments of several sites"); }

Matrix jennrich_start(const SamplePtr&, std::optional<Index>, std::uint64_t, const Control&) {
  not_built("the start by Jennrich's algorithm");
}
CertificateCheck check_extraction(const std::string&, const Network&, const std::string&, const Control&) {
  not_built("the check of an extraction");
}
CertificateCheck check_extraction(const std::string&, const Network&, const std::string&, const Control&) {
  not_built("the check of an extraction");
}

// Words of results that this build cannot make.
const char* to_string(DescentOutcome) { not_built("memorize"); }
const char* to_string(MemorizeMethod) { not_built("memorize"); }
const char* to_string(KernelSolver) { not_built("memorize"); }
const char* to_string(LowestActivation) { not_built("lowest-layer"); }

}  // namespace exhume
