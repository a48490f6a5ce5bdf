#include "session/recover.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/packed.h"
#include "engine/ranks.h"
#include "exhume/error.h"
#include "io/column_names.h"
#include "io/digest.h"
#include "io/npz.h"
#include "io/safetensors.h"
#include "judge/prepared.h"
#include "report/view.h"
#include "routes/depth2.h"
#include "routes/expected_cost.h"
#include "session/device.h"
#include "session/machines/site_sums.h"

namespace exhume {
namespace {

constexpr const char* kRectified = "rectified";

std::shared_ptr<RankPasses> ranks_of(const Control& control) {
  return std::dynamic_pointer_cast<RankPasses>(control.passes);
}

// Takes the start from the moments of all sites: options.units, for the route depth2.
void start_from_moments(const std::vector<std::string>& files, RecoverOptions& options,
                        const Control& control) {
  if (options.depth() != 1) throw std::invalid_argument("moments tell of one hidden layer, not of more");
  if (options.route != "auto" && options.route != "depth2") {
    throw std::invalid_argument(
        fmt::format("moments belong to the route depth2, but route is {}", options.route));
  }
  options.route = "depth2";
  Depth2Options spectral;
  spectral.hidden = options.hidden();
  spectral.seed = options.seed;
  options.units = moments_start(read_moments(files), spectral, control).V;
}

RecoverJob prepared(RecoverJob job, const Control& control) {
  if (!job.moments.empty()) start_from_moments(job.moments, job.options, control);
  job.options.validate();
  if (job.checkpoint.resume && job.checkpoint.folder.empty())
    throw std::invalid_argument("resume needs a checkpoint, the folder of the run to go on with");
  return job;
}

// Of several processes only the first one writes.
DeliveryOptions delivery_of(const RecoverJob& job, bool leads) {
  DeliveryOptions options = job.delivery;
  if (!leads) options.folder = options.key = "";
  return options;
}

// A cheap fingerprint of samples, to notice that two processes read different ones: the shape, and digests of
// three blocks of rows.
std::string fingerprint_of(const SampleSource& samples) {
  constexpr Index kRows = 1024;
  const Index rows = samples.rows(), count = std::min(kRows, rows);
  std::string out = fmt::format("{} {} {}", rows, samples.inputs(), samples.outputs());
  for (const Index first : {Index{0}, (rows - count) / 2, rows - count}) {
    if (count == 0) break;
    SampleBlock block;
    samples.read(first, count, block);
    out += sha256(packed(Matrix(block.x()))) + sha256(packed(Matrix(block.y())));
  }
  return out;
}

// What time and memory a long run is expected to take, in a sentence; empty for a short one.
std::string expectation(const SampleSource& samples, const RecoverOptions& options, const Control& control) {
  constexpr double kLong = 10;  // seconds
  const Index some = rows_for_search(samples.rows(), samples.inputs());
  const ExpectedCost cost = expected_cost({.rows = some > 0 ? some : samples.rows(),
                                           .inputs = samples.inputs(),
                                           .outputs = samples.outputs(),
                                           .hidden = options.hidden(),
                                           .threads = control.workers(),
                                           .thread_flops = measured_thread_flops(),
                                           .device = control.device != nullptr});
  if (cost.seconds < kLong) return "";
  std::string memory = fmt::format("{:.2g} GB of memory", cost.bytes / 1e9);
  if (control.device)
    memory += fmt::format(" and {:.2g} GB of {}", cost.device_bytes / 1e9, control.device->name());
  return fmt::format("up to about {:.2g} s and {} are expected for Gaussian inputs{}; the budget is {:.4g} s",
                     cost.seconds, memory, options.hidden() ? "" : " and no more units than inputs",
                     options.budget_seconds);
}

}  // namespace

std::string route_name(const std::string& route, const std::string& method) {
  if (route == kRectified) return fmt::format("{}-{}", route, method.empty() ? "tensor" : method);
  if (!method.empty()) {
    throw std::invalid_argument(
        fmt::format("method belongs to the route {}, but route is {}", kRectified, route));
  }
  return route;
}

Matrix read_first_layer(const std::string& file) {
  const Tensors tensors = file.ends_with(".npz") ? read_npz(file) : read_safetensors(file);
  const Matrix W = tensors.matrix("W", file);
  const bool thresholds = tensors.find("b") == nullptr && tensors.find("t") != nullptr;
  const Vector b = thresholds ? Vector(-tensors.vector("t", file)) : tensors.vector("b", file);
  if (b.size() != W.rows()) {
    throw DataError(fmt::format("{}: W has {} rows but {} has {} entries", file, W.rows(),
                                thresholds ? "t" : "b", b.size()));
  }
  Matrix V(W.rows(), W.cols() + 1);
  V << W, b;
  return V;
}

RecoverSession::RecoverSession(RecoverJob job, const Control& control)
    : job_(prepared(std::move(job), control)),
      control_(control),
      leads_(!ranks_of(control) || ranks_of(control)->rank() == 0),
      delivery_(delivery_of(job_, leads_)) {}

void RecoverSession::open_checkpoint(const OpenedSamples& samples, const Notes& note) {
  if (job_.checkpoint.folder.empty()) return;
  job_.checkpoint.writes = leads_;
  const RecoverOptions& options = job_.options;
  Json about = {{"command", "recover"}};
  if (leads_) {
    for (const FileDigest& file : job_.identity ? *job_.identity : samples.digests(control_))
      about[file.role] = file.sha256;
  }
  const auto digest = [](const Matrix& values) { return values.size() > 0 ? sha256(packed(values)) : ""; };
  about.update(
      {{"layers", options.depth()},
       {"hidden", options.widths.empty() ? "auto" : fmt::format("{}", fmt::join(options.widths, ","))},
       {"first_layer", digest(options.first_layer)},
       {"route", options.route},
       {"activation", options.activation},
       {"leak", options.leak},
       {"device", job_.device},
       {"units", options.units ? digest(*options.units) : ""},
       {"seed", options.seed},
       {"budget", options.budget_seconds}});
  checkpoint_ = Checkpoint(job_.checkpoint, about, control_.passes);
  if (const auto ranks = ranks_of(control_)) ranks->meet();
  control_.passes = checkpoint_.passes();
  if (const std::string news = checkpoint_.news(); note && !news.empty()) note(news);
}

Recovered RecoverSession::run(const OpenedSamples& samples, const Notes& note) {
  const Index depth = job_.options.depth();
  if (const auto ranks = ranks_of(control_); ranks && !ranks->agree(fingerprint_of(*samples.samples))) {
    throw DataError(
        "the processes of this job see different data; give all of them the same files, as they are now");
  }
  if (!job_.delivery.input_shape.empty()) check_shape(job_.delivery.input_shape, samples.samples->inputs());
  control_.device = choose_device(job_.device, *samples.samples, depth);
  if (depth == 1 && job_.estimate && note && leads_) {
    const std::string words = expectation(*samples.samples, job_.options, control_);
    if (!words.empty()) note(words);
  }
  open_checkpoint(samples, note);
  // On a device the recovery may be faster than reading the files for their digests: do both at once.
  std::future<void> hashing;
  if (control_.device && leads_)
    hashing = std::async(std::launch::async, [&] { (void)samples.digests(control_); });
  const auto fell_back = [&](const std::string& why) {
    if (note) note(fmt::format("{}. The work starts again on the processor.", why));
  };
  Recovered done = with_fall_back(job_.device, control_, fell_back,
                                  [&](const Control& here) { return recover_here(samples, here); });
  if (const std::string trouble = checkpoint_.remove(); note && !trouble.empty()) note(trouble);
  return done;
}

Recovered RecoverSession::recover_here(const OpenedSamples& samples, const Control& here) try {
  Recovered done;
  done.result = recover(samples.samples, job_.options, here);
  Certificate& certificate = done.result.certificate;
  certificate.options = options_said(job_.options);
  if (!leads_) return done;
  delivery_.describe(certificate, samples);
  if (delivery_.writes()) {
    for (const ResultFile& file : result_files(done.result)) delivery_.add(file);
  }
  done.delivered = delivery_.finish(done.result, samples, here);
  return done;
} catch (const DataError& error) {
  throw DataError(with_column_names(error.what(), samples.input_names, samples.output_names));
}

}  // namespace exhume
