#include "summary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "terminal.h"
#include "wrap.h"

namespace exhume::cli {
namespace {

constexpr std::size_t kTried = 4, kFailed = 4;
constexpr int kNameWidth = 16;

// A name and its value; further lines of the value stand below its first. Names of columns and files are the
// user's: without control characters.
std::string line(std::string_view name, std::string_view value) {
  std::string out = fmt::format("  {}  ", toned(Tone::kSoft, fmt::format("{:<{}}", name, kNameWidth)));
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t end = std::min(value.find('\n', from), value.size());
    if (from > 0) out += "\n" + std::string(kNameWidth + 4, ' ');
    out += printable(value.substr(from, end - from));
    from = end + 1;
  }
  return out + "\n";
}

// Sentences wrap at the terminal's width, below their first line.
std::string indented(const std::string& sentence) {
  constexpr int kIndent = kNameWidth + 4;
  return wrapped(sentence, std::max(columns(STDOUT_FILENO) - kIndent, kIndent), 0, 0);
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

std::string summary(const Certificate& certificate, const std::string& verdict,
                    const std::vector<Fact>& facts, const std::vector<std::string>& steps, double seconds,
                    const std::string& folder, const std::vector<std::string>& files) {
  Tone tone = Tone::kGood;
  const char* badge = "Certified.";
  if (certificate.status == Status::kEstimated) badge = "Estimated.";
  if (certificate.status == Status::kUncertified) tone = Tone::kWarn, badge = "Not certified.";
  if (certificate.status == Status::kRefused) tone = Tone::kBad, badge = "Refused.";
  std::string out = fmt::format("{} {}\n\n", toned(tone, badge), printable(verdict));
  for (const Fact& fact : facts) out += line(fact.name, fact.value);
  std::size_t failed = 0;
  for (const Assumption& a : certificate.assumptions) {
    // Those that are not required only tell which theory applies; the route does not rest on them.
    if (a.holds || !a.required || failed++ >= kFailed) continue;
    const std::string numbers =
        std::isfinite(a.value) ? fmt::format(" ({:.4g}, threshold {:.4g})", a.value, a.threshold) : "";
    out += line("does not hold", a.name + numbers);
  }
  if (!stands(certificate.status)) {
    for (std::size_t i = 0; i < std::min(certificate.tried.size(), kTried); ++i) {
      const Attempt& attempt = certificate.tried[i];
      out += line(i == 0 ? "tried" : "", fmt::format("{}: {}", attempt.route, attempt.outcome));
    }
  }
  for (const std::string& remark : certificate.remarks) out += line("note", indented(printable(remark)));
  bool first = true;
  for (const std::string& step : steps) {
    out += line(first ? "next" : "", indented("- " + printable(step)));
    first = false;
  }
  out += line("time", duration(seconds) + stages(certificate.timings));
  if (folder.empty()) {
    out += line("written", "nothing; --out DIR keeps the result, the certificate and the report");
  } else {
    out += line("written", fmt::format("{}: {}", folder, fmt::join(files, ", ")));
  }
  return out;
}

}  // namespace exhume::cli
