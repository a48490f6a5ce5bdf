#include "report/result_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/column_names.h"
#include "io/onnx.h"
#include "io/safetensors.h"
#include "routes/outlook.h"

namespace exhume {
namespace {

bool has_errors(const RecoverResult& result) {
  const Network &network = result.network, &errors = result.standard_errors;
  if (result.status != Status::kEstimated || errors.layers.size() != network.layers.size()) return false;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer &weights = network.layers[l], &spread = errors.layers[l];
    if (spread.W.rows() != weights.W.rows() || spread.W.cols() != weights.W.cols() ||
        spread.b.size() != weights.b.size())
      return false;
  }
  return network.hidden() > 0;
}

}  // namespace

std::vector<ResultFile> result_files(const RecoverResult& result) {
  std::vector<ResultFile> files;
  if (result.status == Status::kRefused) return files;
  if (result.activation == "relu") {
    files.push_back({"network", "network.safetensors", network_bytes(result.network)});
    files.push_back({"network for other programs", "network.onnx",
                     with_names(onnx_bytes(result.network), result.input_names, result.output_names)});
  } else {
    // Another name: what reads network.safetensors takes its units for ReLUs.
    files.push_back({"network", "rectified.safetensors",
                     network_bytes(result.network, {{"activation", "rectified " + result.activation}})});
  }
  if (has_errors(result)) {
    files.push_back({"standard errors", "errors.safetensors",
                     network_bytes(result.standard_errors, {{"content", "standard errors"}})});
  }
  if (result.support.empty()) return files;
  std::string support = "row,output\n";
  for (const auto& [row, output] : result.support) support += fmt::format("{},{}\n", row, output);
  files.push_back({"entries hit by noise", "support.csv", std::move(support)});
  return files;
}

std::vector<ResultFile> result_files(const DeepResult& result) {
  if (result.status == Status::kRefused) return {};
  std::vector<ResultFile> files = {
      {"network", "network.safetensors", network_bytes(result.network)},
      {"network for other programs", "network.onnx",
       with_names(onnx_bytes(result.network), result.input_names, result.output_names)}};
  if (result.status == Status::kEstimated && !result.standard_errors.layers.empty())
    files.push_back({"standard errors", "errors.safetensors", network_bytes(result.standard_errors)});
  return files;
}

std::vector<ResultFile> result_files(const ExtractResult& result) {
  std::vector<ResultFile> files;
  if (result.status != Status::kRefused) {
    files.push_back({"network", "network.safetensors", network_bytes(result.network)});
    files.push_back({"network for other programs", "network.onnx", onnx_bytes(result.network)});
  }
  files.push_back({"questions and answers", "questions.log", result.log});
  return files;
}

std::vector<std::string> data_remarks(const SampleSource& samples,
                                      const std::vector<std::string>& input_names) {
  std::vector<std::string> remarks;
  for (const Index column : index_columns(samples)) {
    remarks.push_back(with_column_names(
        fmt::format(
            "input {} counts the rows (0, 1, 2, ... or 1, 2, 3, ...): it looks like an index; leave it away",
            column + 1),
        input_names, {}));
  }
  return remarks;
}

std::vector<std::pair<std::string, std::string>> options_said(const RecoverOptions& options,
                                                              const std::string& layers) {
  std::vector<std::pair<std::string, std::string>> said = {
      {"hidden", options.hidden ? fmt::format("{}", *options.hidden) : "auto"},
      {"layers", layers},
      {"route", options.route},
      {"budget", fmt::format("{:g}", options.budget_seconds)}};
  if (options.rectifier.name != "relu") said.emplace_back("activation", options.rectifier.name);
  if (options.leak != 0) said.emplace_back("leak", fmt::format("{:g}", options.leak));
  return said;
}

std::vector<std::pair<std::string, std::string>> options_said(const DeepOptions& options) {
  return {{"hidden", options.widths ? fmt::format("{}", fmt::join(*options.widths, ",")) : "auto"},
          {"layers", fmt::format("{}", options.layers)},
          {"budget", fmt::format("{:g}", options.budget_seconds)}};
}

}  // namespace exhume
