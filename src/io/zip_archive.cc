#include "io/zip_archive.h"

#include <fmt/format.h>

#include <set>

#include "exhume/base/error.h"
#include "io/random_access_file.h"

namespace exhume {
namespace {

// Deflate codes at best 258 bytes in 2 bits; the rest is for the headers of tiny entries.
constexpr std::uint64_t kBestDeflate = 1032;

}  // namespace

ZipArchive::ZipArchive(const std::filesystem::path& path) : name_(path.string()), zip_(nullptr, zip_discard) {
  const RandomAccessFile file(path);  // for its sentences about missing files and folders
  int code = 0;
  zip_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!zip_) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
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
