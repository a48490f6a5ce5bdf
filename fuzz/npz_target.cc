// A .npz archive (io/npz.h): all its arrays, samples, and a network. Arrays that were read and written again
// are the same.
#include "io/npz.h"

#include <cstring>

#include "io/digest.h"
#include "io/tensors.h"
#include "io/weight_names.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr NpzOptions kLittle{.memory_limit = std::uint64_t{32} << 20};

bool same(const Tensors& a, const Tensors& b) {
  if (a.list.size() != b.list.size()) return false;
  for (std::size_t i = 0; i < a.list.size(); ++i) {
    const StoredTensor &s = a.list[i], &t = b.list[i];
    if (s.name != t.name || s.shape != t.shape || s.data.size() != t.data.size()) return false;
    // Bits, as NaN is passed on.
    if (!s.data.empty() && std::memcmp(s.data.data(), t.data.data(), s.data.size() * sizeof(double)) != 0)
      return false;
  }
  return true;
}

void npz(std::string_view bytes) {
  const std::filesystem::path file = file_with(bytes, "npz");
  Tensors tensors;
  if (accepted([&] { tensors = read_npz(file, kLittle); })) {
    const std::string written = npz_bytes(tensors);
    expect(same(read_npz(file_with(written, "again.npz"), kLittle), tensors),
           "arrays that were written and read again differ");
  }
  SamplePtr samples;
  std::string digest;
  if (accepted([&] { samples = read_samples_npz(file, kLittle, &digest); })) {
    expect(digest == sha256(bytes), "the digest is not that of the bytes");
    SampleBlock block;
    samples->read(0, samples->rows(), block);
    expect(block.x().allFinite() && block.y().allFinite(), "a number that is not finite was handed out");
  }
  Network network;
  if (accepted([&] { network = to_network(read_npz(file, kLittle), "input.npz"); })) network.validate();
  if (accepted([&] { network = network_of_weights(read_npz(file, kLittle), "input.npz"); }))
    network.validate();
}

const Registration registration("npz", npz);

}  // namespace
}  // namespace exhume::fuzz
