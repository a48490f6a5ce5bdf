// A network as text (io/nnet.h): what is accepted is a network, and its domain a box or none.
#include "io/nnet.h"

#include <cmath>

#include "target.h"

namespace exhume::fuzz {
namespace {

void nnet(std::string_view bytes) {
  NnetFile file;
  if (!accepted([&] { file = parse_nnet(bytes, "input.nnet"); })) return;
  expect(file.network.inputs() > 0 && file.network.outputs() > 0, "a network without inputs or outputs");
  if (file.network.depth() > 0) file.network.validate();
  file.domain.validate();
  if (file.domain.per_input()) file.domain.validate(file.network.inputs());
}

const Registration registration("nnet", nnet);

}  // namespace
}  // namespace exhume::fuzz
