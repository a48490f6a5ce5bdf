// A program that is asked over its standard input and output.
//
// For every batch, raw:    {"rows": n, "inputs": d}\n   then n x d doubles, little-endian, row by row
//        it answers        {"rows": n, "outputs": m}\n  then n x m doubles
//
// or text: n lines of d numbers with commas between them in, n lines of m numbers out.
//
// The program is started by the first batch through the shell, in a process group of its own, and lives until
// the oracle goes: its input is closed, and if it does not end by itself it is ended. Its death, silence
// beyond the time-out and answers that are none are DataErrors of one sentence. While it is waited for,
// interruption works.
#pragma once

#include <string>

#include "exhume/oracle.h"

namespace exhume {

struct CommandOptions {
  Index inputs = 0;
  bool text = false;
  Index batch_rows = 4096;
  double timeout_seconds = 60;  // for the answer to one batch
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

[[nodiscard]] OraclePtr command_oracle(std::string command, const CommandOptions& options);

}  // namespace exhume
