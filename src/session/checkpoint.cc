#include "session/checkpoint.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "exhume/error.h"
#include "exhume/version.h"

namespace exhume {
namespace fs = std::filesystem;

Checkpoint::Checkpoint(const CheckpointOptions& options, const Json& about, std::shared_ptr<Passes> others)
    : options_(options) {
  if (options.folder.empty()) {
    if (options.resume)
      throw std::invalid_argument("going on needs the folder with the checkpoint of the run to go on with");
    return;
  }
  std::error_code failed;
  fs::create_directories(options.folder, failed);
  if (!fs::is_directory(options.folder)) {
    throw DataError(fmt::format("{} cannot be made a folder for checkpoints{}; name another", options.folder,
                                failed ? ": " + failed.message() : ""));
  }
  file_ = fs::path(options.folder) / "checkpoint.log";
  Json header = {{"exhume", kVersion}};
  for (const auto& [key, value] : about.items()) header[key] = value;
  if (options.restart && !options.resume && options.writes) fs::remove(file_, failed);
  journal_ =
      std::make_shared<Journal>(file_, to_line(header), options.resume, std::move(others), options.writes);
}

std::string Checkpoint::news() const {
  if (!journal_ || !options_.resume) return "";
  if (journal_->known() == 0) return "there is no checkpoint to go on from: starting anew";
  return fmt::format("going on from the checkpoint after {:.1f} s{}", journal_->seconds(),
                     journal_->dropped() > 0 ? "; its last record was not finished and is made again" : "");
}

std::string Checkpoint::remove() {
  if (!journal_) return "";
  std::string trouble;
  if (!journal_->trouble().empty())
    trouble = fmt::format("no checkpoints were kept after a while: {}", journal_->trouble());
  journal_.reset();
  if (!options_.writes) return trouble;
  std::error_code ignored;
  fs::remove(file_, ignored);
  fs::remove(fs::path(file_) += ".lock", ignored);
  fs::remove(options_.folder, ignored);  // where nothing else is in it
  return trouble;
}

}  // namespace exhume
