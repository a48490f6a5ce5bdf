#include "certify/certificate_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include "base/blas.h"
#include "certify/certificate_writer.h"
#include "exhume/error.h"
#include "exhume/version.h"
#include "io/digest.h"

namespace exhume {
namespace {

constexpr int kDeepest = 64;  // levels of nesting; ours have six

Json file_list(const std::vector<FileDigest>& files) {
  Json list = Json::array();
  for (const FileDigest& f : files) {
    list.push_back({{"role", f.role}, {"path", f.path}});
    if (!f.sha256.empty()) list.back()["sha256"] = f.sha256;
  }
  return list;
}

std::vector<FileDigest> files_of(const Json& list) {
  std::vector<FileDigest> files;
  if (!list.is_array()) return files;
  for (const Json& file : list) {
    if (file.is_object())
      files.push_back({words(at(file, "role")), words(at(file, "path")), words(at(file, "sha256"))});
  }
  return files;
}

std::vector<double> numbers_of(const Json& list) {
  std::vector<double> values;
  if (!list.is_array()) return values;
  for (const Json& value : list) values.push_back(number_of(value));
  return values;
}

// What the files of a certificate could need at most (CertifiedFiles).
std::uint64_t most_bytes(const Json& json) {
  constexpr double kNumber = 256, kPages = 1 << 26, kArchive = 8.0 * (1 << 30), kMost = 1e18;
  const auto stated = [&](const char* key) {
    return std::max(0.0, number_of(at(json, key)));
  };  // 0 where it is not
  const double shape = 1 + stated("inputs") + stated("outputs") + stated("hidden_units") + stated("features");
  const double numbers = (stated("rows") + shape) * shape;
  bool archive = false;
  for (const FileDigest& file : files_of(at(json, "files"))) archive = archive || file.role == "samples";
  return static_cast<std::uint64_t>(std::min(kMost, kNumber * numbers + kPages + (archive ? kArchive : 0)));
}

// Brackets nested deeper than any certificate are refused before the parser follows them down.
bool too_deep(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace

void stamp(Certificate& certificate, int threads) {
  certificate.version = kVersion;
  const unsigned cores = std::thread::hardware_concurrency();
  const auto counted = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  certificate.host = fmt::format("{}, {}OpenBLAS kernels for {}", counted(cores, "core"),
                                 threads > 0 ? counted(threads, "thread") + ", " : "", blas_kernels());
  certificate.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string write_certificate(const Certificate& c, CertificateParts parts) {
  Json json;
  json["status"] = to_string(c.status);
  json["reason"] = c.reason;
  json["verdict"] = parts.verdict;
  json["kind"] = parts.kind;
  json["route"] = c.route;
  json.update(parts.own);
  if (!c.input_names.empty()) json["input_names"] = c.input_names;
  if (!c.output_names.empty()) json["output_names"] = c.output_names;
  if (!c.input_shape.empty()) json["input_shape"] = c.input_shape;
  json["samples"] = c.samples;
  json["held_out"] = c.held_out;
  json["rows"] = c.rows;
  if (c.held_out_period > 0) json["split"] = {{"period", c.held_out_period}, {"seed", c.seed}};
  if (!c.target.empty()) json["target"] = c.target;
  if (!c.remarks.empty()) json["remarks"] = c.remarks;
  json["conclusion"] = c.conclusion;
  json["assumed"] = c.assumed;
  json["assumptions"] = Json::array();
  for (const Assumption& a : c.assumptions) {
    json["assumptions"].push_back({{"name", a.name},
                                   {"value", number(a.value)},
                                   {"threshold", number(a.threshold)},
                                   {"holds", a.holds},
                                   {"required", a.required}});
  }
  json["tried"] = Json::array();
  for (const Attempt& a : c.tried) json["tried"].push_back({{"route", a.route}, {"outcome", a.outcome}});
  json["timings"] = Json::object();
  for (const StageTime& t : c.timings) {
    Json& seconds = json["timings"][t.stage];
    seconds = number((seconds.is_number() ? seconds.get<double>() : 0.0) + t.seconds);
  }
  json["seed"] = c.seed;
  if (!c.options.empty()) {
    json["options"] = Json::object();
    for (const auto& [name, value] : c.options) json["options"][name] = value;
  }
  json["version"] = c.version.empty() ? kVersion : c.version;
  json["host"] = c.host;
  json["date"] = c.date;
  json["command"] = c.command;
  json["files"] = file_list(c.files);
  json["written"] = file_list(c.written);
  if (!parts.pictures.empty()) json["pictures"] = std::move(parts.pictures);
  if (!parts.sections.empty()) json["sections"] = std::move(parts.sections);
  return sealed(std::move(json));
}

std::string sealed(Json json) {
  json.erase("digest");
  const std::string text = to_text(json);
  json = parsed(text);  // now with valid strings
  json["digest"] = sha256(text);
  return to_text(json) + "\n";
}

Json parse_certificate(const std::string& text) {
  if (too_deep(text)) {
    throw DataError(
        fmt::format("the certificate is nested more than {} deep; is it a certificate.json?", kDeepest));
  }
  Json json = parsed(text);
  if (!json.is_object() || !at(json, "status").is_string())
    throw DataError("the certificate is not valid JSON or has no status; is it a certificate.json?");
  return json;
}

bool digest_matches(const std::string& text) {
  if (too_deep(text)) return false;
  Json json = parsed(text);
  if (!json.is_object() || !at(json, "digest").is_string()) return false;
  const auto stated = json["digest"].get<std::string>();
  json.erase("digest");
  return sha256(to_text(json)) == stated;
}

CertifiedFiles certified_files(const std::string& text) {
  const Json json = parse_certificate(text);
  CertifiedFiles files{words(at(json, "kind")),
                       files_of(at(json, "files")),
                       files_of(at(json, "written")),
                       {},
                       most_bytes(json)};
  if (files.kind.empty()) files.kind = "network";
  for (const double column : numbers_of(at(json, "target"))) {
    if (column >= 0 && column < 1e9) files.target.push_back(static_cast<Index>(column));
  }
  // Certificates of version 0.1 name the network alone.
  if (const std::string digest = words(at(json, "network_sha256")); !digest.empty() && files.written.empty())
    files.written.push_back({"network", "network.safetensors", digest});
  return files;
}

}  // namespace exhume
