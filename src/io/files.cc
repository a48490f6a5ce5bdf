#include "exhume/files.h"

#include <fmt/format.h>

#include <stdexcept>

#include "io/onnx.h"
#include "io/safetensors.h"

namespace exhume {

void save_network(const std::filesystem::path& path, const Network& network) {
  const std::string ending = path.extension().string();
  if (ending == ".onnx") {
    write_onnx(path, network);
  } else if (ending == ".safetensors") {
    write_network(path, network);
  } else {
    throw std::invalid_argument(
        fmt::format("{} is neither a .safetensors nor an .onnx file; name one", path.string()));
  }
}

}  // namespace exhume
