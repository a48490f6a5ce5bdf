// A program that is asked over its standard input and output.
//
// At first it may say     {"inputs": d, "outputs": m}\n   and "batch": n for at most n rows at once; it must
//                                                         where nobody else says how many inputs there are
// For every batch, raw:    {"rows": n, "inputs": d}\n   then n x d doubles, little-endian, row by row
//        it answers        {"rows": n, "outputs": m}\n  then n x m doubles
//
// or text: n lines of d numbers with commas between them in, n lines of m numbers out.
//
// The program is started through the shell, by the first batch or for its first line, in a process group of
// its own, and lives until the oracle goes: its input is closed, and if it does not end by itself it is
// ended. Its death, silence beyond the time-out, answers that are none and answers that are too large
// (65,536 outputs, 1 GiB per batch) are DataErrors of one sentence. While it is waited for, interruption
// works.
#pragma once

#include <functional>
#include <string>

#include "exhume/oracle.h"

namespace exhume {

struct CommandOptions {
  Index inputs = 0;  // 0: the program says it
  bool text = false;
  Index batch_rows = 4096;
  double timeout_seconds = 60;  // for the answer to one batch
  // The beginning of what the program writes to its error output; called once at most.
  std::function<void(const std::string&)> on_complaint{};
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// Without inputs it starts the program and waits for its first line; throws DataError where none comes.
[[nodiscard]] OraclePtr command_oracle(std::string command, const CommandOptions& options,
                                       const Control& control = {});

}  // namespace exhume
