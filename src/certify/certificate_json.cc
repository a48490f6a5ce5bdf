#include "certify/certificate_json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>
#include <utility>

#include "base/blas.h"
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

std::vector<std::string> strings_of(const Json& list) {
  std::vector<std::string> values;
  if (!list.is_array()) return values;
  for (const Json& value : list) values.push_back(words(value));
  return values;
}

// A count or a place; 0 where it is none.
Index index_of(const Json& value) {
  const double number = number_of(value);
  return number >= 0 && number <= 1e15 ? static_cast<Index>(number) : 0;
}

std::vector<Index> indices_of(const Json& list) {
  std::vector<Index> values;
  if (!list.is_array()) return values;
  for (const Json& value : list) {
    if (const double number = number_of(value); number >= 0 && number < 1e9)
      values.push_back(static_cast<Index>(number));
  }
  return values;
}

Certificate certificate_of(const Json& json) {
  Certificate c;
  for (const Status status : {Status::kCertified, Status::kEstimated, Status::kRefused}) {
    if (words(at(json, "status")) == to_string(status)) c.status = status;
  }
  c.reason = words(at(json, "reason"));
  c.route = words(at(json, "route"));
  if (at(json, "assumptions").is_array()) {
    for (const Json& a : at(json, "assumptions"))
      c.assumptions.push_back({words(at(a, "name")), number_of(at(a, "value")), number_of(at(a, "threshold")),
                               is_true(at(a, "holds")), is_true(at(a, "required"))});
  }
  if (at(json, "tried").is_array()) {
    for (const Json& a : at(json, "tried"))
      c.tried.push_back({words(at(a, "route")), words(at(a, "outcome"))});
  }
  if (at(json, "timings").is_object()) {
    for (const auto& [stage, seconds] : at(json, "timings").items())
      c.timings.push_back({stage, number_of(seconds)});
  }
  if (at(json, "seed").is_number_unsigned()) c.seed = at(json, "seed").get<std::uint64_t>();
  c.rows = index_of(at(json, "rows"));
  c.samples = index_of(at(json, "samples"));
  c.searched = index_of(at(json, "searched_rows"));
  c.held_out = index_of(at(json, "held_out"));
  c.held_out_period = index_of(at(at(json, "split"), "period"));
  c.conclusion = words(at(json, "conclusion"));
  c.assumed = strings_of(at(json, "assumed"));
  c.input_names = strings_of(at(json, "input_names"));
  c.output_names = strings_of(at(json, "output_names"));
  c.input_shape = indices_of(at(json, "input_shape"));
  c.target = indices_of(at(json, "target"));
  c.remarks = strings_of(at(json, "remarks"));
  if (at(json, "options").is_object()) {
    for (const auto& [name, value] : at(json, "options").items()) c.options.emplace_back(name, words(value));
  }
  c.command = words(at(json, "command"));
  c.version = words(at(json, "version"));
  c.host = words(at(json, "host"));
  c.date = words(at(json, "date"));
  c.files = files_of(at(json, "files"));
  c.written = files_of(at(json, "written"));
  // Certificates of version 0.1 name the network alone.
  if (const std::string digest = words(at(json, "network_sha256")); !digest.empty() && c.written.empty())
    c.written.push_back({"network", "network.safetensors", digest});
  return c;
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

Document make_document(const Certificate& c, CertificateParts parts) {
  Document document{c, parts.kind, Json(), true};
  Json& json = document.json;
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
  if (c.searched > 0) json["searched_rows"] = c.searched;
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
  seal(document);
  return document;
}

void seal(Document& document) {
  document.json.erase("digest");
  make_valid(document.json);
  document.json["digest"] = sha256(to_text(document.json));
  document.sealed = true;
}

std::string to_text(const Document& document) { return to_text(document.json) + "\n"; }

Document read_document(const std::string& text) {
  if (too_deep(text)) {
    throw DataError(
        fmt::format("the certificate is nested more than {} deep; is it a certificate.json?", kDeepest));
  }
  Document document;
  Json& json = document.json;
  json = parsed(text);
  if (!json.is_object() || !at(json, "status").is_string())
    throw DataError("the certificate is not valid JSON or has no status; is it a certificate.json?");
  if (const Json digest = at(json, "digest"); digest.is_string()) {
    json.erase("digest");
    document.sealed = sha256(to_text(json)) == digest.get<std::string>();
    json["digest"] = digest;
  }
  document.certificate = certificate_of(json);
  document.kind = words(at(json, "kind"));
  if (document.kind.empty()) document.kind = "network";
  return document;
}

std::uint64_t most_bytes(const Document& document) {
  constexpr double kNumber = 256, kPages = 1 << 26, kArchive = 8.0 * (1 << 30), kMost = 1e18;
  const auto stated = [&](const char* key) {
    return std::max(0.0, number_of(at(document.json, key)));
  };  // 0 where it is not
  const double shape = 1 + stated("inputs") + stated("outputs") + stated("hidden_units") + stated("features");
  const double numbers = (stated("rows") + shape) * shape;
  bool archive = false;
  for (const FileDigest& file : document.certificate.files) archive = archive || file.role == "samples";
  return static_cast<std::uint64_t>(std::min(kMost, kNumber * numbers + kPages + (archive ? kArchive : 0)));
}

}  // namespace exhume
