// A result on its way to the user: its files with their digests, certificate.json, report.html, and the
// terminal.
//
// The folder is opened before the long work: one that cannot be written to must not cost an hour. Files
// appear whole or not at all, and files that an earlier certificate in the folder speaks of go when the new
// ones come. With a key (--sign) the bytes of certificate.json are signed: it holds the digests of all others.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "certify/certificate_json.h"
#include "command.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/signature.h"
#include "report/report.h"

namespace exhume::cli {

// Names of columns and which of them are outputs, for a terminal; none where there are no names and the files tell.
[[nodiscard]] std::vector<Fact> column_facts(const std::vector<std::string>& inputs,
                                             const std::vector<std::string>& outputs,
                                             const std::vector<Index>& target);

class Delivery {
 public:
  // No folder: nothing is written. What no earlier run wrote is not overwritten (overwrite.h): networks, and the
  // files `more` that this command writes beside them.
  Delivery(const Session& session, const std::string& folder, const std::vector<std::string>& more = {});

  [[nodiscard]] bool writes() const { return folder_.has_value(); }
  // A file to be written whole, or piece by piece; only where writes().
  void add(const std::string& role, const std::string& name, std::string_view bytes);
  AtomicFile& open(const std::string& role, const std::string& name);

  // What the reader knows (report/view.h): the shape of the inputs, and the file of the true network; empty
  // where not. The truth is opened at once.
  void view(const std::string& shape, const std::string& truth);
  // Names, remarks and what else the files say of the samples, into the certificate.
  void describe(Certificate& certificate, const OpenedSamples& samples) const;

  // Completes the certificate of `result`, writes and shows it; returns the exit code. `more` goes to
  // to_json.
  template <class Any, class... More>
  int finish(Any& result, const OpenedSamples& samples, const More&... more) {
    complete(result.certificate, samples);
    const std::string json = viewed(result, to_json(result, more...));
    put_out(result.certificate, json, verdict(result), facts(result));
    return stands(result.certificate.status) ? kOk : kNotCertified;
  }

  // The same for a result that no files were read for.
  template <class Any>
  int finish(Any& result) {
    return finish(result, OpenedSamples());
  }

 private:
  struct File {
    std::string role, name;
    AtomicFile* file;
  };

  // The certificate with the true network beside the one found, where one is given.
  template <class Any>
  std::string viewed(const Any& result, std::string json) const {
    if constexpr (std::is_same_v<Any, Result>) {
      if (result.certificate.status == Status::kRefused) return json;
      if (result.activation != "relu")
        return with_truth_of(json, RectifiedNetwork{result.network, result.activation});
      return with_truth_of(json, result.network);
    } else {
      return json;
    }
  }
  std::string with_truth_of(const std::string& json, const StoredModel& found) const;
  void complete(Certificate& certificate, const OpenedSamples& samples);
  void put_out(const Certificate& certificate, const std::string& json, const std::string& verdict,
               const std::vector<Fact>& facts);

  const Session& session_;
  std::string path_;
  std::optional<PrivateKey> key_;
  std::optional<OutputFolder> folder_;
  AtomicFile* page_ = nullptr;
  std::vector<File> files_;
  std::vector<Index> shape_;
  std::optional<StoredModel> truth_;
  FileDigest truth_file_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace exhume::cli
