// What the module papers has: routes that follow a paper to the letter, those of papers rectified and
// threshold, the samples that go with them, and the checks of their results.
#include "report/judgement_check.h"
#include "report/papers/layer_check.h"
#include "report/papers/memorize_check.h"
#include "routes/route.h"
#include "session/generate.h"

namespace exhume {

Route depth2_jennrich_route();
Route rectified_any_route();
Route rectified_arbitrary_noise_route();
Route rectified_few_outputs_route();
Route rectified_ica_route();
Route rectified_noise_route();
Route rectified_sparse_noise_route();
Route rectified_symmetric_route();
Route rectified_tensor_route();
Route threshold_route();
Route threshold_sigmoid_route();

Generated plant_formula(const std::string& cnf);
Generated plant_threshold_layer(const GenerateOptions& options, const Control& control);

void register_papers() {
  generate_formula.fill(plant_formula);
  generate_threshold.fill(plant_threshold_layer);
  check_layer_again.fill(check_layer_by_learning);
  check_memorized_again.fill(check_memorized_by_rows);
  add_routes({depth2_jennrich_route(), rectified_any_route(), rectified_ica_route(), rectified_tensor_route(),
              rectified_symmetric_route(), rectified_noise_route(), rectified_few_outputs_route(),
              rectified_arbitrary_noise_route(), rectified_sparse_noise_route(), threshold_route(),
              threshold_sigmoid_route()});
}

}  // namespace exhume
