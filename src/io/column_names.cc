#include "io/column_names.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace exhume {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool skip(std::string_view& rest, std::string_view word) {
  if (!rest.starts_with(word)) return false;
  rest.remove_prefix(word.size());
  return true;
}

// The digits at the front of `rest`, which it loses.
std::string_view take_number(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && is_digit(rest[size])) ++size;
  const std::string_view digits = rest.substr(0, size);
  rest.remove_prefix(size);
  return digits;
}

// The name of column `digits`, counted from `first`; empty where there is none.
std::string name_of(std::string_view digits, const std::vector<std::string>& names, std::uint64_t first) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || number < first || number - first >= names.size()) return "";
  return "'" + names[number - first] + "'";
}

// "inputs: row 3, column 2 (counting from 0)" and its like at the front of `rest`, which loses it; empty
// where that is not what stands there.
std::string named_columns(std::string_view& rest, const std::vector<std::string>& names) {
  std::string_view left = rest;
  std::string row;
  if (skip(left, "row ")) {
    row = "row " + std::string(take_number(left)) + ", ";
    if (!skip(left, ", ")) return "";
  }
  std::string word = "column";
  if (!skip(left, "column")) return "";
  if (skip(left, "s")) word += "s";
  if (!skip(left, " ")) return "";
  std::string numbers, quoted;
  while (true) {
    const std::string_view digits = take_number(left);
    const std::string name = name_of(digits, names, 0);
    if (name.empty()) return "";
    numbers += digits;
    quoted += name;
    std::string between;
    if (skip(left, ", ")) {
      between = ", ";
    } else if (left.starts_with(" and ")) {
      left.remove_prefix(5);
      between = " and ";
    } else {
      break;
    }
    numbers += between;
    quoted += between;
  }
  if (!skip(left, " (counting from 0)")) return "";
  rest = left;
  return row + word + " " + quoted + " (" + numbers + ", counting from 0)";
}

}  // namespace

std::string with_column_names(const std::string& sentence, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
  std::string out;
  std::string_view rest = sentence;
  while (!rest.empty()) {
    const bool at_word = out.empty() || out.back() == ' ' || out.back() == '(';
    std::string_view left = rest;
    if (at_word && (skip(left, "inputs: ") || skip(left, "x: "))) {
      out += rest.substr(0, rest.size() - left.size());
      out += named_columns(left, inputs);
      rest = left;
      continue;
    }
    if (at_word && (skip(left, "outputs: ") || skip(left, "y: "))) {
      out += rest.substr(0, rest.size() - left.size());
      out += named_columns(left, outputs);
      rest = left;
      continue;
    }
    if (at_word && skip(left, "input ")) {
      const std::string_view digits = take_number(left);
      const std::string name = name_of(digits, inputs, 1);
      if (!name.empty()) {
        out += "input " + std::string(digits) + " (" + name + ")";
        rest = left;
        continue;
      }
    }
    out += rest.front();
    rest.remove_prefix(1);
  }
  return out;
}

}  // namespace exhume
