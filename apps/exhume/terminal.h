// What the terminal can do, and words for it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "exhume/types.h"

namespace exhume::cli {

// A terminal that takes escape codes. `descriptor` is 1 for stdout, 2 for stderr.
[[nodiscard]] bool is_terminal(int descriptor);
// The same, and NO_COLOR is not set.
[[nodiscard]] bool has_colour(int descriptor);

// Columns of that terminal; where it is none, 80.
[[nodiscard]] int columns(int descriptor);

enum class Tone { kPlain, kBold, kSoft, kGood, kWarn, kBad };
// `text` in this tone on stdout, or as it is where stdout has no colour.
[[nodiscard]] std::string toned(Tone tone, std::string_view text);

// "1,234,567"
[[nodiscard]] std::string grouped(Index value);
// "35 ms", "1.24 s", "3 min 20 s"
[[nodiscard]] std::string duration(double seconds);
// Words of a command line so that a shell reads them back as they were.
[[nodiscard]] std::string shell_quoted(std::string_view word);
// Opens /dev/null in place of standard streams that are closed: otherwise the next file that is opened would
// get the number of such a stream, and messages would be written into it. To be called before any file is
// opened; writing to such a stream then fails.
void hold_standard_streams();
// Sets what put() and complain() do before they print, such as erasing the line of progress. Null: nothing.
void before_output(std::function<void()> what);
// Data to stdout, all of it; a reader that went away ends the program quietly.
void put(std::string_view text);
// Without control characters, which a terminal would obey: blanks stand for them.
[[nodiscard]] std::string printable(std::string_view text);
// "exhume: <sentence>" to stderr, without control characters.
void complain(std::string_view sentence);

}  // namespace exhume::cli
