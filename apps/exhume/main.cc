// exhume: recovers a neural network from its inputs and outputs. See command.h for how it is put together.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "../address_space.h"
#include "../fast_blas.h"
#include "../kept_memory.h"
#include "commands.h"
#include "completion.h"
#include "engine/open_mpi.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "help.h"
#include "interrupt.h"
#include "man.h"
#include "mistake.h"
#include "progress.h"
#include "session/overwrite.h"
#include "terminal.h"
#include "whole_number.h"

namespace exhume::cli {
namespace {

struct Listed {
  std::unique_ptr<Command> command;
  CLI::App* app = nullptr;
};

std::string command_line(int argc, char** argv) {
  std::string line = "exhume";
  for (int i = 1; i < argc; ++i) line += " " + shell_quoted(argv[i]);
  return line;
}

// Where mpirun or another launcher started this process as one of several: shares the passes with the others.
void join_job(const Command& command, Session& session) {
  const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (size == nullptr) size = std::getenv("PMI_SIZE");
  if (size == nullptr || std::string_view(size) == "1") return;
  if (!command.shares()) {
    throw std::invalid_argument(
        "this command is the work of one process; run it without a launcher such as mpirun");
  }
  session.ranks = open_mpi(session.control.should_stop);
  session.control.passes = session.ranks;
  if (session.leads()) return;
  session.quiet = true;
  session.json = false;
}

// A message of the library begins with the field that it is about, such as first_layer; on the command line
// that is the option --first-layer.
std::string with_flag(const CLI::App& app, const std::string& sentence) {
  std::string word = sentence.substr(0, sentence.find(' '));
  std::replace(word.begin(), word.end(), '_', '-');
  return app.get_option_no_throw("--" + word) == nullptr ? sentence
                                                         : "--" + word + sentence.substr(word.size());
}

int run(Command& command, const CLI::App& app, Session& session) {
  std::optional<ProgressLine> line;
  session.control.should_stop = interrupted;
  int code = kInternalError;
  std::string complaint;
  try {
    join_job(command, session);
    if (session.leads()) {
      line.emplace(!session.quiet);
      session.control.on_progress = [&line](const Progress& progress) { line->show(progress); };
    }
    code = command.run(session);
  } catch (const Interrupted&) {
    code = kInterrupted;
    complaint =
        session.checkpoint.empty()
            ? "interrupted; nothing was written"
            : fmt::format("interrupted; the checkpoint in {} is good: the same command with --resume goes on",
                          session.checkpoint);
  } catch (const DataError& error) {
    code = kBadData;
    complaint = error.what();
  } catch (const ResourceError& error) {
    code = kResourceLimit;
    complaint = error.what();
  } catch (const std::bad_alloc&) {
    code = kResourceLimit;
    complaint = "there is not enough memory for this; try fewer hidden units or a smaller problem";
  } catch (const std::length_error&) {
    code = kResourceLimit;
    complaint = "a size is beyond what this machine can hold; try a smaller problem";
  } catch (const WouldOverwrite& error) {
    code = kUsage;
    complaint = fmt::format("{}; give --out another name, or --force", error.what());
  } catch (const std::invalid_argument& error) {
    code = kUsage;
    complaint = with_flag(app, error.what());
  } catch (const std::exception& error) {
    complaint =
        fmt::format("internal error ({}); please report it with the command and the version", error.what());
  }
  if (line) line->clear();
  if (complaint.empty()) {
    if (session.ranks) session.ranks->finish();
    return code;
  }
  if (!session.leads()) {
    // Where all processes meet the same error the first one reports it and ends the others: wait for that.
    for (int i = 0; i < 100 && !interrupted(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (interrupted()) std::_Exit(code);
    complaint = fmt::format("rank {}: {}", session.ranks->rank(), complaint);
  }
  complain(complaint);
  if (session.ranks) session.ranks->abort(code);
  return code;
}

int main(int argc, char** argv) {
  CLI::App app("Recovers a neural network from its inputs and outputs, with a certificate.", "exhume");
  app.set_version_flag("--version", fmt::format("exhume {}", kVersion));
  app.require_subcommand(1);
  wrap_help(app);
  app.footer(R"(Examples:
  exhume generate --inputs 20 --hidden 20 --outputs 20 --samples 3000 --out demo
  exhume recover demo/x.npy demo/y.npy --out result
  exhume compare demo/network.safetensors result/network.safetensors
  exhume verify result

Exit codes: 0 certified, estimated, or done; 3 finished with neither, or two models differ; 2 usage; 4 bad
data; 5 a resource limit; 1 internal error; 130 interrupted.)");

  Session session;
  std::vector<Listed> entries;
  const auto add = [&](std::unique_ptr<Command> command) {
    Listed entry{std::move(command), nullptr};
    entry.app = entry.command->declare(app);
    entry.app->add_option("--threads", session.control.threads, "Worker threads; 0 means one per core [0]")
        ->check(CLI::Range(0, 4096).description(""));
    entry.app->add_flag("--quiet,-q", session.quiet, "No progress and no summary, only errors");
    entry.app->add_flag("--json", session.json, "One JSON document on stdout and nothing else");
    if (entry.command->overwrites()) {
      entry.app->add_flag("--force", session.force,
                          "Overwrite a network or data in --out that no earlier run wrote");
    }
    if (entry.command->certifies()) {
      add_file(*entry.app, "--sign", session.sign,
               "Private key (exhume keys): also write certificate.json.sig, which verify --key checks");
    }
    accept_whole_numbers(*entry.app);
    entries.push_back(std::move(entry));
  };
  for (std::unique_ptr<Command>& command : make_commands()) add(std::move(command));
  add(help_command(app));
  add(completion_command(app));
  add(man_command(app));
  session.control.threads = 0;

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success) == 0 ? kOk : kInternalError;
  } catch (const CLI::ParseError& error) {
    complain(mistake(app, std::vector<std::string>(argv + 1, argv + argc), error));
    return kUsage;
  }

  session.command = command_line(argc, argv);
  // Results do not depend on the number of threads.
  if (const int most = threads_that_fit(); most > 0)
    session.control.threads = std::min(most, session.control.workers());
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error of the write, which cleans up
  std::signal(SIGPIPE, SIG_DFL);  // a reader that went away ends us quietly, as it does any Unix program
  catch_interrupts();
  for (const Listed& entry : entries) {
    if (entry.app->parsed()) return run(*entry.command, *entry.app, session);
  }
  return kInternalError;
}

}  // namespace
}  // namespace exhume::cli

int main(int argc, char** argv) {
  exhume::cli::hold_standard_streams();
  exhume::restart_with_fast_blas(argv);
  exhume::keep_freed_memory();
  return exhume::cli::main(argc, argv);
}
