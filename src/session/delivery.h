// A result on its way into a folder: its files with their digests, certificate.json, report.html, a
// signature.
//
// The folder is opened before the long work: one that cannot be written to must not cost an hour. Files
// appear whole or not at all. Results of an earlier run go when the new ones come, where the certificate in
// the folder names their bytes as they are; nothing else is removed, and no file that the run reads. With a
// key the bytes of certificate.json are signed: it holds the digests of all others.
#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "certify/certificate_json.h"
#include "exhume/control.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/signature.h"
#include "report/report.h"
#include "report/result_files.h"

namespace exhume {

struct DeliveryOptions {
  std::string folder{};               // empty: nothing is written
  bool in_memory = false;             // without a folder: the files are handed back (Delivered::files)
  bool overwrite = false;             // files that no earlier run wrote may be lost (session/overwrite.h)
  std::string key{};                  // file of a private key to sign with; empty: no signature
  std::string command{};              // as typed, for the certificate; empty where there was none
  std::vector<std::string> inputs{};  // files that the run reads: never overwritten, whatever else is allowed
  std::vector<std::string>
      more_names{};                  // files of this kind of result beside network.safetensors and its like
  std::vector<Index> input_shape{};  // rows and columns where the inputs are an image, or none
  std::string
      truth{};  // file of the network behind the samples, where it is known: the result is compared with it
};

struct Delivered {
  Document document;
  std::vector<std::string> written{};  // names in the folder
  std::vector<ResultFile> files{};     // where there is none, and they were asked for
};

class Delivery {
 public:
  // Opens the folder and reads the key and the truth. Throws WouldOverwrite, DataError,
  // std::invalid_argument.
  explicit Delivery(DeliveryOptions options);

  [[nodiscard]] bool writes() const { return folder_.has_value() || options_.in_memory; }
  // A file of the result: given whole to add(), where writes(), or written piece by piece after open(), where
  // there is a folder.
  void add(const ResultFile& file);
  AtomicFile& open(const std::string& role, const std::string& name);

  // Writes into the certificate what the files say of the samples: names of columns, target, shape, remarks.
  void describe(Certificate& certificate, const OpenedSamples& samples) const;

  // Completes the certificate of `result` and writes everything. `more` goes to make_document.
  template <class AnyResult, class... More>
  Delivered finish(AnyResult& result, const OpenedSamples& samples, const Control& control,
                   const More&... more) {
    complete(result.certificate, samples, control);
    Document document = make_document(result, more...);
    if constexpr (std::is_same_v<AnyResult, Result>) compare(document, result);
    return write(std::move(document), control);
  }

 private:
  struct File {
    std::string role, name;
    AtomicFile* file;
  };

  void complete(Certificate& certificate, const OpenedSamples& samples, const Control& control);
  void compare(Document& document, const Result& result) const;
  Delivered write(Document document, const Control& control);

  DeliveryOptions options_;
  std::optional<PrivateKey> key_;
  std::optional<OutputFolder> folder_;
  AtomicFile* page_ = nullptr;
  std::vector<File> files_;
  std::vector<ResultFile> in_memory_;
  std::optional<StoredModel> truth_;
  FileDigest truth_file_;
};

// Writes a result that was put together before, its certificate unchanged: all files or none. Overwrites what
// is there.
void write_result(const std::string& folder, const std::vector<ResultFile>& files, const Document& document,
                  const std::string& key = {});

}  // namespace exhume
