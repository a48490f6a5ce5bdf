// exhume generate --cnf: a formula as rows.
//
// Paper rectified, Section 3: two units with these outputs exist exactly where the formula is satisfiable.
#pragma once

#include <string>

#include "command.h"

namespace exhume::cli {

// Reads the 6-CNF in the DIMACS file `path` and writes x.npy and y.npy into the folder `out`; an exit code.
int generate_formula(const std::string& path, const std::string& out, const Session& session);

}  // namespace exhume::cli
