// Text in lines of a given width. Counts characters, not bytes.
#pragma once

#include <string>
#include <string_view>

namespace exhume::cli {

// The words of `text` in lines of at most `width` characters, the first one after `first` characters that are
// there already, all others indented by `indent`. A word that is longer has a line of its own.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent, int first);

// Paragraphs of a footer: lines that begin with a letter flow together; lines that begin with blanks stay,
// and where they are too long go on below, a command line with a backslash so that it can still be copied.
[[nodiscard]] std::string wrapped_paragraphs(std::string_view text, int width);

}  // namespace exhume::cli
