#include "io/nnet.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "exhume/error.h"
#include "io/random_access_file.h"

namespace exhume {
namespace {

constexpr std::uint64_t kMostNnetBytes = std::uint64_t{1} << 30;
constexpr Index kMostLayers = 1000, kWidest = Index{1} << 24;

class NnetReader {
 public:
  NnetReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  NnetFile run() {
    const std::vector<double> sizes = numbers("layers, inputs, outputs and the largest width", 4);
    const Index layers = whole(sizes[0], 1, kMostLayers, "layers");
    const std::vector<double> listed = numbers("the widths", layers + 1);
    std::vector<Index> widths;
    widths.reserve(listed.size());
    for (const double width : listed) widths.push_back(whole(width, 1, kWidest, "units"));
    if (static_cast<double>(widths.front()) != sizes[1] || static_cast<double>(widths.back()) != sizes[2])
      refuse("its widths are not those of its inputs and outputs");
    (void)line();  // unused
    const Index d = widths.front();
    const std::vector<double> smallest = numbers("the smallest inputs", d),
                              largest = numbers("the largest inputs", d), means = numbers("the means", d + 1),
                              ranges = numbers("the ranges", d + 1);
    NnetFile out;
    for (std::size_t l = 0; l + 1 < widths.size(); ++l)
      out.network.layers.push_back(layer(widths[l], widths[l + 1]));
    for (std::string_view left = line(); !left.empty() || !rest_.empty(); left = line())
      if (!without_separators(left).empty()) refuse("it goes on behind its last weight");
    out.domain = domain(smallest, largest, means, ranges);
    if (out.network.depth() > 0) out.network.validate();
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw DataError(fmt::format("{}, line {}: {}; save the network again", file_, line_number_, why));
  }

  static std::string_view without_separators(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r,"), last = text.find_last_not_of(" \t\r,");
    return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
  }

  // The next line that is no comment; empty at the end.
  std::string_view line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      const std::string_view found = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++line_number_;
      if (!found.starts_with("//")) return found;
    }
    return {};
  }

  // So many numbers on the next line, with commas between them.
  std::vector<double> numbers(const char* what, Index count) {
    std::string_view left = without_separators(line());
    std::vector<double> out;
    while (!left.empty()) {
      if (static_cast<Index>(out.size()) == count)
        refuse(fmt::format("{} are more than {} numbers", what, count));
      double value = 0;
      if (left.front() == '+') left.remove_prefix(1);
      const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
      if (error != std::errc() || !std::isfinite(value))
        refuse(fmt::format("{} are not all finite numbers", what));
      out.push_back(value);
      left.remove_prefix(static_cast<std::size_t>(end - left.data()));
      const std::size_t next = left.find_first_not_of(" \t\r,");
      if (next == 0) refuse(fmt::format("{} are not numbers with commas between them", what));
      left = next == std::string_view::npos ? std::string_view() : left.substr(next);
    }
    if (static_cast<Index>(out.size()) != count)
      refuse(fmt::format("{} are {} numbers, not {}", what, out.size(), count));
    return out;
  }

  [[nodiscard]] Index whole(double value, Index least, Index most, const char* what) const {
    if (!(value >= static_cast<double>(least) && value <= static_cast<double>(most)) ||
        value != std::floor(value))
      refuse(fmt::format("{:g} {} are not between {} and {}", value, what, least, most));
    return static_cast<Index>(value);
  }

  // Rows as they come: memory follows the file, not its header.
  Layer layer(Index below, Index units) {
    std::vector<double> weights;
    for (Index i = 0; i < units; ++i) {
      const std::vector<double> row = numbers("weights", below);
      weights.insert(weights.end(), row.begin(), row.end());
    }
    Layer out;
    out.W = Eigen::Map<const RowMatrix>(weights.data(), units, below);
    out.b.resize(units);
    for (Index i = 0; i < units; ++i) out.b(i) = numbers("a constant", 1)[0];
    return out;
  }

  static Box domain(const std::vector<double>& smallest, const std::vector<double>& largest,
                    const std::vector<double>& means, const std::vector<double>& ranges) {
    const auto d = static_cast<Index>(smallest.size());
    Vector lows(d), highs(d);
    for (Index n = 0; n < d; ++n) {
      const auto i = static_cast<std::size_t>(n);
      lows(n) = (smallest[i] - means[i]) / ranges[i];
      highs(n) = (largest[i] - means[i]) / ranges[i];
    }
    const Box box = Box::of(lows, highs);
    try {
      box.validate();
    } catch (const std::invalid_argument&) {
      return {};
    }
    return box;
  }

  std::string_view rest_;
  const std::string& file_;
  Index line_number_ = 0;
};

}  // namespace

NnetFile parse_nnet(std::string_view text, const std::string& file) { return NnetReader(text, file).run(); }

NnetFile read_nnet(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  if (file.size() > kMostNnetBytes) {
    throw DataError(fmt::format("{} has {} bytes, more than a network as text should have; check the path",
                                file.name(), file.size()));
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, text.data(), text.size());
  return parse_nnet(text, file.name());
}

}  // namespace exhume
