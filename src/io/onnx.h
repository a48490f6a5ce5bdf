// A network as an ONNX model that any runtime can evaluate.
//
//   x: n x d ──Gemm(W, b)── Relu ──Gemm(A, c)──► y: n x m
//        └─────────Gemm(L)───────────Add───┘     only where there is a linear term
//
// Several hidden layers: Gemm and Relu as often as there are layers; a skip term is Concat(x, h_1, ...), Gemm
// with L, and Add. io/onnx_reader.h reads these files back.
//
// n is symbolic. Double precision by default; single where a runtime has no double kernels.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exhume/network.h"
#include "io/onnx_graph.h"

namespace exhume {

// Throws std::invalid_argument for a network whose shapes do not fit, and for
// weights beyond single precision.
[[nodiscard]] std::string onnx_bytes(const Network& network,
                                     OnnxPrecision precision = OnnxPrecision::kDouble);
void write_onnx(const std::filesystem::path& path, const Network& network,
                OnnxPrecision precision = OnnxPrecision::kDouble);

// An ONNX model with the names of its inputs and outputs as metadata, "input_names" and "output_names", each
// a JSON list; the same bytes where there are none.
[[nodiscard]] std::string with_names(std::string onnx, const std::vector<std::string>& inputs,
                                     const std::vector<std::string>& outputs);

}  // namespace exhume
