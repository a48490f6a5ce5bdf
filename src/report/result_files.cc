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
  return result.status == Status::kEstimated && errors.W().size() > 0 &&
         errors.W().rows() == network.W().rows() && errors.W().cols() == network.W().cols() &&
         errors.A().rows() == network.A().rows() && errors.A().cols() == network.A().cols() &&
         errors.b().size() == network.b().size() && errors.c().size() == network.c().size();
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
