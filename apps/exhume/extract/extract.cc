// exhume extract: a network from its answers to queries, with certificate, report and the log of all queries.
#include "exhume/extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <stdexcept>

#include "command.h"
#include "deliver.h"
#include "io/open.h"
#include "oracle/command_oracle.h"
#include "oracle/input_ranges.h"
#include "oracle/queried_model.h"
#include "session/overwrite.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

class Extract final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "extract", "Recover the network inside a black box by queries, with a certificate");
    add_file(*app, "MODEL", model_, "A model file to query (.onnx, .safetensors, .npz, .nnet)");
    add_file(*app, "--network", network_, "The same");
    app->add_option("--command", command_,
                    "A program to query: it answers batches of rows over stdin and stdout (see below)");
    app->add_flag("--text", text_,
                  "With --command: one line of comma-separated numbers per row, instead of raw doubles");
    app->add_option("--inputs,-d", inputs_,
                    "With --command: number of inputs, if the program does not state it")
        ->check(CLI::Range(1, 1 << 22).description(""));
    app->add_option("--batch", batch_, "With --command: largest number of rows per batch [4096]")
        ->check(CLI::Range(1, 1 << 20).description(""));
    app->add_option("--timeout", timeout_, "With --command: seconds to wait for an answer [60]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--queries", options_.queries,
                    "Upper limit on the number of queries [20 times the estimate]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--budget", budget_,
                    "Seconds after which the search ends with the best network so far [600]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option(
           "--low", low_,
           "Smallest value of an input; no query goes below it: a number, a list with commas, or a file "
           "with one per input")
        ->type_name("NUMBER|LIST|FILE");
    app->add_option("--high", high_, "Largest value of an input, likewise")->type_name("NUMBER|LIST|FILE");
    add_file(*app, "--domain", domain_,
             "A table of inputs (.csv, .npy): all queries stay within the range of each column");
    app->add_option("--fresh", options_.fresh,
                    "Number of fresh random queries for the verdict [256, with several hidden layers 1000]")
        ->check(CLI::Range(1, 1 << 20).description(""));
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    add_file(*app, "--log", log_, "File to which queries and answers are written as they are made");
    app->add_flag("--resume", options_.resume, "Continue from the log of an interrupted run");
    add_folder(*app, "--out,-o", out_,
               "Folder for network.safetensors, network.onnx, queries.log, certificate.json and report.html");
    app->footer(
        R"(One hidden layer of ReLUs, leaky ReLUs, absolute values or smooth units (tanh, GELU, ...), or
several hidden layers of ReLUs; depth and widths are found. Query only models that are yours or that
you may query. One hidden layer takes about 1.3 (hidden + outputs) / outputs x inputs queries,
several take about 12 more for every weight between hidden layers.

The program of --command may begin with one JSON line {"inputs": d, "outputs": m}, and "batch": n for at most
n rows at once; then --inputs is not needed. For every batch it reads one JSON line {"rows": n, "inputs": d}
and n x d doubles (little-endian), and writes {"rows": n, "outputs": m} and n x m doubles. With --text it
reads and writes one line per row. `python -m exhume.serve model.onnx` is such a program. Weights in a model
file are used in double precision; the program runs it as it is.

Exit code 0: extracted and certified; 3: finished, not certified, or out of time or queries; 130: interrupted.
Both write the best so far.

Examples:
  exhume extract model.onnx --low 0 --high 1 --out result
  exhume extract controller.safetensors --low=-1,-1,-8 --high=1,1,8 --out result
  exhume extract --command "python -m exhume.serve model.onnx" --domain data.csv --out result
  exhume extract --command ./model --inputs 20 --text --queries 20000 --log run.log --resume --out result
  exhume verify result)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    if (!model_.empty() && !network_.empty())
      throw std::invalid_argument("give one model, by its name alone or with --network");
    if (!network_.empty()) model_ = network_;
    if (model_.empty() == command_.empty())
      throw std::invalid_argument("give a model file, or --command with a program, one of them");
    if (low_.empty() != high_.empty()) throw std::invalid_argument("--low and --high belong together");
    if (!low_.empty() && !domain_.empty())
      throw std::invalid_argument("--domain takes the ranges from data; give it, or --low and --high");
    const auto begin = Control::Clock::now();
    options_.log = log_;
    options_.validate();
    DeliveryOptions where = delivery_options(session, out_, {"queries.log"});
    where.inputs = {model_, domain_, low_, high_, log_};
    Delivery delivery(std::move(where));
    if (!out_.empty() && !log_.empty() &&
        would_be_same_file(log_, (std::filesystem::path(out_) / "queries.log").string()))
      throw std::invalid_argument("--out gets a queries.log of its own at the end: give --log another name");
    if (!session.force) refuse_log_of_result(log_);
    const QueriedModel model = open_oracle(session);
    const Index d = model.oracle->inputs();
    options_.box = domain_of(model, session.control);
    options_.box.validate(d);
    if (!session.quiet && !session.json) announce(d);
    Control control = session.control;
    control.deadline =
        std::min(control.deadline, begin + std::chrono::duration_cast<Control::Clock::duration>(
                                               std::chrono::duration<double>(std::min(budget_, 1e9))));
    ExtractResult result = exhume::extract(model.oracle, options_, control);
    // What was found is written, whoever stopped it.
    Session calm = session;
    calm.control.should_stop = nullptr;
    if (delivery.writes()) {
      for (const ResultFile& file : result_files(result)) delivery.add(file);
    }
    const int code = deliver(calm, delivery, result, OpenedSamples(), out_);
    return result.interrupted ? kInterrupted : code;
  }

 private:
  void announce(Index d) const {
    complain(
        fmt::format("{} input{}; the first query will show the number of outputs. Queries needed with one "
                    "output (with more, fewer): about {} for 32 hidden units, {} for 128, {} for hidden "
                    "layers of 20 and 20, {} for 20, 10 and 10; up to three times as many if attempts fail",
                    d, d == 1 ? "" : "s", estimate_queries(d, 32, 1), estimate_queries(d, 128, 1),
                    estimate_deep_queries(d, {20, 20}, 1), estimate_deep_queries(d, {20, 10, 10}, 1)));
    complain(fmt::format(
        "ends after {:g} s (--budget) or {}; queries are made {}", budget_,
        options_.queries > 0
            ? fmt::format("{} queries", options_.queries)
            : fmt::format("20 times the queries estimated from its first line, at least {} (--queries)",
                          default_query_limit(d)),
        options_.box.bounded() ? options_.box.words()
                               : "anywhere (--low and --high, or --domain, keep them within a box)"));
  }

  [[nodiscard]] QueriedModel open_oracle(const Session& session) const {
    if (!model_.empty()) {
      QueriedModel model = open_queried_model(model_);
      if (inputs_ != 0 && inputs_ != model.oracle->inputs()) {
        throw std::invalid_argument(
            fmt::format("--inputs is {}, but {} has {}", inputs_, model_, model.oracle->inputs()));
      }
      return model;
    }
    CommandOptions how;
    how.inputs = inputs_;
    how.text = text_;
    how.batch_rows = batch_;
    how.timeout_seconds = timeout_;
    how.on_complaint = [quiet = session.quiet](const std::string& words) {
      if (!quiet) complain(fmt::format("the program says: {}", printable(words)));
    };
    return {command_oracle(command_, how, session.control), {}};
  }

  // As asked for; otherwise as the model's file says.
  [[nodiscard]] Box domain_of(const QueriedModel& model, const Control& control) const {
    const Index d = model.oracle->inputs();
    if (!domain_.empty()) return box_of_table(domain_, d, control);
    if (low_.empty()) return model.domain;
    return Box::of(ends_of_inputs(low_, d, "--low"), ends_of_inputs(high_, d, "--high"));
  }

  std::string model_, network_, command_, log_, out_, low_, high_, domain_;
  Index inputs_ = 0, batch_ = 4096;
  bool text_ = false;
  double timeout_ = 60, budget_ = 600;
  ExtractOptions options_;
};

}  // namespace

std::unique_ptr<Command> extract_command() { return std::make_unique<Extract>(); }

}  // namespace exhume::cli
