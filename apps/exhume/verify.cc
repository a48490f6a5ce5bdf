// exhume verify: an independent re-check of a network, and of its certificate, against samples.
#include "exhume/certify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "certificate_file.h"
#include "command.h"
#include "exhume/certify/certificate_check.h"
#include "exhume/base/error.h"
#include "exhume/io/digest.h"
#include "exhume/io/open.h"
#include "exhume/io/safetensors.h"
#include "exhume/io/quadratic_files.h"
#include "exhume/data/views.h"
#include "sample_files.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

class Verify final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "verify", "Check a network and its certificate against samples, independently of the solvers");
    app->add_option("network", network_,
                    "A network (.safetensors, .npz), or a folder that exhume recover --out wrote")
        ->required();
    app->add_option("samples", files_,
                    "X and Y (.npy, .csv), or one .npz with arrays x and y [with a folder: those that its "
                    "certificate names]")
        ->expected(0, 2);
    tolerance_option_ =
        app->add_option(
               "--tolerance", tolerance_,
               "Largest relative mean squared error to accept [1e-12, or what the certificate states]")
            ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->add_flag("--network-only", network_only_,
                  "Leave the certificate beside the network alone: the samples are others than its own");
    app->footer(
        "The relative mse is the mean squared error over the variance of the outputs. Plain loops in long "
        "double.\n"
        "Where a certificate.json lies beside the network it is checked too: its digest, the files it names, "
        "the\n"
        "network's bytes, and the error on the rows that were held out. Exit code 0 if all agrees, 3 if "
        "not.\n\n"
        "Examples:\n"
        "  exhume verify result\n"
        "  exhume verify result/network.safetensors demo/x.npy demo/y.npy\n"
        "  exhume verify result/network.safetensors fresh.npz --network-only --tolerance 0.02 --json");
    return app;
  }

  int run(const Session& session) override {
    const fs::path certificate = find_certificate();
    std::string text;
    CertifiedFiles stated;
    if (!certificate.empty()) {
      text = read_certificate(certificate);
      try {
        stated = certified_files(text);
      } catch (const DataError& error) {
        throw DataError(fmt::format("{}: {}", certificate.string(), error.what()));
      }
    }
    if (files_.empty()) {
      for (const Provenance::File& file : stated.samples) {
        if (file.role != "mirrored outputs") files_.push_back(file.path);
      }
    }
    check_sample_files(files_);

    // Digests first: a file that was changed may not even open.
    std::vector<Finding> findings;
    if (!text.empty()) compare_digests(stated, session.control, findings);
    const bool unchanged =
        std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.good; });
    Verification v;
    bool read = true;
    try {
      SamplePtr samples = open_sample_files(files_, session.control);
      if (const std::optional<QuadraticNetwork> quadratic = open_quadratic()) {
        v = check(*quadratic, *samples, session.control);
      } else {
        const Network network = open_network(network_);
        for (const Provenance::File& file : stated.samples) {
          if (file.role != "mirrored outputs") continue;
          const TablePtr labels = open_table(file.path, session.control);
          samples = mirrored_view(samples, table_samples(labels, labels));
        }
        v = check(network, *samples, session.control);
        if (!text.empty()) {
          for (Finding& finding : check_certificate(text, network, samples, v, session.control))
            findings.push_back(std::move(finding));
        }
      }
    } catch (const DataError& error) {
      if (unchanged) throw;
      findings.push_back({"files", false, error.what()});
      read = false;
    }
    const bool judged_by_tolerance = text.empty() || tolerance_option_->count() > 0;
    bool good = read && (!judged_by_tolerance || v.relative_mse <= tolerance_);
    for (const Finding& finding : findings) good = good && finding.good;
    if (session.json) {
      put(to_json(v, findings, good, read).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
    } else if (!session.quiet) {
      put(to_text(v, findings, good, read));
    }
    return good ? kOk : kNotCertified;
  }

 private:
  // The certificate beside the network; empty where there is none or it is not to be looked at. A folder
  // stands for the network in it.
  fs::path find_certificate() {
    const bool folder = fs::is_directory(network_);
    const fs::path beside =
        (folder ? fs::path(network_) : fs::path(network_).parent_path()) / "certificate.json";
    if (folder) {
      if (!fs::exists(beside)) {
        throw DataError(fmt::format(
            "{} has no certificate.json; give a folder that exhume recover --out wrote, or a network",
            network_));
      }
      network_ = (fs::path(network_) / "network.safetensors").string();
      if (!fs::exists(network_)) {
        throw DataError(
            fmt::format("{} does not exist: the recovery was refused, or its units are not ReLUs", network_));
      }
    } else if (files_.empty()) {
      throw std::invalid_argument("give inputs and outputs too, one .npz, or a folder with a certificate");
    }
    if (network_only_ || !fs::exists(beside)) return {};
    return beside;
  }

  void compare_digests(const CertifiedFiles& stated, const Control& control, std::vector<Finding>& to) const {
    const auto compare = [&](const std::string& part, const std::string& path, const std::string& digest) {
      if (digest.empty()) return;
      const bool same = sha256_file(path, control) == digest;
      to.push_back({part, same,
                    same ? fmt::format("{} is the file that was certified", path)
                         : fmt::format("{} is not the file that the certificate was made from", path)});
    };
    compare("network", network_, stated.network_sha256);
    std::size_t next = 0;
    for (const Provenance::File& file : stated.samples) {
      const bool mirrored = file.role == "mirrored outputs";
      if (!mirrored && next >= files_.size()) continue;
      compare(file.role, mirrored ? file.path : files_[next++], file.sha256);
    }
  }

  [[nodiscard]] Json to_json(const Verification& v, const std::vector<Finding>& findings, bool good,
                             bool read) const {
    const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
    Json json = {{"verified", good}};
    if (read) {
      json.update({{"relative_mse", number(v.relative_mse)},
                   {"tolerance", number(tolerance_)},
                   {"rms_error", number(v.rms_error)},
                   {"worst_error", number(v.worst_error)},
                   {"worst_row", v.worst_row + 1},
                   {"worst_output", v.worst_output + 1},
                   {"rows", v.rows}});
    }
    json["findings"] = Json::array();
    for (const Finding& f : findings)
      json["findings"].push_back({{"part", f.part}, {"good", f.good}, {"words", f.words}});
    return json;
  }

  [[nodiscard]] std::string to_text(const Verification& v, const std::vector<Finding>& findings, bool good,
                                    bool read) const {
    std::string out = toned(good ? Tone::kGood : Tone::kBad, good ? "Agrees" : "Does not agree");
    if (read) {
      out += fmt::format(
          " on {} rows: relative mse {:.3e}, rms error {:.3e}, worst error {:.3e} in row {}, output {}.\n",
          grouped(v.rows), v.relative_mse, v.rms_error, v.worst_error, grouped(v.worst_row + 1),
          v.worst_output + 1);
    } else {
      out += ".\n";
    }
    for (const Finding& f : findings)
      out += fmt::format("  {} {}: {}\n", f.good ? toned(Tone::kGood, "✓") : toned(Tone::kBad, "✗"), f.part,
                         f.words);
    return out;
  }

  // A network of `memorize`, told by the activation its metadata name.
  [[nodiscard]] std::optional<QuadraticNetwork> open_quadratic() const {
    if (std::filesystem::path(network_).extension() != ".safetensors") return std::nullopt;
    const Tensors tensors = read_safetensors(network_);
    if (!is_quadratic(tensors)) return std::nullopt;
    return to_quadratic_network(tensors, network_);
  }

  template <class AnyNetwork>
  [[nodiscard]] Verification check(const AnyNetwork& network, const SampleSource& samples,
                                   const Control& control) const {
    if (samples.inputs() != network.inputs() || samples.outputs() != network.outputs()) {
      throw DataError(fmt::format(
          "{} has {} inputs and {} outputs, but the samples in {} have {} and {}; are they of "
          "another network?",
          network_, network.inputs(), network.outputs(), files_[0], samples.inputs(), samples.outputs()));
    }
    return exhume::verify(network, samples, control);
  }

  std::string network_;
  std::vector<std::string> files_;
  double tolerance_ = 1e-12;
  CLI::Option* tolerance_option_ = nullptr;
  bool network_only_ = false;
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<Verify>(); }

}  // namespace exhume::cli
