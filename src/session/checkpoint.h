// A folder that keeps what a run has computed, so that one which is killed goes on where it was
// (passes/journal.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/json.h"
#include "passes/journal.h"

namespace exhume {

struct CheckpointOptions {
  std::string folder{};  // made if need be; empty: nothing is kept
  bool resume = false;   // go on from what an earlier run of the same work left there
  bool restart = false;  // remove what an earlier run left there
  bool writes = true;    // of several processes one writes; the others read the same file before it goes on
};

class Checkpoint {
 public:
  // No checkpoint.
  Checkpoint() = default;
  // Makes or opens the journal. `about` is all that the result depends on: samples by their digests, options.
  // Passes that the journal does not know are made by `others`, if any. Throws DataError where the folder
  // cannot be made or holds the checkpoint of another run, std::invalid_argument for `resume` without a
  // folder.
  Checkpoint(const CheckpointOptions& options, const Json& about, std::shared_ptr<Passes> others);

  // For Control::passes; empty where nothing is kept.
  [[nodiscard]] std::shared_ptr<Passes> passes() const { return journal_; }
  // A sentence that says from where the run goes on; empty for a run that starts anew.
  [[nodiscard]] std::string news() const;
  // Removes the checkpoint, once the result is written. Returns a sentence on what went wrong with the
  // checkpoint during the run, or nothing.
  std::string remove();

 private:
  CheckpointOptions options_;
  std::filesystem::path file_;
  std::shared_ptr<Journal> journal_;
};

}  // namespace exhume
