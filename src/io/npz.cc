#include "io/npz.h"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <new>
#include <set>
#include <stdexcept>

#include "exhume/error.h"
#include "io/atomic_file.h"
#include "io/finite.h"
#include "io/npy.h"
#include "io/shape.h"
#include "io/zip_archive.h"

namespace exhume {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr std::uint64_t kInflated = std::uint64_t{1}
                                    << 18;  // bytes inflated at a time, whole numbers of any type

// Where the number at position `flat` of Fortran order lies in C order.
std::uint64_t row_major_position(std::uint64_t flat, const std::vector<Index>& shape) {
  std::uint64_t position = 0;
  for (const Index extent : shape) {
    const auto size = static_cast<std::uint64_t>(extent);
    position = position * size + flat % size;
    flat /= size;
  }
  return position;
}

std::vector<double> to_row_major(const std::vector<double>& data, const std::vector<Index>& shape) {
  std::vector<double> sorted(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) sorted[row_major_position(i, shape)] = data[i];
  return sorted;
}

class NpzReader {
 public:
  NpzReader(const std::filesystem::path& path, const NpzOptions& options)
      : archive_(path), memory_left_(options.memory_limit), memory_limit_(options.memory_limit) {}

  const std::string& file() const { return archive_.name(); }

  // Entries that are arrays, by name without suffix.
  std::vector<std::pair<std::string, const ZipEntry*>> arrays() const {
    std::vector<std::pair<std::string, const ZipEntry*>> found;
    for (const ZipEntry& entry : archive_.entries()) {
      if (entry.name.size() > kSuffix.size() && entry.name.ends_with(kSuffix)) {
        found.emplace_back(entry.name.substr(0, entry.name.size() - kSuffix.size()), &entry);
      }
    }
    return found;
  }

  StoredTensor read(const std::string& name, const ZipEntry& entry) {
    const std::string where = fmt::format("{} (array '{}')", file(), name);
    ZipArchive::Stream stream(archive_, entry);
    std::string start(static_cast<std::size_t>(std::min(kNpyHeaderCap, entry.size)), '\0');
    start.resize(static_cast<std::size_t>(stream.read(start.data(), start.size())));
    const NpyArray array = parse_npy_header(start, where);
    const std::uint64_t expected = array.data_offset + array.data_bytes();
    if (entry.size != expected) {
      throw DataError(fmt::format("{} {}: it has {} bytes but its header promises {}; save it again", where,
                                  entry.size < expected ? "is cut off" : "has bytes after its end",
                                  entry.size, expected));
    }
    const std::uint64_t elements = array.elements();
    if (elements > memory_left_ / sizeof(double)) {
      throw ResourceError(
          fmt::format("{} has shape {}, and with it the arrays need more than the {} MiB allowed; save "
                      "the arrays as .npy files, which are read piece by piece",
                      where, show_shape(array.shape), memory_limit_ >> 20));
    }
    memory_left_ -= elements * sizeof(double);

    StoredTensor tensor{name, array.shape, {}};
    try {
      tensor.data.resize(static_cast<std::size_t>(elements));
      fill(stream, std::move(start), array, where, tensor);
      if (array.fortran_order && array.shape.size() > 1) tensor.data = to_row_major(tensor.data, array.shape);
    } catch (const std::bad_alloc&) {
      throw ResourceError(
          fmt::format("{} has shape {} and does not fit into memory; save the arrays as .npy files, "
                      "which are read piece by piece",
                      where, show_shape(array.shape)));
    }
    return tensor;
  }

  [[nodiscard]] std::string digest() const { return archive_.digest(); }

 private:
  void fill(ZipArchive::Stream& stream, std::string bytes, const NpyArray& array, const std::string& where,
            StoredTensor& tensor) {
    const std::uint64_t item = static_cast<std::uint64_t>(array.dtype.size);
    bytes.erase(0, static_cast<std::size_t>(array.data_offset));
    std::uint64_t done = 0;
    while (true) {
      const std::uint64_t whole = std::min(bytes.size() / item, tensor.data.size() - done);
      const std::size_t bad = npy_to_double(array.dtype, bytes.data(), whole, tensor.data.data() + done);
      if (bad < whole) {
        const std::uint64_t flat =
            array.fortran_order ? row_major_position(done + bad, array.shape) : done + bad;
        throw DataError(
            fmt::format("{} is a whole number beyond 2^53 at {} (counting from 0), which double precision "
                        "cannot hold exactly; rescale it",
                        where, show_position(array.shape, flat)));
      }
      done += whole;
      bytes.erase(0, static_cast<std::size_t>(whole * item));
      const std::size_t kept = bytes.size();
      bytes.resize(kept + kInflated);
      const std::uint64_t got =
          stream.read(bytes.data() + kept, kInflated);  // the last call also checks the checksum
      bytes.resize(kept + static_cast<std::size_t>(got));
      if (got == 0) break;
      if (done == tensor.data.size()) {
        throw DataError(fmt::format("{} has bytes after its end; save it again", where));
      }
    }
    if (done != tensor.data.size() || !bytes.empty()) {
      throw DataError(fmt::format("{} ends before its header says; copy or save it again", where));
    }
  }

  ZipArchive archive_;
  std::uint64_t memory_left_, memory_limit_;
};

// The array of one of two names as rows x columns, finite.
RowMatrix read_rows(NpzReader& npz, const std::string& lower, const std::string& upper) {
  const ZipEntry* found = nullptr;
  std::string name, listing;
  for (const auto& [array, entry] : npz.arrays()) {
    listing += fmt::format("{}{}", listing.empty() ? "" : ", ", array);
    if (array != lower && array != upper) continue;
    if (found) {
      throw DataError(fmt::format("{} holds both '{}' and '{}'; keep one of them", npz.file(), lower, upper));
    }
    found = entry;
    name = array;
  }
  if (!found) {
    throw DataError(
        fmt::format("{} holds no array '{}' (it holds: {}); save it with numpy.savez(file, x=inputs, "
                    "y=outputs)",
                    npz.file(), lower, listing.empty() ? "no arrays" : listing));
  }
  const StoredTensor tensor = npz.read(name, *found);
  const std::string where = fmt::format("{} (array '{}')", npz.file(), name);
  if (tensor.shape.size() != 1 && tensor.shape.size() != 2) {
    throw DataError(fmt::format("{} has {} dimensions, shape {}; reshape it to rows x columns", where,
                                tensor.shape.size(), show_shape(tensor.shape)));
  }
  const Index rows = tensor.shape[0], cols = tensor.shape.size() == 1 ? 1 : tensor.shape[1];
  if (rows == 0 || cols == 0) {
    throw DataError(fmt::format("{} is empty: it has {} rows and {} columns; give at least one of each",
                                where, rows, cols));
  }
  const std::size_t bad = first_not_finite(tensor.data.data(), tensor.data.size());
  if (bad < tensor.data.size()) {
    const Index at = static_cast<Index>(bad);
    throw DataError(fmt::format("{}: row {}, column {} (counting from 0) is {}; fill it or remove the row",
                                where, at / cols, at % cols, name_not_finite(tensor.data[bad])));
  }
  return Eigen::Map<const RowMatrix>(tensor.data.data(), rows, cols);
}

}  // namespace

Tensors read_npz(const std::filesystem::path& path, const NpzOptions& options) {
  NpzReader npz(path, options);
  Tensors tensors;
  for (const auto& [name, entry] : npz.arrays()) tensors.list.push_back(npz.read(name, *entry));
  return tensors;
}

SamplePtr read_samples_npz(const std::filesystem::path& path, const NpzOptions& options,
                           std::string* digest) {
  NpzReader npz(path, options);
  RowMatrix x = read_rows(npz, "x", "X");
  RowMatrix y = read_rows(npz, "y", "Y");
  if (x.rows() != y.rows()) {
    throw DataError(
        fmt::format("{}: x has {} rows but y has {}; row i of one must belong to row i of the other",
                    npz.file(), x.rows(), y.rows()));
  }
  if (digest != nullptr) *digest = npz.digest();
  return memory_samples(std::move(x), std::move(y));
}

std::string npz_bytes(const Tensors& tensors) {
  // libzip deletes an archive without entries; this is one, as numpy.savez() writes it.
  if (tensors.list.empty()) return "PK\x05\x06" + std::string(18, '\0');
  std::set<std::string> names;
  zip_error_t error;
  zip_error_init(&error);
  const auto check = [](bool good) {
    if (!good)
      throw ResourceError("the .npz archive could not be put together in memory; write fewer arrays");
  };
  zip_source_t* archive = zip_source_buffer_create(nullptr, 0, 0, &error);
  check(archive);
  const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> archive_owner(archive, zip_source_free);
  zip_source_keep(archive);  // one for the archive, one to read it back from
  std::unique_ptr<zip_t, void (*)(zip_t*)> zip(zip_open_from_source(archive, ZIP_TRUNCATE, &error),
                                               zip_discard);
  if (!zip) zip_source_free(archive);
  check(zip != nullptr);
  std::vector<std::string> files;  // must outlive zip_close
  files.reserve(tensors.list.size());
  for (const StoredTensor& tensor : tensors.list) {
    if (!names.insert(tensor.name).second || array_bytes(tensor.shape, 8) != tensor.data.size() * 8) {
      throw std::invalid_argument(fmt::format("npz: '{}' is given twice or has {} numbers but shape {}",
                                              tensor.name, tensor.data.size(), show_shape(tensor.shape)));
    }
    std::string& file = files.emplace_back(npy_header(tensor.shape));
    file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size() * sizeof(double));
    zip_source_t* source = zip_source_buffer(zip.get(), file.data(), file.size(), 0);
    check(source);
    const zip_int64_t index =
        zip_file_add(zip.get(), (tensor.name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0) zip_source_free(source);
    check(index >= 0);
    const auto at = static_cast<zip_uint64_t>(index);
    check(zip_set_file_compression(zip.get(), at, ZIP_CM_STORE, 0) == 0);
    constexpr zip_uint16_t kFirstOf1980 = 1 << 5 | 1;
    check(zip_file_set_dostime(zip.get(), at, 0, kFirstOf1980, 0) == 0);
  }
  check(zip_close(zip.get()) == 0);
  (void)zip.release();

  check(zip_source_open(archive) == 0);
  std::string bytes;
  std::string chunk(std::size_t{1} << 20, '\0');
  zip_int64_t got;
  while ((got = zip_source_read(archive, chunk.data(), chunk.size())) > 0) {
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
  zip_source_close(archive);
  check(got == 0);
  return bytes;
}

void write_npz(const std::filesystem::path& path, const Tensors& tensors) {
  write_file(path, npz_bytes(tensors));
}

}  // namespace exhume
