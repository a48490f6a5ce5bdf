// Checkpoints: a file that remembers the sums of passes, so that a run which was killed goes on where it was.
//
// A run is a function of its samples, its options and the sums of its passes (base/passes.h). The journal
// appends sums to a log with checksums (io/record_log.h, magic EXHUMEC1) as they are made:
//
//     HEAD   version, options, digests of the files, as one JSON object     first, once
//     NEXT   size of the record that follows: a changed size is told from a record that was not finished
//     SUM    number of the pass, stage, blocks, seconds so far, the sum
//     ONCE   number, the number behind it, name, seconds so far, what came of it
//
// Going on means running from the start: known sums are not made again, all others are, and everything ends
// in the same bytes. A sum is kept when the time since the last one is twenty times what it costs to write
// it, so a journal costs at most about a twentieth of a run, and a kill the time since its last record and
// that of the work between passes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/passes.h"

namespace exhume {

class Journal final : public Passes {
 public:
  // A new journal, or with `go_on` the one that is there, if there is one. `header` is what the run is about,
  // a JSON object. Passes that are not known are made by `others`, if any. Throws DataError where the journal
  // belongs to another run (naming the difference), was changed, is in use, or exists and was not to be gone
  // on with. One of several processes writes; the others, with `writes` false, read the same file before that
  // one goes on.
  Journal(const std::filesystem::path& path, const std::string& header, bool go_on,
          std::shared_ptr<Passes> others, bool writes = true);
  ~Journal() override;

  void pass(std::string_view stage, BlockSum& sum) override;
  [[nodiscard]] std::string once(std::string_view name, const std::function<std::string()>& make) override;
  [[nodiscard]] Clock::time_point now() override;
  void agree_on_time() override;

  [[nodiscard]] Index known() const;            // records that were there
  [[nodiscard]] double seconds() const;         // that the run had taken by the last of them
  [[nodiscard]] std::uint64_t dropped() const;  // bytes of an unfinished record behind them
  // Empty, or why nothing is kept any more (a full disk, say): the run itself goes on.
  [[nodiscard]] const std::string& trouble() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace exhume
