// What `verify` does: the certificate beside a model, the files it names, and what model and samples give
// again.
#include "exhume/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "certify/certificate_check.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "io/digest.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/quadratic_files.h"
#include "io/record_log.h"
#include "io/safetensors.h"
#include "io/signature.h"
#include "report/extract/extraction_check.h"
#include "report/judgement_check.h"
#include "report/report.h"
#include "report/result_files.h"
#include "report/view.h"
#include "session/certificate_file.h"
#include "session/compare_check.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr double kExact = 1e-12;  // the relative mse that is accepted where nobody states one
constexpr const char* kMirrored = "mirrored outputs";
constexpr const char* kErrors = "errors.safetensors";
constexpr const char* kMemorizedInputs = "inputs.npy";
constexpr const char* kMemorizedLabels = "labels.npy";
constexpr const char* kExtracted = "extracted network";
constexpr const char* kLog = "queries.log";
// The model of each kind of folder, in the order in which they are looked for.
constexpr const char* kModels[] = {"network.safetensors", "rectified.safetensors", "units.safetensors"};

class Verifier {
 public:
  Verifier(const VerifyOptions& options, const Control& control) : options_(options), control_(control) {}

  VerifyResult run() {
    std::optional<PublicKey> key;
    if (!options_.key.empty()) key.emplace(options_.key);
    const std::string text = find_model();
    check_signature(key, text);
    if (!text.empty()) {
      document_ = read_document_of(text, folder_ / kCertificateFile);
      result_.status = words(at(document_->json, "status"));
      result_.reason = document_->certificate.reason;
      // Digests first: a file that was changed may not even open.
      compare_digests();
      compare_page();
    }
    const bool unchanged = none_bad();
    bool read = true;
    try {
      check_model();
    } catch (const DataError& error) {
      if (unchanged) throw;
      add("files", Outcome::kBad, error.what());
      read = false;
    }
    if (!document_ || options_.tolerance) result_.accepted = options_.tolerance.value_or(kExact);
    const bool met = !result_.accepted || (result_.rows && result_.rows->relative_mse <= *result_.accepted);
    result_.agrees = read && met && none_bad();
    const bool stands = !document_ || result_.status == to_string(Status::kCertified) ||
                        result_.status == to_string(Status::kEstimated);
    result_.verified = result_.agrees && stands;
    return std::move(result_);
  }

 private:
  void add(std::string part, Outcome outcome, std::string words) {
    result_.findings.push_back({std::move(part), outcome, std::move(words)});
  }
  void add(CertificateCheck check) {
    result_.rows = check.whole;
    add(std::move(check.findings));
  }
  void add(std::vector<Finding> findings) {
    for (Finding& finding : findings) result_.findings.push_back(std::move(finding));
  }
  [[nodiscard]] bool none_bad() const {
    return std::none_of(result_.findings.begin(), result_.findings.end(),
                        [](const Finding& f) { return f.bad(); });
  }

  // Finds the model, which may be given as its folder, and returns the certificate beside it as text: empty
  // where there is none or it is not to be looked at.
  std::string find_model() {
    const bool folder = fs::is_directory(options_.model);
    folder_ = folder ? fs::path(options_.model) : fs::path(options_.model).parent_path();
    settle_folder(folder_.empty() ? "." : folder_);
    const fs::path beside = folder_ / kCertificateFile;
    if (folder) {
      if (!fs::exists(beside)) {
        throw DataError(fmt::format(
            "{} has no certificate.json; give a folder that holds a result, or a model", options_.model));
      }
      const auto name = std::find_if(std::begin(kModels), std::end(kModels),
                                     [&](const char* file) { return fs::exists(folder_ / file); });
      if (name != std::end(kModels)) model_ = (folder_ / *name).string();
    } else {
      model_ = options_.model;
      if (options_.samples.empty())
        throw std::invalid_argument("give inputs and outputs too, one .npz, or a folder with a certificate");
    }
    return options_.network_only || !fs::exists(beside) ? "" : read_small_file(beside);
  }

  // Over the bytes of certificate.json as they lie there.
  void check_signature(const std::optional<PublicKey>& key, const std::string& text) {
    if (text.empty()) {
      if (key)
        throw std::invalid_argument("key checks the signature of a certificate, and there is none here");
      return;
    }
    const fs::path path = folder_ / kSignatureFile;
    const bool exists = fs::exists(path);
    if (!key) {
      if (exists)
        add("signature", Outcome::kUnchecked, "there is one; the public key was not given to check it");
    } else if (!exists) {
      add("signature", Outcome::kBad,
          fmt::format("{} does not exist: nobody signed this certificate", path.string()));
    } else if (key->verifies(read_small_file(path), text)) {
      add("signature", Outcome::kGood,
          fmt::format("certificate.json is signed with the private key of {}", options_.key));
    } else {
      add("signature", Outcome::kBad,
          fmt::format(
              "certificate.json was changed after it was signed, or not signed with the private key of {}",
              options_.key));
    }
  }

  void compare_digest(const std::string& part, const std::string& path, const std::string& digest) {
    if (digest.empty()) {
      add(part, Outcome::kBad, fmt::format("the certificate has no digest of {}", path));
      return;
    }
    std::error_code not_regular;
    if (const auto size = fs::file_size(path, not_regular); !not_regular && size > most_bytes(*document_)) {
      throw DataError(
          fmt::format("{} has {} bytes, more than the rows that the certificate states could need; is it the "
                      "file that it was made from?",
                      path, size));
    }
    try {
      if (sha256_file(path, control_) == digest) {
        add(part, Outcome::kGood, fmt::format("{} is the file that the certificate speaks of", path));
      } else {
        add(part, Outcome::kBad, fmt::format("{} is not the file that the certificate was made from", path));
      }
    } catch (const DataError& error) {
      add(part, Outcome::kBad, error.what());
    }
  }

  // The files that were read and those that were written are the ones that the certificate was made with.
  void compare_digests() {
    const Certificate& stated = document_->certificate;
    for (const char* key : {"files", "written"}) {
      const Json& list = at(document_->json, key);
      const auto is_file = [](const Json& file) {
        return at(file, "role").is_string() && at(file, "path").is_string();
      };
      if (stated.version == kVersion && (!list.is_array() || !std::all_of(list.begin(), list.end(), is_file)))
        add("certificate", Outcome::kBad, fmt::format("its list of {} is none", key));
    }
    const std::string model_name = fs::path(model_).filename().string();
    if (!model_.empty() && std::none_of(stated.written.begin(), stated.written.end(),
                                        [&](const FileDigest& file) { return file.path == model_name; }))
      add("network", Outcome::kBad, fmt::format("the certificate does not speak of {}", model_name));
    for (const FileDigest& file : stated.written) {
      if (fs::path(file.path).filename() != file.path) {
        add("certificate", Outcome::kBad,
            fmt::format("it speaks of {}, which does not lie beside it", file.path));
        continue;
      }
      const bool is_model = !model_.empty() && file.path == model_name;
      compare_digest(file.role, is_model ? model_ : (folder_ / file.path).string(), file.sha256);
    }
    std::size_t next = 0;
    for (const FileDigest& file : stated.files) {
      // Of a memorized network the files given are the rows it memorised, which are among those written.
      const bool replaced = file.role != kMirrored && !options_.samples.empty() && !rows_are_beside();
      if (replaced && next >= options_.samples.size()) continue;
      if (!replaced && file.path == "-")
        throw DataError("the samples came from standard input; give them in a file, after the folder");
      compare_digest(file.role, replaced ? options_.samples[next++] : file.path, file.sha256);
    }
  }

  // report.html is made from the certificate alone, so it can be made again.
  void compare_page() {
    const fs::path page = folder_ / kReportFile;
    if (!fs::exists(page) || !document_->sealed) return;
    const std::string& version = document_->certificate.version;
    if (read_small_file(page) == to_html(*document_)) {
      add("report", Outcome::kGood, "report.html says what the certificate says");
    } else if (version != kVersion) {
      add("report", Outcome::kUnchecked,
          fmt::format("report.html is stated to be of version {}, this is {}: it was not compared", version,
                      kVersion));
    } else {
      add("report", Outcome::kBad, "report.html is not the page of this certificate");
    }
  }

  void check_model() {
    if (document_ && document_->kind == kComparisonKind)
      return add(check_comparison(*document_, folder_, control_));
    if (result_.status == to_string(Status::kRefused)) {
      if (!document_->sealed)
        add("certificate", Outcome::kBad, "its digest is not that of its content: it was edited");
      add("network", Outcome::kUnchecked, "none was returned, so there is nothing to check");
      return;
    }
    if (model_.empty()) {
      add("network", Outcome::kBad,
          fmt::format("{} holds no model that the certificate could be about", folder_.string()));
      return;
    }
    const StoredModel model = open_model(model_);
    if (document_ && is_extraction(model)) {
      check_extracted(model);
      if (options_.samples.empty()) return;
      result_.rows = verify_model(model, *open_sample_files(options_.samples, control_).samples, control_);
      return;
    }
    memorized_ = std::holds_alternative<QuadraticNetwork>(model);
    const OpenedSamples opened = open_stated();
    if (!document_) {
      result_.rows = verify_model(model, *opened.samples, control_);
      if (!result_.rows) {
        throw DataError(
            fmt::format("{} is a lowest layer, whose outputs are not those of the samples; it can only be "
                        "checked with its certificate",
                        model_));
      }
      return;
    }
    add(check_certificate(*document_, model, opened.samples, control_));
    add(check_judgement(*document_, model, opened.samples, control_,
                        {stated_errors(), given_rows(), folder_}));
    compare_export(model);
    compare_truth(model);
  }

  // Of a memorized network the rows that it memorised lie beside it.
  [[nodiscard]] bool rows_are_beside() const {
    return fs::exists(folder_ / kMemorizedInputs) && fs::exists(folder_ / kMemorizedLabels) &&
           std::any_of(document_->certificate.written.begin(), document_->certificate.written.end(),
                       [](const FileDigest& file) { return file.path == kMemorizedInputs; });
  }

  // Whether the network was extracted: the certificate lists a log of queries, or says so, or names no
  // samples while a log lies in the folder. The kind that it states may be forged, so it does not decide
  // alone.
  [[nodiscard]] bool is_extraction(const StoredModel& model) const {
    if (!std::holds_alternative<Network>(model)) return false;
    const Certificate& stated = document_->certificate;
    const bool listed = std::any_of(stated.written.begin(), stated.written.end(),
                                    [](const FileDigest& file) { return file.path.ends_with(".log"); });
    return listed || document_->kind == kExtracted ||
           (stated.files.empty() && options_.samples.empty() && fs::exists(folder_ / log_name()));
  }

  // An extracted network: against the log of its queries, which lies beside it.
  void check_extracted(const StoredModel& model) {
    const auto* network = std::get_if<Network>(&model);
    if (network == nullptr) throw DataError(fmt::format("{} is not a network of ReLUs", model_));
    const std::string name = log_name();
    const auto& written = document_->certificate.written;
    if (std::none_of(written.begin(), written.end(),
                     [&](const FileDigest& file) { return file.path == name; }))
      add("log", Outcome::kBad, fmt::format("the certificate does not speak of {}", name));
    const std::string log = read_log(folder_ / name, "an extraction wrote it beside its network");
    add(check_extraction(*document_, *network, log, control_));
    compare_export(model);
  }

  // The log among the files that the certificate names; its name has changed between versions.
  [[nodiscard]] std::string log_name() const {
    for (const FileDigest& file : document_->certificate.written) {
      if (file.path.ends_with(".log") && fs::path(file.path).filename() == file.path) return file.path;
    }
    return kLog;
  }

  // The standard errors beside the network, where the certificate speaks of some.
  [[nodiscard]] std::optional<Network> stated_errors() const {
    for (const FileDigest& file : document_->certificate.written) {
      if (file.path != kErrors || !fs::exists(folder_ / kErrors)) continue;
      const StoredModel errors = open_model(folder_ / kErrors);
      if (const auto* network = std::get_if<Network>(&errors)) return *network;
    }
    return std::nullopt;
  }

  // Of a memorized network: the rows that it was given, where their files are as they were.
  [[nodiscard]] SamplePtr given_rows() {
    if (!memorized_ || !options_.samples.empty()) return nullptr;
    std::vector<std::string> files;
    for (const FileDigest& file : document_->certificate.files) {
      if (!fs::exists(file.path) || sha256_file(file.path, control_) != file.sha256) return nullptr;
      files.push_back(file.path);
    }
    if (files.empty()) return nullptr;
    Target target{{}, document_->certificate.target};
    if (files.size() != 1) target = {};
    return open_sample_files(SampleFiles{files, target, {}}, control_).samples;
  }

  // The names of the columns are those of the files.
  void compare_names(const char* key, const std::vector<std::string>& names) {
    if (!document_) return;
    const Json& stated = at(document_->json, key);
    Json found(names);
    make_valid(found);
    const bool none = !stated.is_array() || stated.empty();
    const bool own = options_.samples.empty() && document_->certificate.version == kVersion;
    if (none && (names.empty() || !own)) return;
    if (none) {
      add("certificate", Outcome::kBad, fmt::format("it leaves out the {} of the samples", key));
    } else if (names.empty()) {
      add("certificate", Outcome::kUnchecked,
          fmt::format("the samples have no names, so its {} were not checked", key));
    } else if (stated != found) {
      add("certificate", Outcome::kBad, fmt::format("its {} are not those of the samples", key));
    }
  }

  // Which columns are outputs, and what was noticed about the data.
  void compare_table(const OpenedSamples& opened) {
    if (!document_ || !options_.samples.empty() || document_->certificate.version != kVersion) return;
    if (document_->certificate.target != opened.target)
      add("certificate", Outcome::kBad, "its target is not that of the table");
    const Json found(data_remarks(*opened.samples, opened.input_names));
    const Json& stated = at(document_->json, "remarks");
    if (stated.is_null() ? !found.empty() : stated != found)
      add("certificate", Outcome::kBad, "its remarks are not what the samples show");
  }

  // The true network, where the certificate compares with one: it states what the two networks give.
  void compare_truth(const StoredModel& model) {
    const Json& truth = at(document_->json, "truth");
    if (!truth.is_object()) return;
    const std::string path = words(at(truth, "path"));
    if (!fs::exists(path) || sha256_file(path) != words(at(truth, "sha256"))) {
      add("truth", Outcome::kUnchecked,
          fmt::format("{} is not there as it was, so the comparison with it was not made again", path));
    } else if (truth_matches(*document_, model, open_model(path))) {
      add("truth", Outcome::kGood, fmt::format("{} differs as stated", path));
    } else {
      add("truth", Outcome::kBad,
          fmt::format("the comparison with {} is not what the two networks give", path));
    }
  }

  // network.onnx is made from the model alone, so it can be made again.
  void compare_export(const StoredModel& model) {
    const fs::path path = folder_ / "network.onnx";
    if (!fs::exists(path)) return;
    std::string bytes;
    if (const auto* network = std::get_if<Network>(&model)) bytes = onnx_bytes(*network);
    if (const auto* network = std::get_if<QuadraticNetwork>(&model)) bytes = onnx_bytes(*network);
    const Certificate& stated = document_->certificate;
    if (!bytes.empty()) bytes = with_names(std::move(bytes), stated.input_names, stated.output_names);
    if (!bytes.empty() && sha256_file(path) == sha256(bytes)) {
      add("network for other programs", Outcome::kGood, "network.onnx is the same network");
    } else {
      add("network for other programs", Outcome::kBad,
          fmt::format("{} is not the network of {}", path.string(), fs::path(model_).filename().string()));
    }
  }

  // The samples given, or those that the certificate names; of a memorized network, the rows it memorised.
  OpenedSamples open_stated() {
    const Certificate stated = document_ ? document_->certificate : Certificate();
    std::vector<std::string> files = options_.samples;
    if (files.empty() && document_ && memorized_) {
      files = {(folder_ / kMemorizedInputs).string(), (folder_ / kMemorizedLabels).string()};
    } else if (files.empty()) {
      for (const FileDigest& file : stated.files) {
        if (file.role != kMirrored) files.push_back(file.path);
      }
      if (files.empty() && document_)
        throw DataError("the certificate names no samples; give them in files, after the folder");
    }
    Target target{{}, stated.target};
    if (options_.target) target = parse_target(*options_.target);
    if (files.size() != 1) target = {};
    OpenedSamples opened = open_sample_files(SampleFiles{files, target, {}}, control_);
    if (!memorized_) {
      compare_names("input_names", opened.input_names);
      compare_names("output_names", opened.output_names);
      compare_table(opened);
    }
    for (const FileDigest& file : stated.files) {
      if (file.role == kMirrored) opened.mirror(file.path, control_);
    }
    return opened;
  }

  const VerifyOptions& options_;
  const Control& control_;
  fs::path folder_;
  std::string model_;
  bool memorized_ = false;  // the model is a network that memorised rows
  std::optional<Document> document_;
  VerifyResult result_;
};

}  // namespace

VerifyResult verify(const VerifyOptions& options, const Control& control) {
  return Verifier(options, control).run();
}

}  // namespace exhume
