#include "summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "exhume/report/report.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kTried = 4, kFailed = 4;

std::string fact(std::string_view name, std::string_view value) {
  return fmt::format("  {}  {}\n", toned(Tone::kSoft, fmt::format("{:<15}", name)), value);
}

std::string stages(const std::vector<StageTime>& timings) {
  std::vector<StageTime> longest = timings;
  std::stable_sort(longest.begin(), longest.end(),
                   [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(longest.size(), 3); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", longest[i].stage, duration(longest[i].seconds));
  }
  return text.empty() ? "" : " (" + text + ")";
}

}  // namespace

std::string summary(const RecoverResult& result, double seconds, const std::string& folder,
                    const std::vector<std::string>& files) {
  Tone tone = Tone::kGood;
  const char* badge = "Certified.";
  if (result.status == Status::kUncertified) tone = Tone::kWarn, badge = "Not certified.";
  if (result.status == Status::kRefused) tone = Tone::kBad, badge = "Refused.";
  std::string out = fmt::format("{} {}\n\n", toned(tone, badge), verdict(result));
  if (!result.route.empty()) out += fact("route", result.route);
  if (result.status != Status::kRefused) {
    const Network& n = result.network;
    out +=
        fact("network",
             fmt::format("{} inputs, {} hidden units, {} output{}{}{}", n.inputs(), n.hidden(), n.outputs(),
                         n.outputs() == 1 ? "" : "s", n.has_linear_term() ? ", with a linear term" : "",
                         result.signs_identifiable ? "" : "; the units' signs are not determined"));
  }
  out += fact("samples",
              fmt::format("{}, of which {} held out", grouped(result.samples), grouped(result.held_out)));
  if (result.status != Status::kRefused) {
    out +=
        fact("held-out error", fmt::format("{:.3g} of the outputs' variance", result.heldout_relative_mse));
    if (result.noise_sd > 0) {
      out += fact("noise", fmt::format("standard deviation {:.4g}", result.noise_sd));
      out += fact("standard errors", fmt::format("{:.3g} at most", result.max_standard_error));
    }
  }
  std::size_t failed = 0;
  for (const Assumption& a : result.assumptions) {
    if (a.holds || failed++ >= kFailed) continue;
    out += fact("does not hold", fmt::format("{} ({:.4g}, threshold {:.4g})", a.name, a.value, a.threshold));
  }
  if (result.tried.size() > 1 || result.status != Status::kCertified) {
    for (std::size_t i = 0; i < std::min(result.tried.size(), kTried); ++i) {
      out +=
          fact(i == 0 ? "tried" : "", fmt::format("{}: {}", result.tried[i].route, result.tried[i].outcome));
    }
  }
  out += fact("time", duration(seconds) + stages(result.timings));
  if (!folder.empty()) {
    std::string list;
    for (const std::string& file : files) list += (list.empty() ? "" : ", ") + file;
    out += fact("written", fmt::format("{}: {}", folder, list));
  } else {
    out += fact("written", "nothing; --out DIR keeps the network, the certificate and the report");
  }
  return out;
}

}  // namespace exhume::cli
