#include "session/delivery.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "exhume/error.h"
#include "io/digest.h"
#include "model/activation_table.h"
#include "report/view.h"
#include "session/certificate_file.h"
#include "session/overwrite.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

// Files that are taken for a result even where no certificate lists them: those of version 0.1 do not.
const std::vector<std::string> kResults = {"network.safetensors", "network.onnx", "rectified.safetensors",
                                           "errors.safetensors", "support.csv"};
// Files of an earlier result that are removed, because beside the new certificate they would contradict it.
// Tables of data are not among them: a forged certificate in the folder must not decide what is removed.
const std::vector<std::string> kStale = {"network.safetensors", "network.onnx", "rectified.safetensors",
                                         "errors.safetensors",  "support.csv",  "queries.log",
                                         "units.safetensors",   "units.svg"};

}  // namespace

Delivery::Delivery(DeliveryOptions options) : options_(std::move(options)) {
  if (!options_.truth.empty()) {
    truth_ = open_model(options_.truth);
    truth_file_ = {"truth", options_.truth, sha256_file(options_.truth)};
  }
  if (!options_.key.empty()) {
    if (options_.folder.empty())
      throw std::invalid_argument("a key signs files, and there is no folder for them");
    key_.emplace(options_.key);
  }
  if (options_.folder.empty()) return;
  std::vector<std::string> names = kResults;
  names.insert(names.end(), options_.more_names.begin(), options_.more_names.end());
  std::vector<std::string> all = names;
  all.insert(all.end(), {kCertificateFile, kSignatureFile, kReportFile});
  refuse_to_overwrite_inputs(options_.folder, all, options_.inputs);
  refuse_to_overwrite_inputs(options_.folder, all, {options_.truth, options_.key});
  if (!options_.overwrite) refuse_to_overwrite(options_.folder, names);
  folder_.emplace(options_.folder);
  page_ = &folder_->open(kReportFile);
}

AtomicFile& Delivery::open(const std::string& role, const std::string& name) {
  AtomicFile& file = folder_->open(name);
  file.keep_digest();
  files_.push_back({role, name, &file});
  return file;
}

void Delivery::add(const ResultFile& file) {
  if (folder_) {
    open(file.role, file.name).write(file.bytes);
  } else {
    in_memory_.push_back(file);
  }
}

void Delivery::complete(Certificate& certificate, const OpenedSamples& samples, const Control& control) {
  certificate.command = options_.command;
  // A comparison has listed its files already.
  if (std::vector<FileDigest> files = samples.digests(control); !files.empty())
    certificate.files = std::move(files);
  for (const File& file : files_) certificate.written.push_back({file.role, file.name, file.file->digest()});
  for (const ResultFile& file : in_memory_)
    certificate.written.push_back({file.role, file.name, sha256(file.bytes)});
  describe(certificate, samples);
  stamp(certificate, control.workers());
}

void Delivery::describe(Certificate& certificate, const OpenedSamples& samples) const {
  certificate.input_names = samples.input_names;
  certificate.output_names = samples.output_names;
  certificate.target = samples.target;
  certificate.input_shape = options_.input_shape;
  if (samples.samples && !samples.samples->distant())
    certificate.remarks = data_remarks(*samples.samples, samples.input_names);
}

void Delivery::compare(Document& document, const Result& result) const {
  if (!truth_ || result.certificate.status == Status::kRefused) return;
  const StoredModel found = find_activation(result.activation) != nullptr
                                ? StoredModel(result.network)
                                : RectifiedNetwork{result.network, result.activation};
  add_truth(document, found, *truth_, truth_file_);
}

Delivered Delivery::write(Document document, const Control& control) {
  if (!folder_) return {std::move(document), {}, std::move(in_memory_)};
  std::vector<std::string> written;
  const std::string json = to_text(document);
  folder_->add(kCertificateFile, json);
  if (key_) folder_->add(kSignatureFile, key_->sign(json));
  page_->write(to_html(document));
  control.check();
  folder_->lock();  // what lies there now is what is replaced, whoever wrote it meanwhile
  std::vector<std::string> inputs = options_.inputs;
  for (const FileDigest& file : document.certificate.files) inputs.push_back(file.path);
  const auto is_input = [&](const std::string& name) {
    const std::string path = (fs::path(options_.folder) / name).string();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const std::string& input) { return is_same_file(path, input); });
  };
  // The samples' names are known only now.
  std::vector<std::string> names;
  for (const File& file : files_) names.push_back(file.name);
  refuse_to_overwrite_inputs(options_.folder, names, inputs);
  for (const std::string& name : written_by_earlier_run(options_.folder, kStale))
    if (!is_input(name)) folder_->replace(name);
  std::error_code ignored;
  if (!key_ && fs::exists(fs::path(options_.folder) / kCertificateFile, ignored))
    folder_->replace(kSignatureFile);
  folder_->commit();
  for (const File& file : files_) written.push_back(file.name);
  written.insert(written.end(), {kCertificateFile, kReportFile});
  if (key_) written.emplace_back(kSignatureFile);
  return {std::move(document), std::move(written)};
}

void write_result(const std::string& folder, const std::vector<ResultFile>& files, const Document& document,
                  const std::string& key) {
  std::optional<PrivateKey> signer;
  if (!key.empty()) signer.emplace(key);
  const std::string json = to_text(document);
  OutputFolder out(folder);
  for (const ResultFile& file : files) out.add(file.name, file.bytes);
  out.add(kCertificateFile, json);
  if (signer) out.add(kSignatureFile, signer->sign(json));
  out.add(kReportFile, to_html(document));
  out.commit();
}

}  // namespace exhume
