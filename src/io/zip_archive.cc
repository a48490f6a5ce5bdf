#include "io/zip_archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "exhume/error.h"

namespace exhume {
namespace {

// Deflate codes at best 258 bytes in 2 bits; the rest is for the headers of tiny entries.
constexpr std::uint64_t kBestDeflate = 1032;

}  // namespace

// One request of libzip: our own file is what it reads, so that the bytes are those that are hashed.
zip_int64_t ZipArchive::serve(void* self, void* data, zip_uint64_t size, zip_source_cmd_t command) {
  auto& reader = *static_cast<Reader*>(self);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      reader.at = 0;
      return 0;
    case ZIP_SOURCE_READ: {
      const std::uint64_t count = std::min<std::uint64_t>(size, reader.file.size() - reader.at);
      try {
        reader.file.read(reader.at, data, count);
      } catch (const DataError&) {
        zip_error_set(&reader.error, ZIP_ER_READ, 0);
        return -1;
      }
      reader.at += count;
      return static_cast<zip_int64_t>(count);
    }
    case ZIP_SOURCE_SEEK: {
      const zip_int64_t to =
          zip_source_seek_compute_offset(reader.at, reader.file.size(), data, size, &reader.error);
      if (to < 0) return -1;
      reader.at = static_cast<std::uint64_t>(to);
      return 0;
    }
    case ZIP_SOURCE_TELL:
      return static_cast<zip_int64_t>(reader.at);
    case ZIP_SOURCE_STAT: {
      auto* about = static_cast<zip_stat_t*>(data);
      zip_stat_init(about);
      about->size = reader.file.size();
      about->valid |= ZIP_STAT_SIZE;
      return sizeof *about;
    }
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&reader.error, data, size);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                            ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE,
                                            ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS, -1);
    default:
      zip_error_set(&reader.error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

ZipArchive::ZipArchive(const std::filesystem::path& path)
    : name_(path.string()), reader_(std::make_unique<Reader>(path)), zip_(nullptr, zip_discard) {
  const RandomAccessFile& file = reader_->file;
  if (file.size() == 0) {  // which libzip would take for a new archive
    throw DataError(fmt::format(
        "{} is not a readable .npz archive (it is empty); save it again with numpy.savez", name_));
  }
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_function_create(&ZipArchive::serve, reader_.get(), &error);
  if (source != nullptr) {
    zip_.reset(zip_open_from_source(source, ZIP_RDONLY, &error));
    if (!zip_) zip_source_free(source);
  }
  if (!zip_) {
    const std::string why = zip_error_strerror(&error);
    zip_error_fini(&error);
    throw DataError(fmt::format(
        "{} is not a readable .npz archive ({}); copy it or save it again with numpy.savez", name_, why));
  }
  std::set<std::string> names;
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t about;
    zip_stat_init(&about);
    constexpr zip_uint64_t kWanted = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                     ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip_stat_index(zip_.get(), static_cast<zip_uint64_t>(i), 0, &about) != 0 ||
        (about.valid & kWanted) != kWanted) {
      throw DataError(fmt::format("{}: entry {} of the archive is damaged; copy or save it again", name_, i));
    }
    const std::string entry = about.name;
    if (!names.insert(entry).second) {
      throw DataError(fmt::format("{} holds '{}' twice; save it again with one array a name", name_, entry));
    }
    if (about.encryption_method != ZIP_EM_NONE) {
      throw DataError(
          fmt::format("{}: '{}' is encrypted; save the archive without a password", name_, entry));
    }
    if (about.comp_method != ZIP_CM_STORE && about.comp_method != ZIP_CM_DEFLATE) {
      throw DataError(
          fmt::format("{}: '{}' is compressed in a way that NumPy does not use (method {}); save it again "
                      "with numpy.savez",
                      name_, entry, about.comp_method));
    }
    if (about.comp_size > file.size()) {
      throw DataError(
          fmt::format("{}: '{}' claims more bytes than the file has; copy or save it again", name_, entry));
    }
    const std::uint64_t most =
        about.comp_method == ZIP_CM_STORE ? about.comp_size : about.comp_size * kBestDeflate;
    if (about.size > most) {
      throw DataError(
          fmt::format("{}: '{}' claims {} bytes out of {}, which no zip can hold; the archive is damaged or "
                      "a zip bomb, so save it again",
                      name_, entry, about.size, about.comp_size));
    }
    entries_.push_back({entry, static_cast<std::uint64_t>(i), about.size});
  }
}

ZipArchive::Stream::Stream(const ZipArchive& archive, const ZipEntry& entry)
    : archive_(archive),
      entry_(entry),
      file_(zip_fopen_index(archive.zip_.get(), entry.index, 0), zip_fclose) {
  if (!file_) {
    throw DataError(fmt::format("{}: '{}' cannot be read ({}); copy or save it again", archive_.name(),
                                entry_.name, zip_strerror(archive.zip_.get())));
  }
}

std::uint64_t ZipArchive::Stream::read(char* out, std::uint64_t size) {
  std::uint64_t done = 0;
  while (done < size) {
    const zip_int64_t got = zip_fread(file_.get(), out + done, size - done);
    if (got < 0) {
      throw DataError(fmt::format("{}: '{}' is damaged ({}); copy or save the archive again", archive_.name(),
                                  entry_.name, zip_file_strerror(file_.get())));
    }
    if (got == 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  return done;
}

}  // namespace exhume
