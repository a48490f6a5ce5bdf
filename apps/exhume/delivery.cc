#include "delivery.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "base/json.h"
#include "certificate_file.h"
#include "exhume/error.h"
#include "io/digest.h"
#include "overwrite.h"
#include "report/result_files.h"
#include "report/view.h"
#include "summary.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

// What commands write, whatever the certificate says: those of version 0.1 do not name it.
const std::vector<std::string> kResults = {"network.safetensors", "network.onnx", "rectified.safetensors",
                                           "errors.safetensors", "support.csv"};

// What the certificate that lies in the folder speaks of: ours to replace. Names only, never paths.
std::vector<std::string> files_of_earlier_run(const fs::path& folder) {
  std::vector<std::string> names = kResults;
  names.emplace_back(kSignatureFile);
  const fs::path certificate = folder / "certificate.json";
  std::error_code ignored;
  if (!fs::exists(certificate, ignored)) return names;
  try {
    for (const FileDigest& file : certified_files(read_certificate(certificate)).written) {
      if (fs::path(file.path).filename() == file.path) names.push_back(file.path);
    }
  } catch (const DataError&) {
    // Not a certificate: nothing of ours.
  }
  return names;
}

// How far the network is from the true one.
Fact truth_fact(const std::string& json) {
  const Json certificate = parsed(json);
  const Json& truth = at(certificate, "truth");
  if (!is_true(at(truth, "comparable"))) return {"truth", "cannot be compared: " + words(at(truth, "why"))};
  return {"truth", fmt::format("worst parameter {:.2e} off, root mean square {:.2e}",
                               number_of(at(truth, "worst_error")), number_of(at(truth, "rms_error")))};
}

constexpr std::size_t kNamesShown = 8;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i) {
    const bool quoted = names[i].find(',') != std::string::npos;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", printable(quoted ? "'" + names[i] + "'" : names[i]));
  }
  return names.size() > kNamesShown ? fmt::format("{} and {} more", text, names.size() - kNamesShown) : text;
}

}  // namespace

std::vector<Fact> column_facts(const std::vector<std::string>& inputs,
                               const std::vector<std::string>& outputs, const std::vector<Index>& target) {
  std::vector<Fact> list;
  if (!inputs.empty()) list.push_back({"inputs", listed(inputs)});
  if (!outputs.empty()) list.push_back({"outputs", listed(outputs)});
  if (outputs.empty() && !target.empty()) {
    std::string columns;
    for (const Index column : target) columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column + 1);
    list.push_back(
        {"outputs", fmt::format("column{} {} of the table", target.size() == 1 ? "" : "s", columns)});
  }
  return list;
}

Delivery::Delivery(const Session& session, const std::string& folder, const std::vector<std::string>& more)
    : session_(session), path_(session.leads() ? folder : "") {
  if (!session.leads()) return;
  if (!session.sign.empty()) {
    if (folder.empty()) throw std::invalid_argument("--sign signs files; give --out with a folder for them");
    key_.emplace(session.sign);
  }
  if (folder.empty()) return;
  if (!session.force) {
    std::vector<std::string> names = kResults;
    names.insert(names.end(), more.begin(), more.end());
    refuse_to_overwrite(folder, names);
  }
  folder_.emplace(folder);
  page_ = &folder_->open("report.html");
}

AtomicFile& Delivery::open(const std::string& role, const std::string& name) {
  AtomicFile& file = folder_->open(name);
  file.keep_digest();
  files_.push_back({role, name, &file});
  return file;
}

void Delivery::add(const std::string& role, const std::string& name, std::string_view bytes) {
  open(role, name).write(bytes);
}

void Delivery::complete(Certificate& certificate, const OpenedSamples& samples) {
  if (!session_.leads()) return;
  certificate.command = session_.command;
  certificate.files = samples.digests(session_.control);
  for (const File& file : files_) certificate.written.push_back({file.role, file.name, file.file->digest()});
  describe(certificate, samples);
  stamp(certificate, session_.control.workers());
}

void Delivery::view(const std::string& shape, const std::string& truth) {
  if (!shape.empty()) shape_ = parse_shape(shape);
  if (truth.empty()) return;
  truth_ = open_model(truth);
  truth_file_ = {"truth", truth, sha256_file(truth)};
}

std::string Delivery::with_truth_of(const std::string& json, const StoredModel& found) const {
  return truth_ ? with_truth(json, found, *truth_, truth_file_) : json;
}

void Delivery::describe(Certificate& certificate, const OpenedSamples& samples) const {
  certificate.input_names = samples.input_names;
  certificate.output_names = samples.output_names;
  certificate.target = samples.target;
  certificate.input_shape = shape_;
  if (samples.samples) certificate.remarks = data_remarks(*samples.samples, samples.input_names);
}

void Delivery::put_out(const Certificate& certificate, const std::string& json, const std::string& verdict,
                       const std::vector<Fact>& facts) {
  std::vector<std::string> written;
  if (folder_) {
    folder_->add("certificate.json", json);
    if (key_) folder_->add(kSignatureFile, key_->sign(json));
    page_->write(to_html(json));
    session_.control.check();
    folder_->lock();  // what lies there now is what is replaced, whoever wrote it meanwhile
    for (const std::string& name : files_of_earlier_run(path_)) folder_->replace(name);
    folder_->commit();
    for (const File& file : files_) written.push_back(file.name);
    written.insert(written.end(), {"certificate.json", "report.html"});
    if (key_) written.emplace_back(kSignatureFile);
  }
  if (session_.json) {
    put(json);
  } else if (!session_.quiet) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin_;
    std::vector<Fact> all = facts;
    const std::vector<Fact> columns =
        column_facts(certificate.input_names, certificate.output_names, certificate.target);
    all.insert(all.end(), columns.begin(), columns.end());
    if (truth_) all.push_back(truth_fact(json));
    put(summary(certificate, verdict, all, elapsed.count(), path_, written));
  }
}

}  // namespace exhume::cli
