// What was found out about a result, and how: the same for every command.
//
//     status, reason      certified, estimated, uncertified or refused, and one sentence why
//     assumptions         what was looked at: value against threshold
//     tried, timings      routes in the order in which they were tried; seconds by stage
//     rows, split, seed   which rows were held out: enough to draw them again
//     files               what was read, with the SHA-256 of the bytes that were used
//
// Every result has one, beside what it is about. docs/certificate.md says what every field means to a user.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

enum class Status {
  kCertified,    // all rows reproduced to their stored precision, weights determined: every check passed
  kEstimated,    // nothing in what is left speaks against the network plus independent noise; what is stated
                 // holds if that is so
  kUncertified,  // a result is returned, but the first failed check is named in `reason`
  kRefused,      // the problem is ill-posed; no result
};
[[nodiscard]] const char* to_string(Status status);
// Certified or estimated: what is stated may be used, as it is worded.
[[nodiscard]] inline bool stands(Status status) {
  return status == Status::kCertified || status == Status::kEstimated;
}

// Seconds that a stage of the work took.
struct StageTime {
  std::string stage;
  double seconds = 0;
};

// A file that was read or written.
struct FileDigest {
  std::string role, path;  // "inputs", "x.npy"
  std::string sha256{};    // of the bytes that were used; empty where it was not computed
};

// One assumption that was looked at: `holds` says whether `value` is on the right side of `threshold`.
struct Assumption {
  std::string name;
  double value = 0, threshold = 0;
  bool holds = false;
  bool required = false;  // no certificate without it; the others only tell which theory applies
};

struct Attempt {
  std::string route, outcome;
};

struct Certificate {
  Status status = Status::kUncertified;
  std::string reason;  // one sentence: why this status
  std::string route;   // the route that won
  std::vector<Assumption> assumptions;
  std::vector<Attempt> tried;
  std::vector<StageTime> timings;
  std::uint64_t seed = 0;
  Index rows = 0;     // of the source
  Index samples = 0;  // of those, without repetitions
  Index searched =
      0;  // training rows that the search saw, where these were not all: the verdict looked at all
  Index held_out = 0;
  Index held_out_period = 0;         // split(samples, held_out_period, seed) gives the rows held out; 0: none
  std::string conclusion;            // what follows, where certified
  std::vector<std::string> assumed;  // and from what that no sample can show

  // What the data are called; filled in by whoever opened them.
  std::vector<std::string> input_names, output_names;  // as many as there are columns, or none
  std::vector<Index> input_shape;    // rows and columns where the inputs are an image, or none
  std::vector<Index> target;         // of one table that held both: the columns that are outputs, from 0
  std::vector<std::string> remarks;  // what was noticed about the data, each a sentence

  // Where it came from; filled in by the program, which knows the files, and by stamp()
  // (certify/certificate_json.h).
  std::vector<std::pair<std::string, std::string>> options;  // what was asked for: name and value
  std::string command;                                       // as typed; empty where there was none
  std::string version, host, date;                           // date: UTC, ISO 8601
  std::vector<FileDigest> files;                             // read
  std::vector<FileDigest> written;
};

// Collects the checks of a verdict: every check is recorded, the first that fails gives the reason.
class Checks {
 public:
  // No certificate without it; `otherwise` is the reason where it fails. If a check of one name is required
  // twice, the first call wins: that of a route, which knows more of its failures.
  bool require(std::string name, double value, double threshold, bool holds, std::string otherwise);
  // One that failed and explains those before it: its `otherwise` becomes the reason.
  void require_first(std::string name, double value, double threshold, std::string otherwise);
  // Only recorded: it tells which theory applies.
  bool note(std::string name, double value, double threshold, bool holds);

  [[nodiscard]] bool all_hold() const { return all_hold_; }
  // Puts the checks into the certificate, behind those it has; `best` with the reason `praise` where all that
  // is required holds, otherwise uncertified with that of the first that does not.
  void conclude(Certificate& certificate, std::string praise, Status best = Status::kCertified) &&;
  // Puts the checks into a certificate that was concluded before: one that was certified or estimated stays
  // so where these hold too.
  void add_to(Certificate& certificate) &&;

 private:
  std::vector<Assumption> list_;
  std::string reason_;  // of the first that failed
  bool all_hold_ = true;
};

}  // namespace exhume
#pragma GCC visibility pop
