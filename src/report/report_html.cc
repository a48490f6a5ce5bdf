#include <fmt/format.h>

#include <cmath>

#include "certify/certificate_json.h"
#include "exhume/error.h"
#include "report/page_pictures.h"
#include "report/page_use.h"
#include "report/page_weights.h"
#include "report/report.h"
#include "report/report_page.h"
#include "report/rounded.h"
#include "report/sections.h"
#include "report/svg.h"

namespace exhume {
namespace {

using svg::escape;

std::string status_words(const std::string& status) {
  if (status == "certified") return "Certified";
  if (status == "estimated") return "Estimated";
  if (status == "uncertified") return "Not certified";
  return "Refused";
}

// A comparison shows its verdict in the place of the status.
std::string badge_words(const Json& json) {
  const std::string verdict = words(at(json, "comparison"));
  if (verdict == "same_network") return "The same network";
  if (verdict == "same_function") return "The same function";
  if (verdict == "rounding") return "Only rounding";
  if (verdict == "different") return "Different";
  if (verdict == "undecided") return "Undecided";
  return status_words(words(at(json, "status")));
}

std::string brand(const std::string& kind) {
  if (kind == "lowest layer") return "the lowest layer of a network, whatever lies above it";
  if (kind == "halfspaces") return "a union or intersection of halfspaces from labels";
  if (kind == "deep network") return "a network of several hidden layers from its inputs and outputs";
  if (kind == "extracted network") return "a network extracted by queries";
  if (kind == "comparison") return "are two networks the same?";
  if (kind == "memorized network") return "a network that fits given labels";
  return "a network of one hidden layer from its inputs and outputs";
}

std::string header(const Json& json) {
  const std::string status = words(at(json, "status"));
  std::string sentence = words(at(json, "verdict"));
  const std::string reason = words(at(json, "reason"));
  if (sentence.empty()) sentence = reason;
  std::string out = "<header>\n<p class=\"brand\">Exhume " + escape(words(at(json, "version"))) + " · " +
                    escape(brand(words(at(json, "kind")))) + "</p>\n";
  out += fmt::format("<span class=\"badge {}\">{}</span>\n<h1>{}</h1>\n", status, badge_words(json),
                     typeset(sentence));
  if (!reason.empty() && sentence.find(reason) == std::string::npos &&
      sentence.find(capitalised(reason)) == std::string::npos) {
    out += fmt::format("<p class=\"reason\">{}</p>\n", typeset(capitalised(reason)));
  }
  if (const std::string made = where_and_when(json); !made.empty())
    out += fmt::format("<p class=\"reason\">{}</p>\n", made);
  return out + "</header>\n";
}

bool stands_as_noise(const Json& json) {
  const std::string status = words(at(json, "status"));
  return status == "certified" || status == "estimated" || number_of(at(json, "noise_sd")) == 0;
}

std::string facts(const Json& json) {
  std::string out = "<dl class=\"facts\">\n";
  const auto fact = [&](const char* name, const std::string& value) {
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", name, value);
  };
  const auto count = [&](const char* key) {
    return at(json, key).is_number() ? grouped(number_of(at(json, key))) : "–";
  };
  if (!words(at(json, "route")).empty()) fact("Route", escape(words(at(json, "route"))));
  const Json& hidden = at(json, "hidden_units");
  std::string units;
  for (const double width : hidden.is_array() ? numbers(hidden) : std::vector<double>{number_of(hidden)}) {
    if (width > 0) units += grouped(width) + " → ";
  }
  if (!units.empty()) fact("Inputs → hidden → outputs", count("inputs") + " → " + units + count("outputs"));
  fact("Samples (held out)", count("samples") + " (" + count("held_out") + ")");
  const bool refused = words(at(json, "status")) == "refused";
  if (!refused) fact("Held-out relative mse", pretty(number_of(at(json, "heldout_relative_mse"))));
  const double noise = number_of(at(json, "noise_sd"));
  // Where a check failed, the residual may be something else than noise.
  const bool noisy = stands_as_noise(json);
  if (!refused) {
    fact(noisy ? "Noise, standard deviation" : "Residual, standard deviation",
         noise == 0 ? "none seen" : pretty(noise));
  }
  const double error = number_of(at(json, "max_standard_error"));
  if (error > 0) fact("Largest standard error", pretty(error));
  const double bound = number_of(at(json, "functional_error_bound")),
               confidence = number_of(at(json, "confidence"));
  if (std::isfinite(bound) && bound > 0) {
    fact(std::isfinite(confidence) ? fmt::format("Bound on E|f − f̂|² at {:.4g}%", 100 * confidence).c_str()
                                   : "Bound on E|f − f̂|²",
         pretty(bound));
  }
  if (at(json, "signs_identifiable").is_boolean()) {
    fact("Signs of the units", at(json, "signs_identifiable").get<bool>() ? "determined" : "not determined");
  }
  return out + "</dl>\n";
}

std::string assumptions(const Json& json) {
  const Json& list = at(json, "assumptions");
  if (!list.is_array() || list.empty()) return "";
  std::string table =
      "<div class=\"scroll\"><table>\n<tr><th>Assumption</th><th class=\"number\">Value</th>"
      "<th class=\"number\">Threshold</th><th>Holds</th></tr>\n";
  for (const Json& a : list) {
    const Json& holds = at(a, "holds");
    const bool yes = holds.is_boolean() && holds.get<bool>();
    const bool required = at(a, "required").is_boolean() && at(a, "required").get<bool>();
    table += fmt::format(
        "<tr{}><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"mark "
        "{}\">{}</td></tr>\n",
        required ? " class=\"required\"" : "", escape(words(at(a, "name"))),
        pretty(number_of(at(a, "value"))), pretty(number_of(at(a, "threshold"))), yes ? "yes" : "no",
        yes ? "✓ yes" : "✗ no");
  }
  return section("Assumptions",
                 "What was looked at, and whether the data bear it out. A certificate needs those in bold.",
                 table + "</table></div>\n", "wide");
}

// What was noticed about the data on the way.
std::string remarks(const Json& json) {
  const Json& list = at(json, "remarks");
  if (!list.is_array() || list.empty()) return "";
  std::string content = "<ul>\n";
  for (const Json& item : list) content += "<li>" + typeset(words(item)) + "</li>\n";
  return section("Worth a look", "", content + "</ul>\n", "wide");
}

// What follows, and from what.
std::string conclusion(const Json& json) {
  const std::string sentence = words(at(json, "conclusion"));
  if (sentence.empty()) return "";
  std::string content = "<p class=\"conclusion\">" + typeset(capitalised(sentence)) + ".</p>\n";
  const Json& assumed = at(json, "assumed");
  if (assumed.is_array() && !assumed.empty()) {
    content += "<p>No sample can show, and the conclusion assumes, that</p>\n<ul>\n";
    for (const Json& item : assumed) content += "<li>" + typeset(words(item)) + "</li>\n";
    content += "</ul>\n";
  }
  return section("What this means", "", content, "wide");
}

std::string tried(const Json& json) {
  const Json& list = at(json, "tried");
  if (!list.is_array() || list.empty()) return "";
  std::string table = "<div class=\"scroll\"><table>\n<tr><th>Route</th><th>Outcome</th></tr>\n";
  for (const Json& a : list) {
    table += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td></tr>\n", escape(words(at(a, "route"))),
                         typeset(words(at(a, "outcome"))));
  }
  return section("What was tried", "", table + "</table></div>\n");
}

}  // namespace

std::string to_html(const std::string& json) { return to_html(read_document(json)); }

std::string to_html(const Document& document) {
  const Json& json = document.json;
  const std::string status = words(at(json, "status"));
  if (status != "certified" && status != "estimated" && status != "uncertified" && status != "refused") {
    throw DataError(
        "the certificate has no status (certified, estimated, uncertified or refused); is it a "
        "certificate.json?");
  }
  const bool network = document.kind == "network" || document.kind == "deep network";
  const bool stands = status == "certified" || status == "estimated";
  std::string body = header(json) + next_section(json);
  if (network) body += facts(json);
  body += remarks(json) + conclusion(json);
  if (stands) body += use_section(json);
  body += truth_section(json);
  if (at(json, "sections").is_array()) {
    for (const Json& section : at(json, "sections")) body += draw_section(section);
  }
  body += held_out_section(json) + residuals_section(json) + singular_values_section(json) +
          descent_section(json);
  body += interval_sections(json) + images_section(json) + profiles_section(json) + heat_sections(json);
  body += timings_section(json) + tried(json) + units_section(json) + assumptions(json);
  if (!stands) body += use_section(json);
  body += reproduce_section(json);
  body += "<footer>Made by Exhume from certificate.json alone.</footer>\n";
  return page("Exhume: " + status_words(status), body);
}

}  // namespace exhume
