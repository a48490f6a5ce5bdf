#include "report/result_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "io/column_names.h"
#include "io/onnx.h"
#include "io/safetensors.h"
#include "routes/outlook.h"

namespace exhume {
namespace {

bool has_errors(const Result& result) {
  const Network &network = result.network, &errors = result.errors.standard_errors;
  return result.certificate.status == Status::kEstimated && errors.parameters() > 0 &&
         errors.widths() == network.widths() && errors.inputs() == network.inputs() &&
         errors.outputs() == network.outputs();
}

}  // namespace

std::vector<ResultFile> result_files(const Result& result) {
  std::vector<ResultFile> files;
  const Certificate& certificate = result.certificate;
  if (certificate.status == Status::kRefused) return files;
  if (result.activation == "relu") {
    files.push_back({"network", "network.safetensors", network_bytes(result.network)});
    files.push_back(
        {"network for other programs", "network.onnx",
         with_names(onnx_bytes(result.network), certificate.input_names, certificate.output_names)});
  } else {
    // Another name: what reads network.safetensors takes its units for ReLUs.
    files.push_back({"network", "rectified.safetensors",
                     network_bytes(result.network, {{"activation", "rectified " + result.activation}})});
  }
  if (has_errors(result)) {
    files.push_back({"standard errors", "errors.safetensors",
                     network_bytes(result.errors.standard_errors, {{"content", "standard errors"}})});
  }
  if (result.support.empty()) return files;
  std::string support = "row,output\n";
  for (const auto& [row, output] : result.support) support += fmt::format("{},{}\n", row, output);
  files.push_back({"entries hit by noise", "support.csv", std::move(support)});
  return files;
}

std::vector<ResultFile> result_files(const ExtractResult& result) {
  std::vector<ResultFile> files;
  if (result.certificate.status != Status::kRefused) {
    files.push_back({"network", "network.safetensors", network_bytes(result.network)});
    files.push_back({"network for other programs", "network.onnx", onnx_bytes(result.network)});
  }
  files.push_back({"queries and answers", "queries.log", result.log});
  return files;
}

std::vector<std::string> data_remarks(const SampleSource& samples,
                                      const std::vector<std::string>& input_names) {
  std::vector<std::string> remarks;
  for (const std::string& remark : index_remarks(samples))
    remarks.push_back(with_column_names(remark, input_names, {}));
  return remarks;
}

std::vector<std::pair<std::string, std::string>> options_said(const RecoverOptions& options) {
  const Index depth = options.depth();
  std::vector<std::pair<std::string, std::string>> said = {
      {"hidden", options.widths.empty() ? "auto" : fmt::format("{}", fmt::join(options.widths, ","))},
      {"layers", depth == RecoverOptions::kAnyDepth ? "auto" : fmt::format("{}", depth)},
      {"route", options.route},
      {"budget", fmt::format("{:g}", options.budget_seconds)}};
  if (options.activation != "relu") said.emplace_back("activation", options.activation);
  if (options.leak != 0) said.emplace_back("leak", fmt::format("{:g}", options.leak));
  return said;
}

}  // namespace exhume
