// What the module deep has: the route to several hidden layers, and their judgement again.
#include "routes/deep/deep_route.h"
#include "routes/judge_again.h"

namespace exhume {

Judged judge_layers_again(const Network& network, const SamplePtr& samples, const Claim& claim,
                          const Control& control);

void register_deep() {
  add_routes({deep_route()});
  judge_deep_again.fill(judge_layers_again);
}

}  // namespace exhume
