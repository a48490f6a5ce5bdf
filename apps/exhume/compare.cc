// exhume compare: are two networks the same function, and if not, where do they differ and by which units?
#include "exhume/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "command.h"
#include "compare_text.h"
#include "deliver.h"
#include "session/compare.h"
#include "session/documents.h"

namespace exhume::cli {
namespace {

class Compare final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "compare",
        "Say whether two networks compute the same function, and if not, where and why they differ");
    add_file(*app, "A", asked_.first,
             "A network (.safetensors, .npz, .onnx, .nnet); none if --command is given twice");
    add_file(*app, "B", asked_.second, "Another one; none if --command is given");
    app->add_option("--command", asked_.commands,
                    "A program that answers queries, in place of a file; may be given twice (see extract)")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    app->add_flag("--text", asked_.text,
                  "With --command: one line of comma-separated numbers per row, instead of raw doubles");
    app->add_option("--inputs,-d", asked_.inputs, "Number of inputs, if --command is given twice")
        ->check(CLI::Range(1, 1 << 22).description(""));
    app->add_option("--timeout", asked_.timeout, "With --command: seconds to wait for an answer [60]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    add_file(*app, "--domain", asked_.domain,
             "A table of inputs (.npy, .csv): the range of each column is the domain");
    low_ = app->add_option("--low", asked_.low,
                           "Smallest value of the inputs: one number, or one per input [-1]")
               ->delimiter(',');
    high_ = app->add_option("--high", asked_.high, "Largest value of the inputs [1]")->delimiter(',');
    tolerance_option_ =
        app->add_option("--tolerance", tolerance_,
                        "Largest difference of an output to accept on the domain [what rounding explains]");
    app->add_option(
        "--budget", asked_.options.budget,
        "Number of boxes that the proof may examine [some ten seconds, with --tolerance some minutes]");
    app->add_option("--ratio", asked_.options.ratio,
                    "The proof ends when the upper bound is at most this many times the lower one [1.1]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_option("--queries", asked_.options.queries,
                    "Upper limit on the number of queries of a black box [10000]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_flag("--inside", asked_.options.inside, "No query outside the domain");
    app->add_option("--confidence", asked_.options.confidence,
                    "Confidence of statements about a black box [0.95]")
        ->check(CLI::Validator(CLI::PositiveNumber).description(""));
    app->add_flag("--free-signs", asked_.options.free_signs,
                  "When matching, replace units by their negatives, which adds a linear term");
    app->add_option("--seed", asked_.options.seed, "Seed of every random choice [0]");
    add_folder(*app, "--out,-o", out_, "Folder for certificate.json, report.html and the boxes of the proof");
    app->footer(
        R"(One verdict: same_network, same_function, rounding, different or undecided. Two files: units
are matched, whatever the widths; units that are changed, missing or extra are named, each with an input that
activates it, and lower <= max |f - g| <= upper is proved over the domain. A black box: queries go to random
inputs, beside the kinks of the file, to corners, along lines and far out; the answer states what may have
been missed. Without --tolerance only rounding is accepted.

Exit code 0: the same; 3: different or undecided; 2: wrong options; 4: a file or program that cannot be used.

Examples:
  exhume compare model.onnx deployed.safetensors --low 0 --high 1
  exhume compare model.onnx quantised.onnx --domain rows.npy --tolerance 0.05 --out audit
  exhume compare model.onnx --command "python serve.py" --low -1 --high 1 --queries 20000 --json)");
    return app;
  }

  [[nodiscard]] bool certifies() const override { return true; }

  int run(const Session& session) override {
    if ((low_->count() == 0) != (high_->count() == 0)) {
      throw std::invalid_argument(fmt::format("--{} was given without --{}; give both",
                                              low_->count() > 0 ? "low" : "high",
                                              low_->count() > 0 ? "high" : "low"));
    }
    if (tolerance_option_->count() > 0) asked_.options.tolerance = tolerance_;
    Delivery delivery(delivery_options(session, out_));
    CompareResult found = compare(asked_, session.control);
    if (delivery.writes()) {
      for (const ResultFile& file : result_files(found)) delivery.add(file);
      const Delivered delivered = finish(delivery, found, session.control);
      session.show(to_document(found),
                   [&] { return compare_text(found) + written_text(out_, delivered.written); });
    } else {
      session.show(to_document(found), [&] { return compare_text(found); });
    }
    return found.same() ? kOk : kNotCertified;
  }

 private:
  CompareFiles asked_;
  double tolerance_ = 0;
  CLI::Option *low_ = nullptr, *high_ = nullptr, *tolerance_option_ = nullptr;
  std::string out_;
};

}  // namespace

std::unique_ptr<Command> compare_command() { return std::make_unique<Compare>(); }

}  // namespace exhume::cli
