#include "exhume/files.h"

#include <fmt/format.h>

#include <stdexcept>

#include "io/npz.h"
#include "io/onnx.h"
#include "io/safetensors.h"
#include "io/tensors.h"

namespace exhume {

void save_network(const std::filesystem::path& path, const Network& network) {
  const std::string ending = path.extension().string();
  if (ending == ".onnx") {
    write_onnx(path, network);
  } else if (ending == ".npz") {
    write_npz(path, to_tensors(network));
  } else if (ending == ".safetensors") {
    write_network(path, network);
  } else {
    throw std::invalid_argument(
        fmt::format("{} is not a .safetensors, .npz or .onnx file; name one", path.string()));
  }
}

}  // namespace exhume
