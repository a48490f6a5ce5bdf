// exhume verify: an independent re-check of a model, and of its certificate, against samples.
#include "exhume/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "command.h"
#include "exhume/certificate.h"
#include "session/documents.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

// The first line of the answer: agrees, or what failed first.
std::string headline(const VerifyResult& result) {
  const std::vector<Finding>& findings = result.findings;
  if (!result.agrees) {
    const auto is_bad = [](const Finding& f) { return f.bad(); };
    const auto first = std::find_if(findings.begin(), findings.end(), is_bad);
    const std::string verdict = toned(Tone::kBad, "Does not agree");
    // Without a bad finding it is the rows: their error is above the tolerance that was asked for.
    if (first == findings.end()) return verdict;
    const auto others = std::count_if(findings.begin(), findings.end(), is_bad) - 1;
    return fmt::format("{}: {}: {}{}.\nThe rows themselves:", verdict, printable(first->part),
                       printable(first->words),
                       others == 0 ? "" : fmt::format(" (and {} more, below)", others));
  }
  if (result.status == to_string(Status::kEstimated))
    return toned(Tone::kGood, "Agrees, as the estimate that it is,");
  if (result.verified) return toned(Tone::kGood, "Agrees");
  return fmt::format(
      "{} ({}): the files agree with the certificate",
      toned(Tone::kWarn, result.status == to_string(Status::kRefused) ? "Refused" : "Not certified"),
      printable(result.reason));
}

std::string rows_text(const VerifyResult& result) {
  if (!result.rows) {
    const bool any_bad =
        std::any_of(result.findings.begin(), result.findings.end(), [](const Finding& f) { return f.bad(); });
    return any_bad ? " not compared." : ".";
  }
  const Verification& rows = *result.rows;
  return fmt::format(
      " on {} row{}: relative mse {:.3e}, rms error {:.3e}, worst error {:.3e} in row {}, output {}{}.",
      grouped(rows.rows), rows.rows == 1 ? "" : "s", rows.relative_mse, rows.rms_error, rows.worst_error,
      grouped(rows.worst_row + 1), rows.worst_output + 1,
      result.accepted ? fmt::format("; at most {:.3g} is accepted", *result.accepted) : "");
}

std::string to_terminal(const VerifyResult& result) {
  std::string out = headline(result) + rows_text(result) + "\n";
  for (const Finding& f : result.findings) {
    const std::string mark = f.bad()                            ? toned(Tone::kBad, "✗")
                             : f.outcome == Outcome::kUnchecked ? toned(Tone::kSoft, "–")
                                                                : toned(Tone::kGood, "✓");
    out += fmt::format("  {} {}: {}\n", mark, printable(f.part), printable(f.words));
  }
  return out;
}

class Verify final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "verify", "Check a result and its certificate again, independently of the solvers");
    add_file(*app, "model", options_.model,
             "A folder that a command wrote with --out, or a model (.safetensors, .npz, .onnx)")
        ->required();
    add_file(*app, "samples", options_.samples,
             "X and Y (.npy, .csv), one table with both (.csv), or one .npz with arrays x and y [with "
             "a folder: those that its certificate names]")
        ->expected(0, 2);
    app->add_option("--target", options_.target,
                    "Of one table: the columns that are outputs, by name or, without a header, by number "
                    "from 1 [what the certificate says, or the last]");
    app->add_option("--tolerance", options_.tolerance,
                    "Largest relative mean squared error to accept [1e-12, or what the certificate states]")
        ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->add_flag("--network-only", options_.network_only,
                  "Ignore the certificate beside the network: the samples are not those it was made from");
    add_file(*app, "--key", options_.key,
             "Public key: the certificate must be signed with the private key that belongs to it");
    app->footer(R"(The relative mse is the mean squared error over the variance of the outputs. Errors
are computed by plain loops in long double. A certificate.json beside the model is checked too: its digest,
the files it names, the model's bytes, and every number that network and samples give again. What cannot be
checked is listed. Exit code 0 if all agrees and it is certified, 3 if not.

Examples:
  exhume verify result
  exhume verify result --key mine.pub
  exhume verify result/network.safetensors demo/x.npy demo/y.npy
  exhume verify result/network.safetensors fresh.npz --network-only --tolerance 0.02 --json)");
    return app;
  }

  int run(const Session& session) override {
    const VerifyResult result = verify(options_, session.control);
    session.show(to_document(result), [&] { return to_terminal(result); });
    return result.verified ? kOk : kNotCertified;
  }

 private:
  VerifyOptions options_;
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<Verify>(); }

}  // namespace exhume::cli
