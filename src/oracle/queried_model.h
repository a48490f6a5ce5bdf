// A model file as an oracle: .onnx, .safetensors, .npz, .nnet. Its weights are used in double precision.
#pragma once

#include <filesystem>

#include "exhume/oracle.h"

namespace exhume {

struct QueriedModel {
  OraclePtr oracle;
  Box domain{};  // what the file says that inputs may be; unbounded where it does not
};

// A classifier's head (softmax, its logarithm, sigmoid, tanh) at the end of an .onnx file is part of the
// oracle. Inputs of an .nnet file are normalised ones, and so are its ends.
[[nodiscard]] QueriedModel open_queried_model(const std::filesystem::path& path);

}  // namespace exhume
