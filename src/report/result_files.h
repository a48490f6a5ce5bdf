// The files of a result beside its certificate: the same for every program that writes one.
#pragma once

#include <string>
#include <vector>

#include "exhume/extract.h"
#include "exhume/recover.h"

namespace exhume {

struct ResultFile {
  std::string role, name, bytes;
};

//   network.safetensors    the network, or rectified.safetensors where its units are no ReLUs
//   network.onnx           the same for other programs, with names of inputs and outputs where there are some
//   errors.safetensors     standard errors, under the names of the weights; of estimated networks
//   support.csv            entries that were hit by sparse noise
// None where the result is refused.
[[nodiscard]] std::vector<ResultFile> result_files(const Result& result);
// And queries.log, all queries with their answers, also of a refusal.
[[nodiscard]] std::vector<ResultFile> result_files(const ExtractResult& result);

// What is noticed about the data whatever the result: inputs that count the rows.
[[nodiscard]] std::vector<std::string> data_remarks(const SampleSource& samples,
                                                    const std::vector<std::string>& input_names);

// What was asked for, as the certificate keeps it.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_said(const RecoverOptions& options);

}  // namespace exhume
