#include "session/papers/layer_files.h"

#include <algorithm>

#include "base/parallel.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace exhume {

UnitProfiles add_layer(Delivery& delivery, const LowestLayer& layer, const SampleSource& samples,
                       const Control& control) {
  UnitProfiles profiles = unit_profiles(layer, samples, control);
  if (!delivery.writes()) return profiles;
  Tensors tensors;
  tensors.add("W", layer.W);
  tensors.add("t", layer.t);
  tensors.add("W_step1", layer.start);
  tensors.metadata = {{"activation", to_string(layer.activation)}};
  delivery.add({"units", "units.safetensors", safetensors_bytes(tensors)});
  delivery.add({"picture", "units.svg", units_picture(profiles)});
  return profiles;
}

void write_features(AtomicFile& file, const LowestLayer& layer, const SampleSource& samples,
                    const Control& control) {
  NpyWriter writer(file, samples.rows(), layer.W.rows());
  SampleBlock block;
  for (Index first = 0; first < samples.rows(); first += kBlockRows) {
    control.check();
    samples.read(first, std::min(kBlockRows, samples.rows() - first), block);
    writer.append(lowest_layer_features(layer.W, layer.t, layer.activation, block.x()));
    control.report("features",
                   static_cast<double>(first + block.rows()) / static_cast<double>(samples.rows()));
  }
  writer.finish();
}

}  // namespace exhume
