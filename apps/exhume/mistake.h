// A command line that does not parse: what is wrong with it, in one sentence.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace exhume::cli {

// `arguments` are those after the program's name.
[[nodiscard]] std::string mistake(const CLI::App& program, const std::vector<std::string>& arguments,
                                  const CLI::ParseError& error);

}  // namespace exhume::cli
