#include "experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace exhume::experiments {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Bench::find(std::string name, double value, std::string should, bool holds) {
  report_.findings.push_back({std::move(name), value, std::move(should), holds});
}

void Bench::find_at_most(std::string name, double value, double most) {
  find(std::move(name), value, fmt::format("at most {:g}", most), value <= most);
}

void Bench::count(std::string name, int good, int of, int least) {
  find(std::move(name), good, fmt::format("at least {} of {}", least, of), good >= least);
}

void Bench::write(const std::string& name, const std::string& bytes) {
  folder_.add(name, bytes);
  report_.files.push_back(name);
}

Report Bench::finish(const std::string& findings_name) {
  Json findings = Json::array();
  for (const Finding& f : report_.findings) {
    Json one = {{"name", f.name}, {"value", nullptr}};
    if (std::isfinite(f.value)) one["value"] = f.value;
    if (!f.should.empty()) {
      one["should_be"] = f.should;
      one["holds"] = f.holds;
    }
    findings.push_back(one);
  }
  write(findings_name, to_text(findings) + "\n");
  folder_.commit();
  return std::move(report_);
}

const Experiment& find_experiment(const std::string& name) {
  std::string names;
  for (const Experiment& one : kExperiments) {
    if (name == one.name) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw std::invalid_argument(fmt::format("experiment is '{}', but must be one of {}", name, names));
}

Json to_document(const std::string& name, const Options& options, const Report& report) {
  Json findings = Json::array();
  for (const Finding& f : report.findings) {
    findings.push_back(
        {{"name", f.name}, {"value", number(f.value)}, {"should_be", f.should}, {"holds", f.holds}});
  }
  return {{"experiment", name},
          {"holds", report.holds()},
          {"findings", std::move(findings)},
          {"folder", options.out.string()},
          {"files", report.files}};
}

}  // namespace exhume::experiments
