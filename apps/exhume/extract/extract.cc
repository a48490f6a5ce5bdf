// exhume extract: a network from its answers to queries, with certificate, report and the log of all queries.
#include "exhume/extract.h"

#include <fmt/format.h>

#include <stdexcept>

#include "command.h"
#include "deliver.h"
#include "io/open.h"
#include "oracle/command_oracle.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Extract final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "extract", "Extract the network behind a black box by queries, with a certificate");
    add_file(*app, "--network", network_, "A network to query, for trying (.safetensors, .npz)");
    app->add_option("--command", command_,
                    "A program to query: it answers batches of rows over stdin and stdout (see below)");
    app->add_flag("--text", text_,
                  "With --command: one line of comma-separated numbers per row, instead of raw doubles");
    app->add_option("--inputs,-d", inputs_, "Number of inputs; with --command")
        ->check(CLI::Range(1, 1 << 28).description(""));
    app->add_option("--batch", batch_, "With --command: most rows at once [4096]")
        ->check(CLI::Range(1, 1 << 20).description(""));
    app->add_option("--timeout", timeout_, "With --command: seconds to wait for an answer [60]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--queries", options_.queries, "Most queries; never passed [no limit]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    low_option_ = app->add_option("--low", low_, "Smallest value of an input; every query respects it");
    high_option_ = app->add_option("--high", high_, "Largest value of an input");
    app->add_option("--fresh", options_.fresh, "Random queries of the last check [256]")
        ->check(CLI::Range(1, 1 << 20).description(""));
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    add_file(*app, "--log", log_, "File in which queries and answers are kept as they are made");
    app->add_flag("--resume", options_.resume,
                  "Go on from the log, without repeating the queries it answers");
    add_folder(*app, "--out,-o", out_,
               "Folder for network.safetensors, network.onnx, queries.log, certificate.json and report.html");
    app->footer(R"(One hidden layer of ReLUs (leaky ReLUs and absolute values too), or several of ReLUs;
depth and widths are found. Query only models that are yours or that you may query. One hidden layer takes
about 1.3 (hidden + outputs) / outputs x inputs queries, several about 12 for every weight between hidden
layers besides.

The program of --command reads, for every batch, one JSON line {"rows": n, "inputs": d} and n x d doubles
(little-endian), and writes {"rows": n, "outputs": m} and n x m doubles. With --text it reads and writes one
line per row. `python -m exhume.serve model.onnx` is such a program.

Exit code 0: extracted and certified; 3: finished, not certified.

Examples:
  exhume extract --network secret.safetensors --out result
  exhume extract --command "python -m exhume.serve model.onnx" --inputs 784 --low 0 --high 1 --out result
  exhume extract --command ./model --inputs 20 --text --queries 20000 --log run.log --resume --out result
  exhume verify result)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    if (network_.empty() == command_.empty())
      throw std::invalid_argument("give --network with a file or --command with a program, one of them");
    if (!command_.empty() && inputs_ == 0)
      throw std::invalid_argument("--command needs --inputs, their number");
    if ((low_option_->count() == 0) != (high_option_->count() == 0))
      throw std::invalid_argument("--low and --high belong together");
    if (low_option_->count() > 0) options_.box = {low_, high_};
    options_.log = log_;
    options_.validate();
    Delivery delivery(delivery_options(session, out_));
    const OraclePtr oracle = open_oracle();
    if (!session.quiet && !session.json) {
      const Index d = oracle->inputs();
      complain(fmt::format(
          "{} inputs, one output: about {} queries for 32 hidden units, {} for 128; for hidden layers of 20 "
          "and 20 about {}, of 20, 10 and 10 about {}, and up to three times as many where an attempt fails",
          d, estimate_queries(d, 32, 1), estimate_queries(d, 128, 1), estimate_deep_queries(d, {20, 20}, 1),
          estimate_deep_queries(d, {20, 10, 10}, 1)));
    }
    ExtractResult result = exhume::extract(oracle, options_, session.control);
    if (delivery.writes()) {
      for (const ResultFile& file : result_files(result)) delivery.add(file);
    }
    return deliver(session, delivery, result, OpenedSamples(), out_);
  }

 private:
  [[nodiscard]] OraclePtr open_oracle() const {
    if (!network_.empty()) {
      Network network = open_network(network_);
      if (inputs_ != 0 && inputs_ != network.inputs()) {
        throw std::invalid_argument(
            fmt::format("--inputs is {}, but {} has {}", inputs_, network_, network.inputs()));
      }
      return network_oracle(std::move(network), network_);
    }
    CommandOptions how;
    how.inputs = inputs_;
    how.text = text_;
    how.batch_rows = batch_;
    how.timeout_seconds = timeout_;
    return command_oracle(command_, how);
  }

  std::string network_, command_, log_, out_;
  Index inputs_ = 0, batch_ = 4096;
  bool text_ = false;
  double low_ = 0, high_ = 0, timeout_ = 60;
  CLI::Option *low_option_ = nullptr, *high_option_ = nullptr;
  ExtractOptions options_;
};

}  // namespace

std::unique_ptr<Command> extract_command() { return std::make_unique<Extract>(); }

}  // namespace exhume::cli
