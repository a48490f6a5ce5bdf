#include "delivery.h"

#include <filesystem>
#include <stdexcept>

#include "certificate_file.h"
#include "exhume/base/error.h"
#include "overwrite.h"
#include "summary.h"
#include "terminal.h"

namespace exhume::cli {
namespace {

namespace fs = std::filesystem;

// What commands write, whatever the certificate says: those of version 0.1 do not name it.
const std::vector<std::string> kResults = {"network.safetensors", "network.onnx", "rectified.safetensors",
                                           "support.csv"};

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

}  // namespace

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
  stamp(certificate);
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
    put(summary(certificate, verdict, facts, elapsed.count(), path_, written));
  }
}

}  // namespace exhume::cli
