#include "io/csv_cell.h"

#include <charconv>
#include <string>
#include <system_error>

namespace exhume {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string unquoted(std::string_view text) {
  text = trim(text);
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  if (!quoted) return std::string(text);
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') ++i;
  }
  return std::string(trim(out));
}

Cell parse_cell(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = trim(text.substr(1, text.size() - 2));
  if (text.empty()) return {CellKind::kEmpty, 0};

  std::string_view digits = text;  // without a sign
  if (digits.front() == '+' || digits.front() == '-') digits.remove_prefix(1);
  if (text.front() == '+') text = digits;  // from_chars takes only '-'
  if (digits.empty() || digits.front() == '+' || digits.front() == '-') return {CellKind::kText, 0};
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X'))
    return {CellKind::kHex, 0};
  const char first = digits.front();
  if (first != '.' && (first < '0' || first > '9')) {
    std::string lower(digits.substr(0, 9));
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool named = digits.size() < 9 && (lower == "nan" || lower == "inf" || lower == "infinity");
    return {named ? CellKind::kNotFinite : CellKind::kText, 0};
  }
  Cell cell{CellKind::kNumber, 0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cell.value);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return {CellKind::kText, 0};
  if (error == std::errc::result_out_of_range) return {CellKind::kOutOfRange, 0};
  return cell;
}

}  // namespace exhume
