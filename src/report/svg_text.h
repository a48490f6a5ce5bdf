// Pieces that all drawings are made of.
#pragma once

#include <string>
#include <string_view>

namespace exhume::svg {

inline constexpr double kFont = 12.5;
inline constexpr double kLargerText = 1.2;  // on phones, against the guess below

// Text is set by the viewer's font, so its width is a guess: a little over half an em a character.
[[nodiscard]] double text_width(std::string_view text);
// So many letters at most, the last an ellipsis where some were cut off.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t letters);
[[nodiscard]] std::string open_svg(double width, double height, std::string_view title);
// Escaped; `extra` goes into the tag.
[[nodiscard]] std::string text(double x, double y, std::string_view anchor, std::string_view words,
                               std::string_view extra = "");

}  // namespace exhume::svg
