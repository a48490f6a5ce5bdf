#include "deliver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "report/next_steps.h"
#include "summary.h"

namespace exhume::cli {
namespace {

// How far the network is from the true one, where the certificate compares.
void add_truth_fact(const Document& document, std::vector<Fact>& facts) {
  const Json& truth = at(document.json, "truth");
  if (!truth.is_object()) return;
  if (!is_true(at(truth, "comparable"))) {
    facts.push_back({"truth", "cannot be compared: " + words(at(truth, "why"))});
    return;
  }
  facts.push_back(
      {"truth", fmt::format("worst parameter {:.2e} off, root mean square {:.2e}",
                            number_of(at(truth, "worst_error")), number_of(at(truth, "rms_error")))});
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    const bool quoted = names[i].find(',') != std::string::npos;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", printable(quoted ? "'" + names[i] + "'" : names[i]));
  }
  return names.size() > kShown ? fmt::format("{} and {} more", text, names.size() - kShown) : text;
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

DeliveryOptions delivery_options(const Session& session, const std::string& folder,
                                 std::vector<std::string> more_names) {
  DeliveryOptions options;
  if (!session.leads()) return options;
  if (!session.sign.empty() && folder.empty())
    throw std::invalid_argument("--sign signs files; give --out with a folder for them");
  options.folder = folder;
  options.overwrite = session.force;
  options.key = session.sign;
  options.command = session.command;
  options.more_names = std::move(more_names);
  return options;
}

void show_result(const Session& session, const Delivered& delivered, const std::string& verdict,
                 std::vector<Fact> facts, const std::string& folder) {
  session.show(delivered.document.json, [&] {
    const Certificate& certificate = delivered.document.certificate;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - session.begin;
    for (Fact& fact : column_facts(certificate.input_names, certificate.output_names, certificate.target))
      facts.push_back(std::move(fact));
    add_truth_fact(delivered.document, facts);
    return summary(certificate, verdict, facts, next_steps(delivered.document.json), elapsed.count(), folder,
                   delivered.written);
  });
}

}  // namespace exhume::cli
