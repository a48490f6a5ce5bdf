#include "io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/finite.h"
#include "io/narrow_floats.h"
#include "io/random_access_file.h"
#include "io/safetensors_header.h"
#include "io/shape.h"
#include "io/tensors.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "raw numbers are written as they lie in memory");

constexpr std::uint64_t kLongestHeader = 100'000'000;

void validate(const Tensors& tensors) {
  std::set<std::string> names{"__metadata__"};
  for (const StoredTensor& tensor : tensors.list) {
    if (!names.insert(tensor.name).second) {
      throw std::invalid_argument(
          fmt::format("safetensors: the name '{}' is reserved or used twice", tensor.name));
    }
    const bool negative =
        std::any_of(tensor.shape.begin(), tensor.shape.end(), [](Index e) { return e < 0; });
    if (negative || array_bytes(tensor.shape, 8) != tensor.data.size() * 8) {
      throw std::invalid_argument(fmt::format("safetensors: '{}' has {} numbers but shape {}", tensor.name,
                                              tensor.data.size(), show_shape(tensor.shape)));
    }
  }
}

// The header, and where the buffer starts.
struct FileLayout {
  SafetensorsHeader header;
  std::uint64_t start = 0;
};

// Looks at the length before anything is allocated.
FileLayout read_header(const RandomAccessFile& file) {
  const std::string& name = file.name();
  std::uint64_t length = 0;
  if (file.size() < sizeof length) {
    throw DataError(
        fmt::format("{} is cut off: it has only {} bytes; copy or save it again", name, file.size()));
  }
  file.read(0, &length, sizeof length);
  if (length > kLongestHeader) {
    throw DataError(
        fmt::format("{} claims a header of {} bytes, more than {}; it is damaged or not a .safetensors file, "
                    "so check the path",
                    name, length, kLongestHeader));
  }
  if (length > file.size() - sizeof length) {
    throw DataError(fmt::format("{} is cut off inside its header; copy or save it again", name));
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  file.read(sizeof length, json.data(), length);
  return {parse_safetensors_header(json, name), sizeof length + length};
}

// 0: a type that is not read.
std::size_t bytes_per_number(const std::string& dtype) {
  return dtype == "F64" ? 8 : dtype == "F32" ? 4 : dtype == "F16" || dtype == "BF16" ? 2 : 0;
}

// Throws unless the entries, in the order of their offsets, cover the buffer without gap or overlap and each
// is as long as its shape and type say.
void check_entries(const std::vector<TensorEntry>& entries, std::uint64_t buffer, const std::string& name) {
  std::uint64_t expected = 0;
  for (const TensorEntry& entry : entries) {
    const std::size_t size = bytes_per_number(entry.dtype);
    if (size == 0) {
      throw DataError(fmt::format("{}: '{}' has dtype {}; save it as F64, F32, F16 or BF16", name, entry.name,
                                  entry.dtype));
    }
    const auto bytes = array_bytes(entry.shape, size);
    if (!bytes || !array_bytes(entry.shape, 8)) {  // all are held as double
      throw DataError(
          fmt::format("{}: '{}' claims a shape that no memory can hold, {}; save the network again", name,
                      entry.name, show_shape(entry.shape)));
    }
    if (entry.begin != expected) {
      throw DataError(
          fmt::format("{}: the data of '{}' start at byte {} of the buffer but should at {}; there is a gap "
                      "or an overlap, so save the network again",
                      name, entry.name, entry.begin, expected));
    }
    if (entry.end < entry.begin || entry.end - entry.begin != *bytes) {
      throw DataError(
          fmt::format("{}: '{}' of shape {} needs {} bytes but its data_offsets are [{}, {}]; save the "
                      "network again",
                      name, entry.name, show_shape(entry.shape), *bytes, entry.begin, entry.end));
    }
    expected = entry.end;
  }
  if (expected > buffer) {
    throw DataError(
        fmt::format("{} is cut off: its tensors need {} bytes and {} are there; copy or save it again", name,
                    expected, buffer));
  }
  if (expected < buffer) {
    throw DataError(
        fmt::format("{} has {} bytes that belong to no tensor; it is damaged, so save the network again",
                    name, buffer - expected));
  }
}

StoredTensor read_tensor(const RandomAccessFile& file, std::uint64_t start, TensorEntry entry) {
  StoredTensor tensor{std::move(entry.name), std::move(entry.shape), {}};
  const std::uint64_t bytes = entry.end - entry.begin;
  if (entry.dtype == "F64") {
    tensor.data.resize(bytes / 8);
    file.read(start + entry.begin, tensor.data.data(), bytes);
  } else if (entry.dtype == "F32") {
    std::vector<float> single(bytes / 4);
    file.read(start + entry.begin, single.data(), bytes);
    tensor.data.assign(single.begin(), single.end());
  } else {
    std::vector<std::uint16_t> narrow(bytes / 2);
    file.read(start + entry.begin, narrow.data(), bytes);
    const auto number = entry.dtype == "F16" ? from_half : from_bfloat;
    tensor.data.resize(narrow.size());
    std::transform(narrow.begin(), narrow.end(), tensor.data.begin(), number);
  }
  const std::size_t bad = first_not_finite(tensor.data.data(), tensor.data.size());
  if (bad < tensor.data.size()) {
    throw DataError(fmt::format("{}: '{}' is {} at {}; weights must be finite, so save the network again",
                                file.name(), tensor.name, name_not_finite(tensor.data[bad]),
                                show_position(tensor.shape, bad)));
  }
  return tensor;
}

std::string with_metadata(Tensors tensors, const std::map<std::string, std::string>& metadata) {
  tensors.metadata.insert(metadata.begin(), metadata.end());
  return safetensors_bytes(tensors);
}

}  // namespace

std::string safetensors_bytes(const Tensors& tensors) {
  validate(tensors);
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!tensors.metadata.empty()) {
    auto& metadata = header["__metadata__"] = nlohmann::ordered_json::object();
    for (const auto& [key, value] : tensors.metadata) metadata[key] = value;
  }
  std::uint64_t offset = 0;
  for (const StoredTensor& tensor : tensors.list) {
    const std::uint64_t end = offset + tensor.data.size() * sizeof(double);
    auto& entry = header[tensor.name] = nlohmann::ordered_json::object();
    entry["dtype"] = "F64";
    entry["shape"] = tensor.shape;
    entry["data_offsets"] = {offset, end};
    offset = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw std::invalid_argument("safetensors: a name or a metadata text is not valid UTF-8");
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kLongestHeader) {
    throw std::invalid_argument(fmt::format("safetensors: a header of {} bytes, at most {} are allowed",
                                            text.size(), kLongestHeader));
  }
  const std::uint64_t length = text.size();
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.reserve(sizeof length + text.size() + offset);
  bytes += text;
  for (const StoredTensor& tensor : tensors.list) {
    bytes.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(double));
  }
  return bytes;
}

void write_safetensors(const std::filesystem::path& path, const Tensors& tensors) {
  write_file(path, safetensors_bytes(tensors));
}

Tensors read_safetensors(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  FileLayout layout = read_header(file);
  std::vector<TensorEntry>& entries = layout.header.entries;
  std::stable_sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_entries(entries, file.size() - layout.start, file.name());
  Tensors tensors;
  tensors.metadata = std::move(layout.header.metadata);
  for (TensorEntry& entry : entries)
    tensors.list.push_back(read_tensor(file, layout.start, std::move(entry)));
  return tensors;
}

std::string network_bytes(const Network& network, const std::map<std::string, std::string>& metadata) {
  return with_metadata(to_tensors(network), metadata);
}

void write_network(const std::filesystem::path& path, const Network& network,
                   const std::map<std::string, std::string>& metadata) {
  write_file(path, network_bytes(network, metadata));
}

}  // namespace exhume
