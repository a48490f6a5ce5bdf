// --checkpoint DIR and --resume: a run that is killed goes on where it was (passes/journal.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "command.h"
#include "io/open.h"
#include "passes/journal.h"

namespace exhume::cli {

class Checkpoint {
 public:
  void declare(CLI::App& app);
  // Makes or opens the journal in the folder, if one was asked for, and gives it to `control`. `about` is what the run
  // depends on beside its samples. Says on stderr where an earlier run is gone on with.
  void open(const Session& session, const OpenedSamples& samples, const Json& about, Control& control);
  // The result is written: the checkpoint is no longer needed.
  void done();

 private:
  std::string folder_;
  bool resume_ = false, quiet_ = false, leads_ = true;
  std::filesystem::path file_;
  std::shared_ptr<Journal> journal_;
};

}  // namespace exhume::cli
