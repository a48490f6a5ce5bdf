#include "report/report_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/svg.h"

namespace exhume {
namespace {

constexpr const char* kStyle = R"css(:root {
  color-scheme: light dark;
  --p-page: #f4f6f9; --p-card: #ffffff; --p-edge: #dfe4ea; --p-good: #00734f; --p-good-soft: #e2f4ed;
  --p-warn: #9a4a00; --p-warn-soft: #fdeedd; --p-bad: #a3224a; --p-bad-soft: #fbe6ec;
}
@media (prefers-color-scheme: dark) {
  :root {
    --p-page: #0d1117; --p-card: #161b22; --p-edge: #2a323d; --p-good: #4fd6a7; --p-good-soft: #10332a;
    --p-warn: #ffb066; --p-warn-soft: #3a2713; --p-bad: #ff8fae; --p-bad-soft: #3d1824;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--p-page); color: var(--c-ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 48px;
  display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); grid-auto-flow: dense; gap: 20px; }
header, .wide { grid-column: 1 / -1; }
header p.brand { margin: 0 0 14px; color: var(--c-soft); font-size: 14px; letter-spacing: .02em; }
header h1 { margin: 0 0 10px; font-size: 26px; line-height: 1.3; font-weight: 650; max-width: 34em;
  text-wrap: pretty; overflow-wrap: anywhere; }
header p.reason { margin: 0; max-width: 60em; color: var(--c-soft); overflow-wrap: anywhere; }
.badge { display: inline-block; padding: 3px 12px; border-radius: 99px; font-size: 14px; font-weight: 650;
  margin-bottom: 12px; }
.certified { color: var(--p-good); background: var(--p-good-soft); }
.estimated { color: var(--p-good); background: var(--p-good-soft); }
.uncertified { color: var(--p-warn); background: var(--p-warn-soft); }
.refused { color: var(--p-bad); background: var(--p-bad-soft); }
section { background: var(--c-paper); border: 1px solid var(--p-edge); border-radius: 12px;)css"
                               R"css( padding: 18px 20px 20px;
  min-width: 0; }
h2 { margin: 0 0 4px; font-size: 17px; font-weight: 650; }
section > p { margin: 0 0 12px; color: var(--c-soft); font-size: 14.5px; overflow-wrap: anywhere; }
dl.facts { grid-column: 1 / -1; display: flex; flex-wrap: wrap; gap: 1px; margin: 0;)css"
                               R"css( background: var(--p-edge);
  border: 1px solid var(--p-edge); border-radius: 12px; overflow: hidden; }
dl.facts div { flex: 1 1 230px; background: var(--c-paper); padding: 12px 20px; }
dl.facts dt { font-size: 13px; color: var(--c-soft); }
dl.facts dd { margin: 0; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
sup { font-size: .7em; line-height: 0; }
.nowrap { white-space: nowrap; }
.scroll { overflow-x: auto; }
.broad .chart { min-width: 640px; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--c-soft); font-size: 13px; }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--p-edge); vertical-align: top; }
td { overflow-wrap: break-word; }
td.phrase { min-width: 6em; overflow-wrap: anywhere; }
td:first-child { min-width: 2.5em; }
td.name { white-space: nowrap; }
td.name + td:not(.number) { overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
th.number, td.number { text-align: right; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 2px; }
.mark { font-weight: 700; white-space: nowrap; }
.yes { color: var(--p-good); } .no { color: var(--p-bad); }
pre { margin: 0 0 12px; padding: 12px 14px; background: var(--p-page); border-radius: 8px; font-size: 13.5px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
tr.required td:first-child { font-weight: 600; }
p.conclusion { margin: 0 0 10px; color: inherit; font-size: 16px; }
section ul { margin: 0; padding-left: 1.3em; font-size: 14.5px; color: var(--c-soft); }
code { font-size: 12.5px; overflow-wrap: anywhere; color: var(--c-soft); }
section.next { border-left: 5px solid var(--p-warn); }
section.next ol { margin: 8px 0 0; padding-left: 1.4em; }
section.next li { margin: 4px 0; }
.lines { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr)); gap: 14px; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 240px), 1fr)); gap: 14px; }
.plots div { min-width: 0; }
.lines h3, .plots h3 { margin: 0 0 4px; font-size: 13px; font-weight: 600; color: var(--c-soft); }
.lines pre { white-space: pre; overflow-x: auto; overflow-wrap: normal; margin: 0; font-size: 12.5px; }
.lines div { min-width: 0; }
a { color: var(--c-0); }
details summary { cursor: pointer; color: var(--c-soft); font-size: 14.5px; margin-top: 8px; }
footer { grid-column: 1 / -1; color: var(--c-soft); font-size: 13.5px; text-align: center; }
@media screen and (max-width: 760px) {
  main { grid-template-columns: minmax(0, 1fr); padding: 20px 12px 32px; gap: 14px; }
  header h1 { font-size: 21px; }
  section { padding: 14px 14px 16px; }
  dl.facts div { flex-basis: 150px; padding: 10px 12px; }
  th, td { padding-right: 7px; }
  dl.facts dd { font-size: 17px; }
  .chart text { font-size: 14.5px; }
  table { font-size: 13.5px; }
  th.number { white-space: normal; }
  .lines pre { white-space: pre-wrap; overflow-wrap: anywhere; }
  .plots { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
}
@media print {
  body { background: none; font-size: 9.5pt; }
  main { padding: 0; gap: 10px; }
  header h1 { font-size: 15pt; }
  section { padding: 10px 12px; }
  section > p, table, pre { font-size: 9pt; }
  dl.facts div { flex-basis: 140px; padding: 7px 12px; }
  dl.facts dd { font-size: 12pt; }
  .chart text { font-size: 14.5px; }
  section, dl.facts, figure { break-inside: avoid; }
  section.long { break-inside: auto; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
)css";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}
// May a number begin after this character?
bool starts_number(char c) { return !is_digit(c) && !is_letter(c) && c != '.' && c != '/' && c != '-'; }
// Does what began as a number turn out to be a word, a version or a name?
bool goes_on(std::string_view rest) {
  if (is_letter(rest[0]) || rest[0] == '/' || rest[0] == '-') return true;
  return rest[0] == '.' && rest.size() > 1 && (is_digit(rest[1]) || is_letter(rest[1]));
}

// Behind the digits, the decimals and the power of ten that begin at `from`.
std::size_t number_end(std::string_view text, std::size_t from) {
  std::size_t at = from;
  const auto digits = [&] {
    while (at < text.size() && is_digit(text[at])) ++at;
  };
  digits();
  if (at + 1 < text.size() && text[at] == '.' && is_digit(text[at + 1])) {
    ++at;
    digits();
  }
  if (at < text.size() && text[at] == 'e') {
    const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '-' || text[at + 1] == '+') ? 1 : 0;
    // Four digits are more than any power of a double has.
    std::size_t power = at + 1 + sign;
    while (power < text.size() && power < at + 6 && is_digit(text[power])) ++power;
    if (power > at + 1 + sign && power < at + 6) at = power;
  }
  return at;
}

// Is the number before `rest` one of rows, units and the like?
bool counts_something(std::string_view rest) {
  for (const std::string_view word :
       {" samples", " rows", " of ", " hidden", " units", " queries", " fresh", " values", " boxes"})
    if (rest.starts_with(word)) return true;
  return false;
}

// "1.4e-15" as HTML.
std::string power_of_ten(const std::string& text) {
  const std::size_t e = text.find('e');
  std::string factor = text.substr(0, e);
  if (factor[0] == '-') factor = "−" + factor.substr(1);
  const int power = std::stoi(text.substr(e + 1));
  if (power >= -3 && power <= 4) return fmt::format("{:g}", std::stod(text));
  return fmt::format("<span class=\"nowrap\">{} × 10<sup>{}{}</sup></span>", factor, power < 0 ? "−" : "",
                     std::abs(power));
}

}  // namespace

std::string page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      svg::escape(title), svg::style(), kStyle, body);
}

std::string section(std::string_view heading, std::string_view words, std::string_view content,
                    std::string_view extra_class) {
  return fmt::format("<section{}>\n<h2>{}</h2>\n{}{}</section>\n",
                     extra_class.empty() ? "" : fmt::format(" class=\"{}\"", extra_class),
                     svg::escape(heading), words.empty() ? "" : fmt::format("<p>{}</p>\n", words), content);
}

std::string pretty(double value, bool aligned) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1e-3 && size < 1e5) {
    const std::string text = aligned ? fmt::format("{:#.4g}", value) : fmt::format("{:.4g}", value);
    return text[0] == '-' ? "−" + text.substr(1) : text;
  }
  return power_of_ten(fmt::format("{:.2e}", value));
}

std::string grouped(double value) { return svg::group_thousands(fmt::format("{:.0f}", value)); }

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string typeset(std::string_view text) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    // "f <= 2^-3" as HTML; an exponent follows a number or a closing bracket.
    if (const std::string_view two = text.substr(at, 2); two == "<=" || two == ">=") {
      out += two == "<=" ? "≤" : "≥";
      at += 2;
      continue;
    }
    if (text[at] == '^' && at > 0 && (is_digit(text[at - 1]) || text[at - 1] == ']')) {
      const std::size_t sign = at + 1 < text.size() && text[at + 1] == '-' ? 1 : 0;
      const std::size_t stop = std::min(text.find_first_not_of("0123456789.", at + 1 + sign), text.size());
      const std::size_t last = text[stop - 1] == '.' ? stop - 1 : stop;  // the end of a sentence
      if (last > at + 1 + sign) {
        out += fmt::format("<sup>{}{}</sup>", sign > 0 ? "−" : "",
                           text.substr(at + 1 + sign, last - at - 1 - sign));
        at = last;
        continue;
      }
    }
    // A minus before a number, where no word, name, path or option goes on.
    if (text[at] == '-' && at + 1 < text.size() && is_digit(text[at + 1]) &&
        (at == 0 || std::string_view(" ([,").find(text[at - 1]) != std::string_view::npos)) {
      const std::size_t end = number_end(text, at + 1);
      if (end == text.size() || !goes_on(text.substr(end))) {
        const std::string_view number = text.substr(at + 1, end - at - 1);
        out += "−" + (number.find('e') == std::string_view::npos ? std::string(number)
                                                                 : power_of_ten(std::string(number)));
        at = end;
        continue;
      }
    }
    // A number begins where no word, name or path goes on.
    const bool starts = is_digit(text[at]) && (at == 0 || starts_number(text[at - 1]));
    const std::size_t end = starts ? number_end(text, at) : at;
    if (!starts || (end < text.size() && goes_on(text.substr(end)))) {
      std::size_t next = std::max(end, at + 1);
      while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0U) == 0x80) ++next;  // UTF-8
      out += svg::escape(text.substr(at, next - at));
      at = next;
      continue;
    }
    const std::string_view number = text.substr(at, end - at);
    if (number.find('e') != std::string_view::npos) {
      out += power_of_ten(std::string(number));
    } else if (counts_something(text.substr(end)) && number.find('.') == std::string_view::npos) {
      out += svg::group_thousands(number);
    } else {
      out += number;
    }
    at = end;
  }
  return out;
}

}  // namespace exhume
