#include "oracle/command_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/json.h"
#include "exhume/error.h"
#include "oracle/child_process.h"

namespace exhume {
namespace {

static_assert(std::endian::native == std::endian::little, "the byte order of queries and answers");

constexpr std::size_t kLongestHeader = 4096, kLongestLine = std::size_t{1} << 24;
// Inputs: an image of 2,048 x 2,048. A first few queries and the directions in which an extraction begins
// take some gigabytes with more.
constexpr Index kMostInputs = Index{1} << 22, kMostOutputs = Index{1} << 16, kMostBatch = Index{1} << 20;
constexpr std::size_t kLargestAnswer = std::size_t{1} << 30;  // bytes

class CommandOracle final : public Oracle {
 public:
  CommandOracle(std::string command, const CommandOptions& options)
      : command_(std::move(command)), options_(options) {}

  [[nodiscard]] Index inputs() const override { return options_.inputs; }
  [[nodiscard]] std::string name() const override { return command_; }
  [[nodiscard]] Index batch_rows() const override { return options_.batch_rows; }

  // Starts the program and waits for its first line.
  void introduce(const Control& control) {
    child_.emplace(command_);
    std::string in;
    exchange(
        "", in,
        [&](const std::string& so_far) {
          if (so_far.size() > kLongestHeader && so_far.find('\n') == std::string::npos)
            fail("did not begin with a line of JSON");
          return so_far.find('\n') != std::string::npos;
        },
        control, "say how many inputs it has, in a first line {\"inputs\": d, \"outputs\": m}");
    if (!is_greeting(in)) {
      fail(fmt::format("began with '{}', not with {{\"inputs\": d, \"outputs\": m}}",
                       in.substr(0, std::min<std::size_t>(in.find('\n'), 60))));
    }
    greeted_ = true;
    take_greeting(in);
    if (!in.empty()) fail("said more than its first line before it was asked");
  }

  [[nodiscard]] RowMatrix answer(const Eigen::Ref<const RowMatrix>& x, const Control& control) override {
    if (hung_) fail("did not answer in time before, and is not asked again");
    if (!broken_.empty()) fail(broken_);
    if (!child_) child_.emplace(command_);
    return options_.text ? as_text(x, control) : raw(x, control);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(fmt::format("'{}' {}", command_, what));
  }

  void exchange(const std::string& out, std::string& in,
                const std::function<bool(const std::string&)>& enough, const Control& control,
                const char* what = "answer") {
    const ChildProcess::End end = child_->exchange(out, in, enough, options_.timeout_seconds, control);
    if (end == ChildProcess::End::kEnough) {
      show_complaint();
      return;
    }
    if (end == ChildProcess::End::kTimeOut) {
      hung_ = true;
      show_complaint();
      fail(fmt::format("did not {} within {:g} seconds; allow more, or ask for fewer rows at once", what,
                       options_.timeout_seconds));
    }
    const std::string ending = child_->ending(), words = child_->last_words();
    show_complaint();
    child_.reset();  // the next query starts it again
    greeted_ = false;
    fail(fmt::format("{} before it had answered; {}", ending,
                     words.empty() ? "run it by hand to see why" : fmt::format("it said: {}", words)));
  }

  void show_complaint() {
    if (shown_ || child_->complaint().empty()) return;
    shown_ = true;
    if (options_.on_complaint) options_.on_complaint(child_->complaint());
  }

  // Whether the first line of an answer is a greeting instead: a JSON object with inputs and without rows.
  [[nodiscard]] static bool is_greeting(const std::string& in) {
    const std::size_t line = in.find('\n');
    if (line == std::string::npos || !in.starts_with('{')) return false;
    const Json json = parsed(in.substr(0, line));
    return json.is_object() && json.contains("inputs") && !json.contains("rows");
  }

  // Takes the greeting off the front of `in`.
  void take_greeting(std::string& in) {
    const std::size_t line = in.find('\n');
    const Json json = parsed(in.substr(0, line));
    in.erase(0, line + 1);
    const auto whole = [&](const char* key, Index most, Index otherwise) {
      const Json& value = at(json, key);
      if (value.is_null()) return otherwise;
      if (!value.is_number_integer() || value.get<std::int64_t>() < 1 || value.get<std::int64_t>() > most)
        fail(fmt::format("announced {} {}; there may be {}", to_line(value).substr(0, 40), key, most));
      return static_cast<Index>(value.get<std::int64_t>());
    };
    const Index inputs = whole("inputs", kMostInputs, options_.inputs);
    if (options_.inputs > 0 && inputs != options_.inputs)
      fail(broken_ = fmt::format("has {} inputs, as it says, not {}", inputs, options_.inputs));
    options_.inputs = inputs;
    (void)whole("outputs", kMostOutputs, 1);
    options_.batch_rows = std::min(options_.batch_rows, whole("batch", kMostBatch, options_.batch_rows));
  }

  // True once a greeting that came first is off `in`, or none came; false while it may still be one.
  bool past_greeting(std::string& in) {
    if (greeted_) return true;
    if (in.empty()) return false;
    if (in.front() == '{' && in.find('\n') == std::string::npos) return in.size() > kLongestHeader;
    greeted_ = true;
    if (is_greeting(in)) take_greeting(in);
    return true;
  }

  [[nodiscard]] RowMatrix raw(const Eigen::Ref<const RowMatrix>& x, const Control& control) {
    const Index n = x.rows();
    std::string out = fmt::format("{{\"rows\": {}, \"inputs\": {}}}\n", n, x.cols());
    const RowMatrix rows = x;
    out.append(reinterpret_cast<const char*>(rows.data()),
               sizeof(double) * static_cast<std::size_t>(rows.size()));
    std::string in;
    std::size_t line = std::string::npos, needed = 0;
    Index outputs = 0;
    exchange(
        out, in,
        [&](const std::string& so_far) {
          if (!past_greeting(in)) return false;
          if (line == std::string::npos) {
            line = so_far.find('\n');
            if (line == std::string::npos) {
              if (so_far.size() > kLongestHeader) fail("did not begin its answer with a line of JSON");
              return false;
            }
            outputs = outputs_of(so_far.substr(0, line), n);
            needed = line + 1 + sizeof(double) * static_cast<std::size_t>(n * outputs);
          }
          return so_far.size() >= needed;
        },
        control);
    if (in.size() > needed) fail(fmt::format("sent {} bytes more than it announced", in.size() - needed));
    RowMatrix y(n, outputs);
    std::memcpy(y.data(), in.data() + line + 1, sizeof(double) * static_cast<std::size_t>(y.size()));
    return y;
  }

  [[nodiscard]] Index outputs_of(const std::string& header, Index rows) const {
    const Json json = parsed(header);
    const Json &n = at(json, "rows"), &m = at(json, "outputs");
    if (!n.is_number_integer() || !m.is_number_integer()) {
      fail(fmt::format("began its answer with '{}', not with {{\"rows\": {}, \"outputs\": m}}",
                       header.substr(0, 60), rows));
    }
    if (n.get<std::int64_t>() != rows)
      fail(fmt::format("answered {} rows to {} queries", n.get<std::int64_t>(), rows));
    const auto outputs = m.get<std::int64_t>();
    if (outputs < 1 || outputs > kMostOutputs)
      fail(fmt::format("announced {} outputs; there may be {}", outputs, kMostOutputs));
    if (static_cast<std::size_t>(outputs) >
        kLargestAnswer / sizeof(double) / static_cast<std::size_t>(rows)) {
      fail(fmt::format(
          "announced {} outputs to each of {} queries, which is more than {} MiB; ask for fewer rows "
          "at once",
          outputs, rows, kLargestAnswer >> 20));
    }
    return static_cast<Index>(outputs);
  }

  [[nodiscard]] RowMatrix as_text(const Eigen::Ref<const RowMatrix>& x, const Control& control) {
    const Index n = x.rows();
    std::string out;
    for (Index i = 0; i < n; ++i) {
      for (Index a = 0; a < x.cols(); ++a) {
        char digits[32];
        const auto end = std::to_chars(digits, digits + sizeof digits, x(i, a)).ptr;
        if (a > 0) out += ',';
        out.append(digits, end);
      }
      out += '\n';
    }
    std::string in;
    Index lines = 0;
    std::size_t seen = 0;
    exchange(
        out, in,
        [&](const std::string& so_far) {
          if (!past_greeting(in)) return false;
          lines += std::count(so_far.begin() + static_cast<std::ptrdiff_t>(seen), so_far.end(), '\n');
          seen = so_far.size();
          const std::size_t last = so_far.rfind('\n');
          if (so_far.size() - (last == std::string::npos ? 0 : last) > kLongestLine)
            fail("sent a line that does not end");
          if (so_far.size() > kLargestAnswer)
            fail(fmt::format("answered {} queries with more than {} MiB", n, kLargestAnswer >> 20));
          return lines >= n;
        },
        control);
    if (lines > n || in.back() != '\n') fail(fmt::format("answered more than {} lines to {} queries", n, n));
    return parse_lines(in, n);
  }

  [[nodiscard]] RowMatrix parse_lines(const std::string& text, Index n) const {
    RowMatrix y;
    const char* at = text.data();
    for (Index i = 0; i < n; ++i) {
      const char* end = std::find(at, text.data() + text.size(), '\n');
      const Index columns = 1 + std::count(at, end, ',');
      if (columns > kMostOutputs)
        fail(fmt::format("gave {} outputs; there may be {}", columns, kMostOutputs));
      if (i == 0) y.resize(n, columns);
      if (columns != y.cols())
        fail(fmt::format("gave {} numbers in line {} and {} in the first", columns, i + 1, y.cols()));
      for (Index o = 0; o < columns; ++o) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '+')) ++at;
        const auto [next, error] = std::from_chars(at, end, y(i, o));
        const char* after = next;
        while (after < end && (*after == ' ' || *after == '\r' || *after == '\t')) ++after;
        if (error != std::errc() || (after != end && *after != ',')) {
          fail(fmt::format("answered '{}', which is no row of numbers",
                           std::string(at, std::min<std::ptrdiff_t>(end - at, 40))));
        }
        at = after + 1;
      }
      at = end + 1;
    }
    return y;
  }

  std::string command_;
  CommandOptions options_;
  std::optional<ChildProcess> child_;
  bool hung_ = false;
  std::string broken_;    // what it says of itself and cannot be
  bool greeted_ = false;  // a greeting has come, or something else in its place
  bool shown_ = false;    // what it wrote to its error output
};

}  // namespace

void CommandOptions::validate() const {
  if (inputs < 0) throw std::invalid_argument(fmt::format("inputs is {}, but must be at least 1", inputs));
  if (batch_rows < 1)
    throw std::invalid_argument(fmt::format("batch_rows is {}, but must be at least 1", batch_rows));
  if (!(timeout_seconds > 0))
    throw std::invalid_argument(fmt::format("timeout_seconds is {}, but must be above 0", timeout_seconds));
}

OraclePtr command_oracle(std::string command, const CommandOptions& options, const Control& control) {
  options.validate();
  if (command.empty()) throw std::invalid_argument("the command is empty; give a program to ask");
  auto oracle = std::make_shared<CommandOracle>(std::move(command), options);
  if (options.inputs == 0) oracle->introduce(control);
  return oracle;
}

}  // namespace exhume
