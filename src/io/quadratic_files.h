// Quadratic networks in files that other programs read.
//
//   .safetensors   F64 tensors W (r x k), A (m x r) and, in three layers, R (k x d); metadata
//                  "activation": "square" and, in three layers, "first_activation": "power", "power": "2"
//   .onnx          x -Gemm(R)- Mul.. -Gemm(W)- Mul -Gemm(A)-> y, powers by multiplication, double precision
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "exhume/papers/memorize.h"
#include "exhume/samples.h"
#include "io/onnx_graph.h"
#include "io/tensors.h"

namespace exhume {

[[nodiscard]] Tensors to_tensors(const QuadraticNetwork& network);
// Whether the tensors' metadata name the square activation: then they are a QuadraticNetwork.
[[nodiscard]] bool is_quadratic(const Tensors& tensors);
// Throws DataError unless they are exactly W, A and perhaps R, with shapes that fit and finite entries.
[[nodiscard]] QuadraticNetwork to_quadratic_network(const Tensors& tensors, const std::string& file);

[[nodiscard]] std::string onnx_bytes(const QuadraticNetwork& network,
                                     OnnxPrecision precision = OnnxPrecision::kDouble);

}  // namespace exhume
