#include "oracle/input_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "exhume/error.h"
#include "io/open.h"

namespace exhume {
namespace {

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

std::optional<std::vector<double>> numbers_in(std::string_view text) {
  std::vector<double> out;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view word = without_blanks(text.substr(0, comma));
    if (word.starts_with('+')) word.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (word.empty() || error != std::errc() || end != word.data() + word.size() || !std::isfinite(value))
      return std::nullopt;
    out.push_back(value);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Vector ends_of_inputs(const std::string& text, Index inputs, const std::string& what) {
  std::optional<std::vector<double>> numbers = numbers_in(text);
  if (!numbers) {
    std::error_code none;
    if (!std::filesystem::exists(text, none)) {
      throw std::invalid_argument(fmt::format(
          "{} is '{}', which is no number, no list of numbers and no file", what, text.substr(0, 60)));
    }
    const TablePtr table = open_table(text);
    if (table->cols() > inputs || table->rows() > inputs || table->rows() * table->cols() > inputs) {
      throw std::invalid_argument(fmt::format("{} is a table of {} x {} numbers, but there are {} inputs",
                                              what, table->rows(), table->cols(), inputs));
    }
    const RowMatrix all = read_all(*table);
    numbers.emplace(all.data(), all.data() + all.size());
  }
  if (numbers->size() == 1) return Vector::Constant(inputs, numbers->front());
  if (static_cast<Index>(numbers->size()) != inputs) {
    throw std::invalid_argument(
        fmt::format("{} has {} numbers, but there are {} inputs: give one, or one for each", what,
                    numbers->size(), inputs));
  }
  return Eigen::Map<const Vector>(numbers->data(), inputs);
}

Box box_of_table(const std::string& path, Index inputs, const Control& control) {
  constexpr Index kRows = 4096;
  const TablePtr table = open_table(path, control);
  if (table->cols() != inputs) {
    throw DataError(fmt::format("{} has {} columns, but there are {} inputs; leave out columns that are none",
                                path, table->cols(), inputs));
  }
  if (table->rows() == 0) throw DataError(fmt::format("{} has no rows, so no ranges", path));
  Vector lows = Vector::Constant(inputs, std::numeric_limits<double>::infinity()), highs = -lows;
  RowMatrix block;
  for (Index first = 0; first < table->rows(); first += kRows) {
    control.check();
    block.resize(std::min(kRows, table->rows() - first), inputs);
    table->read(first, block.rows(), block.data());
    lows = lows.cwiseMin(block.colwise().minCoeff().transpose());
    highs = highs.cwiseMax(block.colwise().maxCoeff().transpose());
  }
  return Box::of(lows, highs);
}

}  // namespace exhume
