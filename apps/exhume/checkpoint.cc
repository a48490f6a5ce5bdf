#include "checkpoint.h"

#include <fmt/format.h>

#include <stdexcept>

#include "exhume/error.h"
#include "exhume/version.h"
#include "terminal.h"

namespace exhume::cli {

void Checkpoint::declare(CLI::App& app) {
  app.add_option("--checkpoint", folder_,
                 "Folder that keeps what has been computed, so that a run which is killed can go on");
  app.add_flag("--resume", resume_,
               "With --checkpoint: go on from what an earlier run of the same command left there");
}

void Checkpoint::open(const Session& session, const OpenedSamples& samples, const Json& about,
                      Control& control) {
  if (folder_.empty()) {
    if (resume_)
      throw std::invalid_argument("--resume needs --checkpoint DIR, the folder of the run to go on with");
    return;
  }
  quiet_ = session.quiet;
  leads_ = session.leads();
  std::error_code failed;
  std::filesystem::create_directories(folder_, failed);
  if (!std::filesystem::is_directory(folder_)) {
    throw DataError(fmt::format("{} cannot be made a folder for checkpoints{}; name another", folder_,
                                failed ? ": " + failed.message() : ""));
  }
  file_ = std::filesystem::path(folder_) / "checkpoint.log";
  Json header = {{"exhume", kVersion}, {"command", "recover"}};
  if (leads_) {
    for (const FileDigest& file : samples.digests(session.control)) header[file.role] = file.sha256;
  }
  for (const auto& [key, value] : about.items()) header[key] = value;
  if (session.force && !resume_ && leads_) std::filesystem::remove(file_, failed);
  journal_ = std::make_shared<Journal>(file_, to_line(header), resume_, control.passes, leads_);
  if (session.ranks) session.ranks->meet();
  control.passes = journal_;
  session.checkpoint = folder_;
  if (quiet_ || !resume_) return;
  if (journal_->known() == 0) {
    complain("there is no checkpoint to go on from: starting anew");
    return;
  }
  complain(
      fmt::format("going on from the checkpoint after {:.1f} s{}", journal_->seconds(),
                  journal_->dropped() > 0 ? "; its last record was not finished and is made again" : ""));
}

void Checkpoint::done() {
  if (!journal_) return;
  if (!journal_->trouble().empty() && !quiet_)
    complain(fmt::format("no checkpoints were kept after a while: {}", journal_->trouble()));
  journal_.reset();
  if (!leads_) return;
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
  std::filesystem::remove(std::filesystem::path(file_) += ".lock", ignored);
  std::filesystem::remove(folder_, ignored);  // where nothing else is in it
}

}  // namespace exhume::cli
