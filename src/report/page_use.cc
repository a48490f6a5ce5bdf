#include "report/page_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/next_steps.h"
#include "report/report_page.h"
#include "report/svg.h"

namespace exhume {
namespace {

using svg::escape;

// Names of files that lie beside the page: nothing that a browser would take for anything else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

std::string link(const std::string& name) {
  if (!is_plain_name(name)) return escape(name);
  return fmt::format("<a href=\"./{0}\">{0}</a>", name);
}

bool wrote(const Json& json, std::string_view name) {
  const Json& written = at(json, "written");
  return written.is_array() && std::any_of(written.begin(), written.end(),
                                           [&](const Json& file) { return words(at(file, "path")) == name; });
}

std::string lines(const char* language, const std::vector<std::string>& text) {
  std::string escaped;
  for (const std::string& line : text) {
    if (!escaped.empty()) escaped += '\n';
    escaped += escape(line);
  }
  return fmt::format("<div><h3>{}</h3>\n<pre>{}</pre></div>\n", language, escaped);
}

// Three lines per language.
std::string loading(const Json& json) {
  if (!wrote(json, "network.safetensors"))
    return lines("Python", {"import exhume", "result = exhume.load(\".\")  # this folder"});
  const std::string kind = words(at(json, "kind"));
  const bool quadratic = kind == "memorized network";
  const char* type = quadratic ? "QuadraticNetwork" : "Network";
  std::string out = lines(
      "Python", {"import exhume", fmt::format("network = exhume.{}.load(\"network.safetensors\")", type),
                 "y = network(x)"});
  if (!quadratic) {
    out += lines(
        "C++", {"#include <exhume/exhume.h>", "auto network = exhume::open_network(\"network.safetensors\");",
                "exhume::RowMatrix y = exhume::evaluate(network, x);"});
  }
  if (wrote(json, "network.onnx")) {
    out += lines("ONNX", {"import onnxruntime", "network = onnxruntime.InferenceSession(\"network.onnx\")",
                          "y = network.run(None, {\"x\": x.astype(\"float64\")})[0]"});
  }
  return out;
}

std::string row(std::string_view name, std::string_view value) {
  return fmt::format("<tr><td class=\"name\">{}</td><td>{}</td></tr>\n", name, value);
}

}  // namespace

std::string where_and_when(const Json& json) {
  std::string out = escape(words(at(json, "host")));
  std::string date = words(at(json, "date"));
  // 2026-11-16T06:52:18Z, as people write it.
  if (date.size() == 20 && date[10] == 'T') date = date.substr(0, 10) + " " + date.substr(11, 5) + " UTC";
  if (!date.empty()) out += (out.empty() ? "" : " · ") + escape(date);
  return out;
}

std::string next_section(const Json& json) {
  const std::string status = words(at(json, "status"));
  if (status != "uncertified" && status != "refused") return "";
  std::vector<const Json*> failed;
  bool measured = false;  // does any of them have a number?
  if (at(json, "assumptions").is_array()) {
    for (const Json& check : at(json, "assumptions")) {
      if (!is_true(at(check, "required")) || is_true(at(check, "holds"))) continue;
      failed.push_back(&check);
      measured = measured || at(check, "value").is_number();
    }
  }
  std::string content;
  if (!failed.empty()) {
    content =
        fmt::format("<div class=\"scroll\"><table>\n<tr><th>Failed</th>{}</tr>\n",
                    measured ? "<th class=\"number\">Value</th><th class=\"number\">Threshold</th>" : "");
    for (const Json* check : failed) {
      content += fmt::format("<tr><td>{}</td>", escape(words(at(*check, "name"))));
      for (const char* key : {"value", "threshold"}) {
        if (measured)
          content += fmt::format("<td class=\"number\">{}</td>", pretty(number_of(at(*check, key))));
      }
      content += "</tr>\n";
    }
    content += "</table></div>\n";
  }
  content += "<ol>\n";
  const std::string kind = words(at(json, "kind"));
  if (kind == "comparison") {
    const bool undecided = words(at(json, "comparison")) == "undecided";
    const bool box = at(json, "confidence").is_number();
    content += undecided && box ? "<li>Give a tolerance above the variation of the answers.</li>\n"
               : undecided
                   ? "<li>Give a larger budget, a smaller domain or a larger tolerance.</li>\n"
                   : "<li>Run both models at the worst input below: it is the shortest way to see the "
                     "difference.</li>\n"
                     "<li>Units that are changed, missing or extra are listed below, with inputs that "
                     "activate them.</li>\n"
                     "<li>If a difference of this size is fine, give it as the tolerance.</li>\n";
    return section("What to do next", "", content + "</ol>\n", "wide next");
  }
  for (const std::string& step : next_steps(json)) content += "<li>" + typeset(step) + ".</li>\n";
  return section(failed.empty() ? "What to do next" : "What failed, and what to do next", "",
                 content + "</ol>\n", "wide next");
}

std::string use_section(const Json& json) {
  const Json& written = at(json, "written");
  if (words(at(json, "status")) == "refused" || !written.is_array() || written.empty()) return "";
  std::string files;
  for (const Json& file : written) {
    files += fmt::format("{}{} ({})", files.empty() ? "" : ", ", link(words(at(file, "path"))),
                         escape(words(at(file, "role"))));
  }
  return section(
      words(at(json, "kind")) == "comparison" ? "Files" : "Use it",
      files + ", " + link("certificate.json") + " (all that this page shows).",
      words(at(json, "kind")) == "comparison" ? "" : "<div class=\"lines\">\n" + loading(json) + "</div>\n",
      "wide");
}

std::string reproduce_section(const Json& json) {
  std::string content;
  if (!words(at(json, "command")).empty())
    content += "<pre>" + escape(words(at(json, "command"))) + "</pre>\n";
  content += "<div class=\"scroll\"><table>\n";
  for (const char* list : {"files", "written"}) {
    if (!at(json, list).is_array()) continue;
    for (const Json& file : at(json, list)) {
      const std::string path = words(at(file, "path")), hash = words(at(file, "sha256"));
      content += row(escape(words(at(file, "role"))),
                     (std::string_view(list) == "written" ? link(path) : escape(path)) +
                         (hash.empty() ? "" : "<br><code>SHA-256 " + escape(hash) + "</code>"));
    }
  }
  if (const Json& options = at(json, "options"); options.is_object() && !options.empty()) {
    std::string said;
    for (const auto& [name, value] : options.items()) {
      said += (said.empty() ? "" : ", ") + escape(name) + " " +
              escape(value.is_string() ? words(value) : to_line(value));
    }
    content += row("options", said);
  }
  if (const Json& seed = at(json, "seed"); seed.is_number()) content += row("seed", to_line(seed));
  for (const auto& [key, name] : {std::pair{"host", "machine"}, std::pair{"date", "date"}}) {
    if (const std::string text = words(at(json, key)); !text.empty()) content += row(name, escape(text));
  }
  content += row("version", escape(words(at(json, "version")))) + "</table></div>\n";
  return section("How to reproduce",
                 fmt::format("The same files, seed and version give the same {} to the last bit.",
                             words(at(json, "kind")) == "comparison" ? "result" : "network"),
                 content, "wide");
}

}  // namespace exhume
