// What `recover` does from options to files written.
//
//   samples, options -> device -> checkpoint -> recover -> certificate with names and digests -> folder
//
// On the way the caller is told, in sentences, what it cannot see: what to expect of a long run, from where a
// run goes on, that a device failed. Of several processes that share the passes the first writes; in the
// others `delivered` is empty.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/recover.h"
#include "io/open.h"
#include "session/checkpoint.h"
#include "session/delivery.h"

namespace exhume {

struct RecoverJob {
  RecoverOptions options{};
  std::vector<std::string>
      moments{};  // files with moments of several sites (session/machines/site_sums.h): the start
  std::string device = "auto";  // where heavy sums run: auto, cpu or cuda
  CheckpointOptions checkpoint{};
  DeliveryOptions delivery{};
  bool estimate = false;  // say what to expect where the run will be long
  // What tells the samples from others, for a checkpoint; absent: the digests of their files.
  std::optional<std::vector<FileDigest>> identity{};
};

struct Recovered {
  Result result;
  Delivered delivered;
};

// A rough first of two hidden layers from a file (.safetensors, .npz: W, and b or the thresholds t = -b): k x
// (d + 1), rows (w, b).
[[nodiscard]] Matrix read_first_layer(const std::string& file);

// The name of a route; `rectified` and a method are the route rectified-METHOD, `tensor` where no method is
// given.
[[nodiscard]] std::string route_name(const std::string& route, const std::string& method);

using Notes = std::function<void(const std::string&)>;

// One run of `recover`. The constructor opens the folder and refuses what can be refused, before the long
// work.
class RecoverSession {
 public:
  // Checks the options, and opens the folder. Throws std::invalid_argument, DataError, WouldOverwrite.
  RecoverSession(RecoverJob job, const Control& control);
  // `samples` are kept open by the caller. What is refused because of a column is refused with its name.
  [[nodiscard]] Recovered run(const OpenedSamples& samples, const Notes& note);

 private:
  void open_checkpoint(const OpenedSamples& samples, const Notes& note);
  [[nodiscard]] Recovered recover_here(const OpenedSamples& samples, const Control& here);

  RecoverJob job_;
  Control control_;
  bool leads_;
  Delivery delivery_;
  Checkpoint checkpoint_;
};

}  // namespace exhume
