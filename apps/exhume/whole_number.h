// Whole numbers as people write them: 1000000, 1e6, 2.5e4, 1_000_000.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace exhume::cli {

// The digits of such a number, or `text` as it is where it is none.
[[nodiscard]] std::string whole_digits(const std::string& text);

// Lets every option of `app` that takes a whole number take it so.
void accept_whole_numbers(CLI::App& app);

}  // namespace exhume::cli
