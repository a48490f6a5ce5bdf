// exhume memorize: a small network that fits any labels.
#include "exhume/memorize.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "command.h"
#include "exhume/io/atomic_file.h"
#include "exhume/io/npy.h"
#include "exhume/io/safetensors.h"
#include "exhume/io/quadratic_files.h"
#include "exhume/base/version.h"
#include "sample_files.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

const char* to_word(LabelKind kind) {
  switch (kind) {
    case LabelKind::kReal:
      return "real";
    case LabelKind::kInteger:
      return "integer";
    case LabelKind::kOneHot:
      return "classes";
  }
  return "";
}

Json to_json(const MemorizeResult& r, const std::string& command) {
  const ClosedForm& c = r.closed_form;
  Json json = {{"status", r.memorized ? "memorized" : "not memorized"},
               {"reason", r.reason},
               {"method", to_string(r.method)},
               {"layers", r.layers},
               {"power", r.power},
               {"samples", r.inputs.rows()},
               {"inputs", r.inputs.cols()},
               {"outputs", r.targets.cols()},
               {"features", r.network.features()},
               {"hidden_units", r.network.hidden()},
               {"parameters", r.network.parameters()},
               {"random_parameters", r.network.random_parameters()},
               {"parameters_per_sample",
                static_cast<double>(r.network.parameters()) / static_cast<double>(r.inputs.rows())},
               {"capacity", number(r.capacity)},
               {"relative_error", number(r.relative_error)},
               {"worst_error", number(r.worst_error)},
               {"given_relative_error", number(r.given_relative_error)},
               {"labels", to_word(r.labels)},
               {"accuracy", r.labels == LabelKind::kReal ? Json(nullptr) : Json(r.accuracy)},
               {"given_accuracy", r.labels == LabelKind::kReal ? Json(nullptr) : Json(r.given_accuracy)},
               {"perturb", r.perturb},
               {"general_position",
                {{"holds", c.full_rank},
                 {"rank", c.rank},
                 {"sigma", number(c.sigma_min)},
                 {"sigma_max", number(c.sigma_max)},
                 {"condition", number(c.condition)},
                 {"sigma_converged", c.spectrum_converged}}},
               {"solver", to_string(c.solver)},
               {"refinements", c.refinements}};
  if (!r.classes.empty()) json["classes"] = r.classes;
  if (!r.descents.empty()) {
    Json list = Json::array();
    for (std::size_t o = 0; o < r.descents.size(); ++o) {
      const Descent& d = r.descents[o];
      const SecondOrder& s = r.stationarity[o];
      Json one = {{"outcome", to_string(d.outcome)},
                  {"iterations", d.iterations},
                  {"perturbations", d.perturbations},
                  {"f", number(d.f)},
                  {"seconds", d.seconds},
                  {"gradient_norm", number(s.gradient_norm)},
                  {"hessian_lambda_min", number(s.lambda_min)},
                  {"hessian_lower_bound", number(s.lower_bound)},
                  {"lemma1_bound", number(s.lemma1_bound)},
                  {"lemma1_applies", s.wide_enough},
                  {"lemma1_holds", s.lemma1_holds}};
      if (r.method == MemorizeMethod::kPgdPrinted) {
        const TheoremConstants& t = d.constants;
        one["theorem4"] = {{"epsilon", t.epsilon},
                           {"c", t.c},
                           {"delta", t.delta},
                           {"sigma", t.sigma},
                           {"B", t.B},
                           {"Y", t.Y},
                           {"gamma", t.gamma},
                           {"rho", t.rho},
                           {"ell", t.ell},
                           {"chi", t.chi},
                           {"step", t.step},
                           {"radius", t.radius},
                           {"gradient_threshold", t.gradient_threshold},
                           {"decrease_threshold", t.decrease_threshold},
                           {"wait", t.wait}};
      }
      list.push_back(one);
    }
    json["descent"] = list;
  }
  json["timings"] = {{"kernel", c.kernel_seconds},
                     {"factor", c.factor_seconds},
                     {"solve", c.solve_seconds},
                     {"spectrum", c.spectrum_seconds},
                     {"total", r.seconds}};
  json["seed"] = r.seed;
  json["version"] = kVersion;
  json["command"] = command;
  return json;
}

std::string summary(const MemorizeResult& r, const std::string& folder) {
  const auto fact = [](std::string_view name, const std::string& value) {
    return fmt::format("  {}  {}\n", toned(Tone::kSoft, fmt::format("{:<17}", name)), value);
  };
  const Index n = r.inputs.rows();
  std::string out = fmt::format(
      "{} {}.\n\n",
      toned(r.memorized ? Tone::kGood : Tone::kWarn, r.memorized ? "Memorised." : "Not memorised."),
      r.reason);
  out += fact("network",
              fmt::format("{} inputs, {}{} quadratic units, {} output{}", r.inputs.cols(),
                          r.layers == 3 ? fmt::format("{} random features to the power {}, ",
                                                      r.network.features(), r.power)
                                        : "",
                          r.network.hidden(), r.network.outputs(), r.network.outputs() == 1 ? "" : "s"));
  out +=
      fact("parameters", fmt::format("{}, {:.2f} a sample", grouped(r.network.parameters()),
                                     static_cast<double>(r.network.parameters()) / static_cast<double>(n)));
  out += fact("relative error", fmt::format("{:.2e}, at worst {:.1e} off", r.relative_error, r.worst_error));
  if (r.labels != LabelKind::kReal)
    out += fact("labels right",
                fmt::format("{} of {}",
                            grouped(static_cast<Index>(std::llround(r.accuracy * static_cast<double>(n)))),
                            grouped(n)));
  if (r.perturb > 0) {
    out +=
        fact("perturbation",
             fmt::format(
                 "standard deviation {:g}; on the rows as given the relative error is {:.2e}{}", r.perturb,
                 r.given_relative_error,
                 r.labels == LabelKind::kReal ? "" : fmt::format(", {:.1f}% right", 100 * r.given_accuracy)));
  }
  const ClosedForm& c = r.closed_form;
  out += fact("general position",
              c.full_rank ? fmt::format("holds; sigma {}{:.3e}, condition number of the kernel {:.2e}",
                                        c.spectrum_converged ? "" : "at most ", c.sigma_min, c.condition)
                          : fmt::format("does not hold: rank {} of {}", grouped(c.rank), grouped(n)));
  out += fact("solver",
              fmt::format("{}{}",
                          to_string(r.method) == std::string_view("closed") ? to_string(c.solver)
                                                                            : to_string(r.method),
                          r.method == MemorizeMethod::kClosedForm
                              ? fmt::format(", {} refinement{}", c.refinements, c.refinements == 1 ? "" : "s")
                              : ""));
  for (std::size_t o = 0; o < std::min<std::size_t>(r.descents.size(), 3); ++o) {
    const Descent& d = r.descents[o];
    const SecondOrder& s = r.stationarity[o];
    out += fact(o == 0 ? "descent" : "",
                fmt::format("{} after {} iterations, {} perturbation{}; smallest eigenvalue of the Hessian "
                            "{:.2e}; f {:.2e}, Lemma 1 {}",
                            to_string(d.outcome), grouped(d.iterations), d.perturbations,
                            d.perturbations == 1 ? "" : "s", s.lambda_min, s.f,
                            !s.wide_enough ? std::string("does not apply (too few units)")
                                           : fmt::format("allows {:.2e}", s.lemma1_bound)));
  }
  out += fact("time", duration(r.seconds));
  out += fact("written",
              folder.empty()
                  ? "nothing; --out DIR keeps the network and the rows it memorised"
                  : folder + ": network.safetensors, network.onnx, inputs.npy, labels.npy, memorize.json");
  return out;
}

class Memorize final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app =
        parent.add_subcommand("memorize", "Fit any labels with a small network of quadratic units");
    app->add_option("samples", files_,
                    "X and Y (.npy, .csv), or one .npz with arrays x and y; rows are samples")
        ->required()
        ->expected(1, 2);
    app->add_option("--method", method_,
                    "closed: one linear solve; pgd: perturbed gradient descent, practical steps; "
                    "pgd-printed: with Theorem 4's constants; adam [closed]")
        ->check(CLI::IsMember({"closed", "pgd", "pgd-printed", "adam"}));
    app->add_option("--layers", layers_, "2: n <= d(d+1)/2 rows; 3: more; auto [auto]")
        ->check(CLI::IsMember({"2", "3", "auto"}));
    app->add_option("--hidden", options_.hidden,
                    "Quadratic units an output for pgd and adam, even; 0: 2k + 2 [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--features", options_.features,
                    "Random features k of three layers; 0: 2 ceil(sqrt n) [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_option("--power", options_.power, "Power p of three layers; 0: the smallest that will do [0]")
        ->check(CLI::Range(0, 64));
    app->add_option("--perturb", options_.perturb,
                    "Standard deviation of Gaussian noise added to the inputs [0]")
        ->check(CLI::NonNegativeNumber);
    app->add_flag("--normalize", options_.normalize, "Divide rows by their norms first");
    app->add_flag("--classes", options_.classes, "Whole-number labels become one output a class");
    app->add_option("--tolerance", options_.tolerance,
                    "Relative error up to which labels count as memorised [1e-12]")
        ->check(CLI::PositiveNumber);
    app->add_option("--iterations", options_.descent.max_iterations, "Most iterations of a descent [20000]")
        ->check(CLI::PositiveNumber);
    app->add_option("--epsilon", options_.descent.epsilon, "Target for f of pgd-printed [1e-3]")
        ->check(CLI::PositiveNumber);
    app->add_option("--decay-epochs", options_.descent.decay_epochs,
                    "Epochs between cuts of Adam's rate to 0.3 [15]")
        ->check(CLI::PositiveNumber);
    app->add_option(
           "--memory", memory_,
           "Most memory for the solve, in GiB; conjugate gradients where the kernel would not fit [4]")
        ->check(CLI::PositiveNumber);
    app->add_option("--seed", options_.seed, "Seed of every random choice [0]");
    app->add_option("--out,-o", out_,
                    "Folder for network.safetensors, network.onnx, inputs.npy and labels.npy (the rows "
                    "memorised), memorize.json");
    app->footer(
        "The relative error is the mean squared error over the variance of the labels. With --perturb or "
        "--normalize the\n"
        "network fits the rows in inputs.npy: check it with  exhume verify DIR/network.safetensors "
        "DIR/inputs.npy DIR/labels.npy\n"
        "Exit code 0: memorised; 3: not to the tolerance; 4: no such network exists (labels that disagree, "
        "too many rows).\n\n"
        "Examples:\n"
        "  exhume memorize x.npy y.npy --out memory\n"
        "  exhume memorize digits.npz --normalize --perturb 0.01 --classes\n"
        "  exhume memorize x.npy y.npy --method pgd --hidden 202 --json");
    return app;
  }

  int run(const Session& session) override {
    check_sample_files(files_);
    options_.method = *memorize_method(method_);
    options_.layers = layers_ == "auto" ? 0 : layers_ == "2" ? 2 : 3;
    options_.closed_form.memory_bytes = memory_ * 0x1p30;
    options_.validate();
    std::optional<OutputFolder> folder;
    if (!out_.empty()) folder.emplace(out_);
    const SamplePtr samples = load(*open_sample_files(files_, session.control));
    SampleBlock block;
    samples->read(0, samples->rows(), block);
    const MemorizeResult result = exhume::memorize(block.x(), block.y(), options_, session.control);
    const std::string json = to_json(result, session.command).dump(2) + "\n";
    if (folder) {
      folder->add("network.safetensors", safetensors_bytes(to_tensors(result.network)));
      folder->add("network.onnx", onnx_bytes(result.network));
      const auto table = [&](const char* name, const RowMatrix& values) {
        NpyWriter writer(folder->open(name), values.rows(), values.cols());
        writer.append(values);
        writer.finish();
      };
      table("inputs.npy", result.inputs);
      table("labels.npy", result.targets);
      folder->add("memorize.json", json);
      session.control.check();
      folder->commit();
    }
    if (session.json) {
      put(json);
    } else if (!session.quiet) {
      put(summary(result, out_));
    }
    return result.memorized ? kOk : kNotCertified;
  }

 private:
  std::vector<std::string> files_;
  std::string method_ = "closed", layers_ = "auto", out_;
  double memory_ = 4;
  MemorizeOptions options_;
};

}  // namespace

std::unique_ptr<Command> memorize_command() { return std::make_unique<Memorize>(); }

}  // namespace exhume::cli
