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

}  // namespace exhume
