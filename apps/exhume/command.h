// A subcommand: declares its options, then runs.
//
// main() parses, makes a Session for the one that was asked for, runs it, and turns what it throws into an
// exit code. A command returns its exit code, writes data to stdout through put() and nothing else anywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "engine/ranks.h"
#include "exhume/control.h"
#include "terminal.h"

namespace exhume::cli {

// The exit codes of the command line.
enum ExitCode : int {
  kOk = 0,             // recovered and certified; or simply done
  kInternalError = 1,  // a bug
  kUsage = 2,
  kNotCertified = 3,  // finished, but not certified, or worse than the tolerance
  kBadData = 4,
  kResourceLimit = 5,
  kInterrupted = 130,
};

// What a running command is given.
struct Session {
  Control control;      // threads, progress, Ctrl-C
  bool quiet = false;   // no progress, no summary
  bool json = false;    // one JSON document on stdout
  bool force = false;   // files that no earlier run wrote may be overwritten
  std::string sign;     // private key to sign the certificate with; empty: it is not signed
  std::string command;  // the command line as a shell would read it again
  // Where a launcher started several processes for one job; only the first of them writes and shows results.
  std::shared_ptr<RankPasses> ranks;
  [[nodiscard]] bool leads() const { return !ranks || ranks->rank() == 0; }
  // What a command answers: the document with --json, otherwise text() unless --quiet.
  template <class Text>
  void show(const Json& document, const Text& text) const {
    if (json) {
      put(to_text(document) + "\n");
    } else if (!quiet) {
      put(text());
    }
  }
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  mutable std::string checkpoint;  // folder from which an interrupted command goes on; empty: it does not
};

class Command {
 public:
  virtual ~Command() = default;
  // Adds the subcommand to `parent` and returns it.
  virtual CLI::App* declare(CLI::App& parent) = 0;
  virtual int run(const Session& session) = 0;
  // Does it write a network that may stand in the way of another?
  [[nodiscard]] virtual bool overwrites() const { return certifies(); }
  // Does it write a certificate, which may be signed?
  [[nodiscard]] virtual bool certifies() const { return false; }
  // Can several processes share its work?
  [[nodiscard]] virtual bool shares() const { return false; }
};

// Options whose text names a file or a folder: help and completion say so.
template <class Text>
CLI::Option* add_file(CLI::App& app, const std::string& names, Text& text, const std::string& about) {
  return app.add_option(names, text, about)->type_name("FILE");
}
template <class Text>
CLI::Option* add_folder(CLI::App& app, const std::string& names, Text& text, const std::string& about) {
  return app.add_option(names, text, about)->type_name("DIR");
}

}  // namespace exhume::cli
