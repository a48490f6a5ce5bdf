// A .safetensors file (io/safetensors.h): its tensors, and whichever model they are (io/open.h). Tensors, and
// networks of any depth, that were read and written again are the same.
#include "io/safetensors.h"

#include <variant>

#include "certify/certificate_check.h"
#include "exhume/samples.h"
#include "io/open.h"
#include "io/tensors.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr Index kMostInputs = 64;

// Three rows for a model that takes so few inputs; a refusal is as good.
void evaluate(const StoredModel& model) {
  const auto shape = std::visit(
      [](const auto& m) -> std::pair<Index, Index> {
        using Model = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<Model, RectifiedNetwork>) {
          return {m.network.inputs(), m.network.outputs()};
        } else if constexpr (std::is_same_v<Model, StoredLayer>) {
          return {m.W.cols(), 1};
        } else {
          return {m.inputs(), m.outputs()};
        }
      },
      model);
  if (shape.first > kMostInputs || shape.second > kMostInputs || shape.first < 1 || shape.second < 1) return;
  const SamplePtr rows =
      memory_samples(RowMatrix::Random(3, shape.first), RowMatrix::Random(3, shape.second));
  accepted([&] { (void)verify_model(model, *rows); });
}

void safetensors(std::string_view bytes) {
  const std::filesystem::path file = file_with(bytes, "safetensors");
  Tensors tensors;
  if (accepted([&] { tensors = read_safetensors(file); })) {
    const std::string written = safetensors_bytes(tensors);
    const Tensors again = read_safetensors(file_with(written, "again.safetensors"));
    expect(again.metadata == tensors.metadata, "metadata that were written and read again differ");
    expect(safetensors_bytes(again) == written, "tensors that were written and read again differ");
  }
  Network network;
  if (accepted([&] { network = open_network(file); })) {
    network.validate();
    const std::string written = network_bytes(network);
    const Tensors again = read_safetensors(file_with(written, "again.safetensors"));
    expect(network_bytes(to_network(again, "again")) == written,
           "a network that was written and read again differs");
  }
  StoredModel model;
  if (accepted([&] { model = open_model(file); })) evaluate(model);
}

const Registration registration("safetensors", safetensors);

}  // namespace
}  // namespace exhume::fuzz
