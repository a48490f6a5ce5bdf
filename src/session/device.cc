#include "session/device.h"

#include "data/resident.h"
#include "engine/open_device.h"

namespace exhume {

std::shared_ptr<Device> choose_device(const std::string& name, const SampleSource& samples,
                                      Index hidden_layers) {
  const bool worth = hidden_layers != 1 || name != "auto" ||
                     worth_a_device(samples.rows(), samples.inputs(), samples.outputs());
  return open_device(worth ? name : "cpu").device;
}

}  // namespace exhume
