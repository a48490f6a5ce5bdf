// The frame of an HTML report: style sheet, head and the small pieces its sections are made of.
#pragma once

#include <string>
#include <string_view>

namespace exhume {

// A whole page. `title` is text; `body` is HTML.
[[nodiscard]] std::string page(std::string_view title, std::string_view body);

// A section with a heading (text), words below it (HTML, may be empty) and its content (HTML).
[[nodiscard]] std::string section(std::string_view heading, std::string_view words, std::string_view content,
                                  std::string_view extra_class = "");

// A sentence as HTML: escaped, its numbers in the page's one notation and never broken over lines: 1.4e-15 is
// written 1.4 × 10⁻¹⁵, and 20000 rows are 20,000.
// The same beginning with a capital letter.
[[nodiscard]] std::string capitalised(std::string text);
[[nodiscard]] std::string typeset(std::string_view text);

// A whole number with a comma before every three digits.
[[nodiscard]] std::string grouped(double value);

// Three digits; powers of ten as a reader would write them: 2.41 × 10⁻³¹. `aligned` keeps trailing zeros, for
// columns.
[[nodiscard]] std::string pretty(double value, bool aligned = false);

}  // namespace exhume
