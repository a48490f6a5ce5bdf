// The battery: 60 kinds of data, half of them recoverable, and what recover says of each.
//
//   exhume_battery [seeds a kind] [first seed] [--only WORD] [--markdown FILE] [--jobs N]
//
// Ends with 1 where a certificate was false, where over one estimate in 1,000 was, or where less than 97% of
// the recoverable instances were certified or estimated. judge.h says what is false.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../apps/fast_blas.h"
#include "judge.h"

namespace exhume {
namespace {

constexpr double kMostFalseEstimates = 0.001;  // of the estimates
constexpr double kLeastRecovered = 0.97;       // of the recoverable instances

struct Arguments {
  int seeds = 20, jobs = 1;
  std::uint64_t first = 1;
  std::string only, markdown;
};

struct Totals {
  int certified = 0, estimated = 0, false_certified = 0, false_estimated = 0;
  int recoverable = 0, recovered = 0;

  [[nodiscard]] bool good() const {
    return false_certified == 0 && false_estimated <= kMostFalseEstimates * estimated &&
           recovered >= kLeastRecovered * recoverable;
  }
  [[nodiscard]] std::string words() const {
    return fmt::format(
        "\nFalse certificates: {} of {}. False estimates: {} of {}. Recoverable ones certified or estimated: "
        "{} "
        "of {} ({:.1f}%).\n",
        false_certified, certified, false_estimated, estimated, recovered, recoverable,
        100.0 * recovered / std::max(recoverable, 1));
  }
};

constexpr const char* kHead =
    "| kind | recoverable | certified | estimated | uncertified | refused | false | seconds each | usual "
    "reason "
    "otherwise |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

// The most frequent reason where nothing was claimed, the first in alphabetical order among equals.
std::string usual_reason(const std::vector<Judgement>& all) {
  std::map<std::string, int> counts;
  for (const Judgement& one : all)
    if (!stands(one.status)) ++counts[one.reason];
  const auto most =
      std::ranges::max_element(counts, [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

// As a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string row(const Kind& kind, const std::vector<Judgement>& all, Totals& totals) {
  std::map<Status, int> count;
  int untrue = 0;
  double seconds = 0;
  for (const Judgement& one : all) {
    ++count[one.status];
    seconds += one.seconds;
    const bool is_false = !one.untrue.empty();
    untrue += is_false;
    totals.false_certified += is_false && one.status == Status::kCertified;
    totals.false_estimated += is_false && one.status == Status::kEstimated;
    totals.recoverable += kind.recoverable;
    totals.recovered += kind.recoverable && one.recovered();
  }
  totals.certified += count[Status::kCertified];
  totals.estimated += count[Status::kEstimated];
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {:.2f} | {} |\n", cell(kind.name),
                     kind.recoverable ? "yes" : "no", count[Status::kCertified], count[Status::kEstimated],
                     count[Status::kUncertified], count[Status::kRefused], untrue,
                     seconds / static_cast<double>(all.size()), cell(usual_reason(all)));
}

// What went wrong with one instance, on stderr.
void complain(const Kind& kind, std::uint64_t seed, const Judgement& one) {
  if (!one.untrue.empty()) {
    fmt::print(stderr, "FALSE ({}): {}, seed {}: {}; {}\n", to_string(one.status), kind.name, seed,
               one.untrue, one.reason);
  } else if (kind.recoverable && !one.recovered()) {
    fmt::print(stderr, "missed ({}{}): {}, seed {}: {}\n{}", to_string(one.status),
               one.right_units ? "" : ", other number of units", kind.name, seed, one.reason, one.tried);
  }
}

std::vector<Kind> kinds_named(const std::string& only) {
  std::vector<Kind> list;
  for (const auto& of : {exact_kinds(), stored_kinds(), noise_kinds(), outside_kinds()})
    for (const Kind& kind : of)
      if (kind.name.find(only) != std::string::npos) list.push_back(kind);
  return list;
}

int battery(const Arguments& arguments) {
  const std::vector<Kind> kinds = kinds_named(arguments.only);
  const auto seeds = static_cast<size_t>(arguments.seeds);
  std::vector<std::vector<Judgement>> judged(kinds.size(), std::vector<Judgement>(seeds));
  std::vector<size_t> done(kinds.size(), 0);
  std::atomic<size_t> next = 0;
  std::mutex mutex;  // of all below
  size_t printed = 0;
  Totals totals;
  std::string table = kHead;
  fmt::print("{}", kHead);
  const auto work = [&] {
    for (size_t task = next++; task < kinds.size() * seeds; task = next++) {
      const size_t which = task / seeds, i = task % seeds;
      Judgement one = judge(kinds[which], arguments.first + i);
      const std::scoped_lock lock(mutex);
      complain(kinds[which], arguments.first + i, one);
      judged[which][i] = std::move(one);
      ++done[which];
      for (; printed < kinds.size() && done[printed] == seeds; ++printed) {
        const std::string line = row(kinds[printed], judged[printed], totals);
        fmt::print("{}", line);
        std::fflush(stdout);
        table += line;
      }
    }
  };
  {
    std::vector<std::jthread> workers;
    for (int j = 1; j < arguments.jobs; ++j) workers.emplace_back(work);
    work();
  }
  fmt::print("{}", totals.words());
  if (!arguments.markdown.empty()) std::ofstream(arguments.markdown) << table << totals.words();
  return totals.good() ? 0 : 1;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments out;
  int numbers = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    if (words[i] == "--markdown" && has_value) {
      out.markdown = words[++i];
    } else if (words[i] == "--only" && has_value) {
      out.only = words[++i];
    } else if (words[i] == "--jobs" && has_value) {
      out.jobs = std::stoi(words[++i]);
    } else if (numbers++ == 0) {
      out.seeds = std::stoi(words[i]);
    } else {
      out.first = std::stoull(words[i]);
    }
  }
  return out;
}

}  // namespace
}  // namespace exhume

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  return exhume::battery(exhume::parse({argv + 1, argv + argc}));
}
