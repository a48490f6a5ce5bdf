// An ONNX file as a network (io/onnx_reader.h). A network that was read and written again is the same.
#include "io/onnx_reader.h"

#include "io/onnx.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

void onnx(std::string_view bytes) {
  Network network;
  if (!accepted([&] { network = parse_onnx(bytes, "input.onnx", {.largest_product = 1 << 16}); })) return;
  network.validate();
  Network again;
  expect(accepted([&] { again = parse_onnx(onnx_bytes(network), "again.onnx"); }),
         "a network that was written is refused");
  expect(again.layers.size() == network.layers.size(),
         "a network that was written and read has other layers");
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer &p = network.layers[l], &q = again.layers[l];
    expect(p.W == q.W && p.b == q.b && p.L.size() == q.L.size() && (p.L.size() == 0 || p.L == q.L),
           "a network that was written and read again has other weights");
  }
}

const Registration registration("onnx", onnx);

}  // namespace
}  // namespace exhume::fuzz
