// exhume verify: an independent re-check of a model, and of its certificate, against samples.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/json.h"
#include "certificate_file.h"
#include "certify/certificate_check.h"
#include "command.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "io/digest.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/quadratic_files.h"
#include "io/safetensors.h"
#include "io/signature.h"
#include "report/extraction_check.h"
#include "report/judgement_check.h"
#include "report/report.h"
#include "report/view.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMirrored = "mirrored outputs";
constexpr const char* kErrors = "errors.safetensors";
constexpr const char* kMemorized = "memorized network";
constexpr const char* kExtracted = "extracted network";
// The model of each kind of folder, in the order in which they are looked for.
constexpr const char* kModels[] = {"network.safetensors", "rectified.safetensors", "units.safetensors"};

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw DataError(
        fmt::format("{} cannot be read; an extraction wrote it beside its network", path.string()));
  return bytes;
}

class Verify final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    CLI::App* app = parent.add_subcommand(
        "verify", "Check a result and its certificate against samples, independently of the solvers");
    app->add_option("model", model_,
                    "A folder that a command wrote with --out, or a model (.safetensors, .npz, .onnx)")
        ->required();
    app->add_option("samples", files_,
                    "X and Y (.npy, .csv), one table with both (.csv), or one .npz with arrays x and y [with "
                    "a folder: "
                    "those that its certificate names]")
        ->expected(0, 2);
    target_option_ = app->add_option(
        "--target", target_,
        "Of one table: the columns that are outputs, by name or, without a header, by number from 1 [what "
        "the certificate says, or the last]");
    tolerance_option_ =
        app->add_option(
               "--tolerance", tolerance_,
               "Largest relative mean squared error to accept [1e-12, or what the certificate states]")
            ->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
    app->add_flag("--network-only", network_only_,
                  "Leave the certificate beside the network alone: the samples are others than its own");
    app->add_option("--key", key_, "Public key: the certificate must be signed with its private one");
    app->footer(
        "The relative mse is the mean squared error over the variance of the outputs. Plain loops in long "
        "double.\n"
        "Where a certificate.json lies beside the model it is checked too: its digest, the files it names, "
        "the\n"
        "model's bytes, and every number that network and samples give again. What cannot be checked is "
        "said.\n"
        "Exit code 0 if all agrees and it is certified, 3 if not.\n\n"
        "Examples:\n"
        "  exhume verify result\n"
        "  exhume verify result --key mine.pub\n"
        "  exhume verify result/network.safetensors demo/x.npy demo/y.npy\n"
        "  exhume verify result/network.safetensors fresh.npz --network-only --tolerance 0.02 --json");
    return app;
  }

  int run(const Session& session) override {
    std::optional<PublicKey> key;
    if (!key_.empty()) key.emplace(key_);
    find_certificate();
    check_signature(key);
    CertifiedFiles stated;
    if (!text_.empty()) {
      try {
        stated = certified_files(text_);
      } catch (const DataError& error) {
        throw DataError(fmt::format("{}: {}", (folder_ / "certificate.json").string(), error.what()));
      }
      // Digests first: a file that was changed may not even open.
      compare_digests(stated, session.control);
      compare_page();
    }
    const bool unchanged =
        std::none_of(findings_.begin(), findings_.end(), [](const Finding& f) { return f.bad(); });
    bool read = true;
    try {
      check(stated, session.control);
    } catch (const DataError& error) {
      if (unchanged) throw;
      bad("files", error.what());
      read = false;
    }
    bool good = read && (!judged_by_tolerance() || (whole_ && whole_->relative_mse <= tolerance_));
    for (const Finding& finding : findings_) good = good && !finding.bad();
    if (session.json) {
      put(to_text(to_json(good)) + "\n");
    } else if (!session.quiet) {
      put(to_terminal(good));
    }
    return good && stands() ? kOk : kNotCertified;
  }

 private:
  void bad(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kBad, std::move(what)});
  }

  void good(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kGood, std::move(what)});
  }
  void unchecked(std::string part, std::string what) {
    findings_.push_back({std::move(part), Outcome::kUnchecked, std::move(what)});
  }

  // Over the bytes of certificate.json as they lie there.
  void check_signature(const std::optional<PublicKey>& key) {
    if (text_.empty()) {
      if (key)
        throw std::invalid_argument("--key checks the signature of a certificate, and there is none here");
      return;
    }
    const fs::path path = folder_ / kSignatureFile;
    const bool exists = fs::exists(path);
    if (!key) {
      if (exists) unchecked("signature", "there is one; give --key with the public key to check it");
    } else if (!exists) {
      bad("signature", fmt::format("{} does not exist: nobody signed this certificate", path.string()));
    } else if (key->verifies(read_certificate(path), text_)) {
      good("signature", fmt::format("certificate.json is signed with the private key of {}", key_));
    } else {
      bad("signature", fmt::format("certificate.json was changed after it was signed, or not signed with the "
                                   "private key of {}",
                                   key_));
    }
  }

  // What the certificate says it is; without one, the samples alone decide.
  [[nodiscard]] bool stands() const {
    return text_.empty() || status_ == to_string(Status::kCertified) ||
           status_ == to_string(Status::kEstimated);
  }

  // The certificate beside the model, as text; empty where there is none or it is not to be looked at. A
  // folder stands for the model in it.
  void find_certificate() {
    const bool folder = fs::is_directory(model_);
    folder_ = folder ? fs::path(model_) : fs::path(model_).parent_path();
    settle_folder(folder_.empty() ? "." : folder_);
    const fs::path beside = folder_ / "certificate.json";
    if (folder) {
      if (!fs::exists(beside)) {
        throw DataError(fmt::format(
            "{} has no certificate.json; give a folder that a command wrote with --out, or a model", model_));
      }
      model_.clear();
      for (const char* name : kModels) {
        if (fs::exists(folder_ / name)) {
          model_ = (folder_ / name).string();
          break;
        }
      }
    } else if (files_.empty()) {
      throw std::invalid_argument("give inputs and outputs too, one .npz, or a folder with a certificate");
    }
    if (network_only_ || !fs::exists(beside)) return;
    text_ = read_certificate(beside);
    const Json json = parsed(text_);
    status_ = words(at(json, "status"));
    reason_ = words(at(json, "reason"));
  }

  // The files that were read and those that were written are the ones that the certificate was made with.
  void compare_digests(const CertifiedFiles& stated, const Control& control) {
    const auto compare = [&](const std::string& part, const std::string& path, const std::string& digest) {
      if (digest.empty()) {
        bad(part, fmt::format("the certificate has no digest of {}", path));
        return;
      }
      std::error_code not_regular;
      if (const auto size = fs::file_size(path, not_regular); !not_regular && size > stated.most_bytes) {
        throw DataError(
            fmt::format("{} has {} bytes, more than the rows that the certificate states could need; is it "
                        "the file that it was made from?",
                        path, size));
      }
      std::string found;
      try {
        found = sha256_file(path, control);
      } catch (const DataError& error) {
        bad(part, error.what());
        return;
      }
      if (found == digest) {
        findings_.push_back(
            {part, Outcome::kGood, fmt::format("{} is the file that the certificate speaks of", path)});
      } else {
        bad(part, fmt::format("{} is not the file that the certificate was made from", path));
      }
    };
    const std::string model_name = fs::path(model_).filename().string();
    if (!model_.empty() && std::none_of(stated.written.begin(), stated.written.end(),
                                        [&](const FileDigest& file) { return file.path == model_name; }))
      bad("network", fmt::format("the certificate does not speak of {}", model_name));
    for (const FileDigest& file : stated.written) {
      if (fs::path(file.path).filename() != file.path) {
        bad("certificate", fmt::format("it speaks of {}, which does not lie beside it", file.path));
        continue;
      }
      const bool is_model = !model_.empty() && file.path == fs::path(model_).filename();
      compare(file.role, is_model ? model_ : (folder_ / file.path).string(), file.sha256);
    }
    std::size_t next = 0;
    for (const FileDigest& file : stated.samples) {
      // Of a memorized network the files given are the rows it memorised, which are among those written.
      const bool replaced = file.role != kMirrored && !files_.empty() && stated.kind != kMemorized;
      if (replaced && next >= files_.size()) continue;
      if (!replaced && file.path == "-")
        throw DataError("the samples came from standard input; give them in a file, after the folder");
      compare(file.role, replaced ? files_[next++] : file.path, file.sha256);
    }
  }

  // report.html is made from the certificate alone, so it can be made again.
  void compare_page() {
    const fs::path page = folder_ / "report.html";
    const Json json = parsed(text_);
    if (!fs::exists(page) || !digest_matches(text_)) return;
    if (read_certificate(page) == to_html(text_)) {
      good("report", "report.html says what the certificate says");
    } else if (words(at(json, "version")) != kVersion) {
      unchecked("report",
                fmt::format("report.html is stated to be of version {}, this is {}: it was not compared",
                            words(at(json, "version")), kVersion));
    } else {
      bad("report", "report.html is not the page of this certificate");
    }
  }

  void check(const CertifiedFiles& stated, const Control& control) {
    if (status_ == "refused") {
      if (!digest_matches(text_)) bad("certificate", "its digest is not that of its content: it was edited");
      findings_.push_back(
          {"network", Outcome::kUnchecked, "none was returned, so there is nothing to check"});
      return;
    }
    if (model_.empty()) {
      bad("network", fmt::format("{} holds no model that the certificate could be about", folder_.string()));
      return;
    }
    const StoredModel model = open_model(model_);
    if (stated.kind == kExtracted && files_.empty()) {
      check_extracted(model, control);
      return;
    }
    const OpenedSamples opened = open_stated(stated, control);
    if (text_.empty()) {
      whole_ = verify_model(model, *opened.samples, control);
      if (!whole_) {
        throw DataError(
            fmt::format("{} is a lowest layer, whose outputs are not those of the samples; it can only be "
                        "checked with its "
                        "certificate",
                        model_));
      }
      return;
    }
    CertificateCheck found = check_certificate(text_, model, opened.samples, control);
    whole_ = found.whole;
    for (Finding& finding : found.findings) findings_.push_back(std::move(finding));
    for (Finding& finding : check_judgement(text_, model, opened.samples, control, stated_errors(stated)))
      findings_.push_back(std::move(finding));
    compare_export(model);
    compare_truth(model);
  }

  // A network that was asked: against the log of its questions, which lies beside it.
  void check_extracted(const StoredModel& model, const Control& control) {
    const auto* network = std::get_if<Network>(&model);
    if (network == nullptr) throw DataError(fmt::format("{} is not a network of ReLUs", model_));
    const std::string log = read_bytes(folder_ / "questions.log");
    const CertificateCheck found = check_extraction(text_, *network, log, control);
    whole_ = found.whole;
    findings_.insert(findings_.end(), found.findings.begin(), found.findings.end());
    compare_export(model);
  }

  [[nodiscard]] std::vector<std::string> stated_names(const char* key) const {
    const Json json = parsed(text_);
    std::vector<std::string> names;
    if (at(json, key).is_array()) {
      for (const Json& name : at(json, key)) names.push_back(words(name));
    }
    return names;
  }

  // The standard errors beside the network, where the certificate speaks of some.
  [[nodiscard]] std::optional<Network> stated_errors(const CertifiedFiles& stated) const {
    for (const FileDigest& file : stated.written) {
      if (file.path == kErrors && fs::exists(folder_ / kErrors)) return read_network(folder_ / kErrors);
    }
    return std::nullopt;
  }

  // The names of the columns are those of the files.
  void compare_names(const char* key, const std::vector<std::string>& names) {
    if (text_.empty()) return;
    const Json json = parsed(text_);
    const Json& stated = at(json, key);
    // Bytes that are no UTF-8 were replaced when the certificate was written.
    const Json found = parsed(to_text(Json(names)));
    if (!stated.is_array() || stated.empty()) return;
    if (names.empty()) {
      unchecked("certificate", fmt::format("the samples have no names, so its {} were not checked", key));
    } else if (stated != found) {
      bad("certificate", fmt::format("its {} are not those of the samples", key));
    }
  }

  // The true network, where the certificate compares with one: it states what the two networks give.
  void compare_truth(const StoredModel& model) {
    const Json json = parsed(text_);
    const Json& truth = at(json, "truth");
    if (!truth.is_object()) return;
    const std::string path = words(at(truth, "path"));
    if (!fs::exists(path) || sha256_file(path) != words(at(truth, "sha256"))) {
      unchecked("truth",
                fmt::format("{} is not there as it was, so the comparison with it was not made again", path));
    } else if (truth_matches(text_, model, open_model(path))) {
      good("truth", fmt::format("{} differs as stated", path));
    } else {
      bad("truth", fmt::format("the comparison with {} is not what the two networks give", path));
    }
  }

  // network.onnx is made from the model alone, so it can be made again.
  void compare_export(const StoredModel& model) {
    const fs::path path = folder_ / "network.onnx";
    if (!fs::exists(path)) return;
    std::string bytes;
    if (const auto* network = std::get_if<Network>(&model)) bytes = onnx_bytes(*network);
    if (const auto* network = std::get_if<QuadraticNetwork>(&model)) bytes = onnx_bytes(*network);
    if (!bytes.empty())
      bytes = with_names(std::move(bytes), stated_names("input_names"), stated_names("output_names"));
    if (!bytes.empty() && sha256_file(path) == sha256(bytes)) {
      good("network for other programs", "network.onnx is the same network");
    } else {
      bad("network for other programs",
          fmt::format("{} is not the network of {}", path.string(), fs::path(model_).filename().string()));
    }
  }

  // The samples given, or those that the certificate names; of a memorized network, the rows it memorised.
  [[nodiscard]] OpenedSamples open_stated(const CertifiedFiles& stated, const Control& control) {
    std::vector<std::string> files = files_;
    if (files.empty() && stated.kind == kMemorized) {
      files = {(folder_ / "inputs.npy").string(), (folder_ / "labels.npy").string()};
    } else if (files.empty()) {
      for (const FileDigest& file : stated.samples) {
        if (file.role != kMirrored) files.push_back(file.path);
      }
    }
    Target target{{}, stated.target};
    if (target_option_->count() > 0) target = parse_target(target_);
    if (files.size() != 1) target = {};
    OpenedSamples opened = open_sample_files(SampleFiles{files, target, {}}, control);
    compare_names("input_names", opened.input_names);
    compare_names("output_names", opened.output_names);
    for (const FileDigest& file : stated.samples) {
      if (file.role == kMirrored) opened.mirror(file.path, control);
    }
    return opened;
  }

  [[nodiscard]] Json to_json(bool good) const {
    Json json = {{"verified", good && stands()}, {"agrees", good}};
    if (!text_.empty()) json["status"] = status_;
    if (whole_) {
      json.update({{"relative_mse", number(whole_->relative_mse)},
                   {"tolerance", number(tolerance_)},
                   {"rms_error", number(whole_->rms_error)},
                   {"worst_error", number(whole_->worst_error)},
                   {"worst_row", whole_->worst_row + 1},
                   {"worst_output", whole_->worst_output + 1},
                   {"rows", whole_->rows}});
    }
    json["findings"] = Json::array();
    for (const Finding& f : findings_) {
      json["findings"].push_back({{"part", f.part},
                                  {"good", f.outcome == Outcome::kGood},
                                  {"checked", f.outcome != Outcome::kUnchecked},
                                  {"words", f.words}});
    }
    return json;
  }

  [[nodiscard]] bool judged_by_tolerance() const { return text_.empty() || tolerance_option_->count() > 0; }

  // What failed first, where something did.
  [[nodiscard]] std::string headline(bool good) const {
    if (!good) {
      const auto is_bad = [](const Finding& f) { return f.bad(); };
      const auto first = std::find_if(findings_.begin(), findings_.end(), is_bad);
      const std::string verdict = toned(Tone::kBad, "Does not agree");
      // With no finding it is the rows, by the tolerance that was asked for.
      if (first == findings_.end()) return verdict;
      const auto others = std::count_if(findings_.begin(), findings_.end(), is_bad) - 1;
      return fmt::format("{}: {}: {}{}.\nThe rows themselves:", verdict, printable(first->part),
                         printable(first->words),
                         others == 0 ? "" : fmt::format(" (and {} more, below)", others));
    }
    if (status_ == to_string(Status::kEstimated))
      return toned(Tone::kGood, "Agrees, as the estimate that it is,");
    if (stands()) return toned(Tone::kGood, "Agrees");
    return fmt::format("{} ({}): what the certificate says of the files is so",
                       toned(Tone::kWarn, status_ == "refused" ? "Refused" : "Not certified"),
                       printable(reason_));
  }

  [[nodiscard]] std::string rows_text() const {
    if (!whole_)
      return std::any_of(findings_.begin(), findings_.end(), [](const Finding& f) { return f.bad(); })
                 ? " not compared."
                 : ".";
    return fmt::format(
        " on {} rows: relative mse {:.3e}, rms error {:.3e}, worst error {:.3e} in row {}, output {}{}.",
        grouped(whole_->rows), whole_->relative_mse, whole_->rms_error, whole_->worst_error,
        grouped(whole_->worst_row + 1), whole_->worst_output + 1,
        judged_by_tolerance() ? fmt::format("; at most {:.3g} is accepted", tolerance_) : "");
  }

  [[nodiscard]] std::string to_terminal(bool good) const {
    std::string out = headline(good) + rows_text() + "\n";
    for (const Finding& f : findings_) {
      const std::string mark = f.bad()                            ? toned(Tone::kBad, "✗")
                               : f.outcome == Outcome::kUnchecked ? toned(Tone::kSoft, "–")
                                                                  : toned(Tone::kGood, "✓");
      out += fmt::format("  {} {}: {}\n", mark, printable(f.part), printable(f.words));
    }
    return out;
  }

  std::string model_, key_, target_;
  std::vector<std::string> files_;
  double tolerance_ = 1e-12;
  const CLI::Option *tolerance_option_ = nullptr, *target_option_ = nullptr;
  bool network_only_ = false;
  fs::path folder_;
  std::string text_, status_, reason_;  // of the certificate
  std::vector<Finding> findings_;
  std::optional<Verification> whole_;
};

}  // namespace

std::unique_ptr<Command> verify_command() { return std::make_unique<Verify>(); }

}  // namespace exhume::cli
