#include "whole_number.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace exhume::cli {
namespace {

constexpr double kLargest = 9007199254740992.0;  // 2^53: doubles below it hold every whole number

}  // namespace

std::string whole_digits(const std::string& text) {
  std::string plain = text;
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  if (plain.find_first_of(".eE") == std::string::npos) return plain == text || plain.empty() ? text : plain;
  double value = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), value);
  if (error != std::errc() || end != plain.data() + plain.size()) return text;
  if (!(std::abs(value) <= kLargest) || value != std::floor(value)) return text;
  return fmt::format("{:.0f}", value);
}

void accept_whole_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (!type.starts_with("INT") && !type.starts_with("UINT")) continue;
    option->transform(CLI::Validator(
        [](std::string& text) {
          text = whole_digits(text);
          return std::string();
        },
        ""));
  }
}

}  // namespace exhume::cli
