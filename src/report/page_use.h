// What a reader does with a result: the next steps where it is not certified, the lines that load it, and how
// to make it again. Drawn from the certificate alone.
#pragma once

#include <string>

#include "base/json.h"

namespace exhume {

// What failed and what to do next; empty where the result stands.
[[nodiscard]] std::string next_section(const Json& json);
// The files beside the certificate, and three lines a language that load the network.
[[nodiscard]] std::string use_section(const Json& json);
// Command, options, files with their digests, machine and date.
[[nodiscard]] std::string reproduce_section(const Json& json);

// "2 cores, 2 threads, OpenBLAS kernels for Haswell · 2026-11-16 06:52 UTC"; empty where nothing is known.
[[nodiscard]] std::string where_and_when(const Json& json);

}  // namespace exhume
