// What a network that memorised labels has to say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/counted.h"
#include "certify/certificate_json.h"
#include "report/report.h"
#include "report/report_page.h"
#include "report/rounded.h"
#include "report/sections.h"

namespace exhume {
namespace {

const char* to_word(LabelKind kind) {
  switch (kind) {
    case LabelKind::kReal:
      return "real";
    case LabelKind::kInteger:
      return "integer";
    case LabelKind::kOneHot:
      return "classes";
  }
  return "";
}

double parameters_per_sample(const MemorizeResult& r) {
  return static_cast<double>(r.network.parameters()) /
         static_cast<double>(std::max<Index>(1, r.inputs.rows()));
}

Json constants(const TheoremConstants& t) {
  return {{"epsilon", t.epsilon},
          {"c", t.c},
          {"delta", t.delta},
          {"sigma", t.sigma},
          {"B", t.B},
          {"Y", t.Y},
          {"gamma", t.gamma},
          {"rho", t.rho},
          {"ell", t.ell},
          {"chi", t.chi},
          {"step", t.step},
          {"radius", t.radius},
          {"gradient_threshold", t.gradient_threshold},
          {"decrease_threshold", t.decrease_threshold},
          {"wait", t.wait}};
}

Json descent_list(const MemorizeResult& r) {
  Json list = Json::array();
  for (std::size_t o = 0; o < r.descents.size(); ++o) {
    const Descent& d = r.descents[o];
    const SecondOrder& s = r.stationarity[o];
    list.push_back({{"outcome", to_string(d.outcome)},
                    {"iterations", d.iterations},
                    {"perturbations", d.perturbations},
                    {"f", number(d.f)},
                    {"seconds", d.seconds},
                    {"gradient_norm", number(s.gradient_norm)},
                    {"hessian_lambda_min", number(s.lambda_min)},
                    {"hessian_lower_bound", number(s.lower_bound)},
                    {"lemma1_bound", number(s.lemma1_bound)},
                    {"lemma1_applies", s.wide_enough},
                    {"lemma1_holds", s.lemma1_holds}});
    if (r.method == MemorizeMethod::kPgdPrinted) list.back()["theorem4"] = constants(d.constants);
  }
  return list;
}

Json own_keys(const MemorizeResult& r) {
  const ClosedForm& c = r.closed_form;
  const bool labels = r.labels != LabelKind::kReal;
  Json json = {{"memorized", r.memorized()},
               {"method", to_string(r.method)},
               {"layers", r.layers},
               {"power", r.power},
               {"inputs", r.inputs.cols()},
               {"outputs", r.targets.cols()},
               {"features", r.network.features()},
               {"hidden_units", r.network.hidden()},
               {"parameters", r.network.parameters()},
               {"random_parameters", r.network.random_parameters()},
               {"parameters_per_sample", parameters_per_sample(r)},
               {"capacity", number(r.capacity)},
               {"relative_error", number(r.relative_error)},
               {"tolerance", number(r.tolerance)},
               {"worst_error", number(r.worst_error)},
               {"given_relative_error", number(r.given_relative_error)},
               {"labels", to_word(r.labels)},
               {"accuracy", labels ? Json(r.accuracy) : Json(nullptr)},
               {"given_accuracy", labels ? Json(r.given_accuracy) : Json(nullptr)},
               {"perturb", r.perturb},
               {"general_position",
                {{"holds", c.in_general_position()},
                 {"rank", c.rank},
                 {"sigma", number(c.sigma_min)},
                 {"sigma_max", number(c.sigma_max)},
                 {"condition", number(c.condition)},
                 {"sigma_converged", c.spectrum_converged}}},
               {"solver", to_string(c.solver)},
               {"refinements", c.refinements}};
  if (!r.classes.empty()) json["classes"] = r.classes;
  if (!r.descents.empty()) json["descent"] = descent_list(r);
  return json;
}

std::string descent_words(const Descent& d, const SecondOrder& s) {
  return fmt::format(
      "{} after {} iterations, {} perturbation{}; smallest eigenvalue of the Hessian {:.2e}; f {:.2e}, "
      "Lemma 1 {}",
      to_string(d.outcome), grouped(d.iterations), d.perturbations, plural(d.perturbations), s.lambda_min,
      s.f,
      s.wide_enough ? fmt::format("allows {:.2e}", s.lemma1_bound)
                    : std::string("does not apply (too few units)"));
}

}  // namespace

std::string verdict(const MemorizeResult& result) {
  return fmt::format("{}: {}.", result.memorized() ? "Memorised" : "Not memorised",
                     result.certificate.reason);
}

std::vector<Fact> facts(const MemorizeResult& r) {
  constexpr std::size_t kDescents = 3;
  const Index n = r.inputs.rows();
  const ClosedForm& c = r.closed_form;
  const bool labels = r.labels != LabelKind::kReal;
  const bool closed = r.method == MemorizeMethod::kClosedForm;
  std::vector<Fact> list = {
      {"network",
       fmt::format("{}, {}{}, {}", counted(r.inputs.cols(), "input"),
                   r.layers == 3
                       ? fmt::format("{} random features to the power {}, ", r.network.features(), r.power)
                       : "",
                   counted(r.network.hidden(), "quadratic unit"), counted(r.network.outputs(), "output"))},
      {"parameters",
       fmt::format("{}, {:.2f} per sample", grouped(r.network.parameters()), parameters_per_sample(r))},
      {"relative error", fmt::format("{:.2e}, at worst {:.1e} off", r.relative_error, r.worst_error)}};
  if (labels) {
    const auto right = static_cast<Index>(std::llround(r.accuracy * static_cast<double>(n)));
    list.push_back({"labels right", fmt::format("{} of {}", grouped(right), grouped(n))});
  }
  if (r.perturb > 0) {
    list.push_back(
        {"perturbation",
         fmt::format("standard deviation {:g}; on the rows as given the relative error is {:.2e}{}",
                     r.perturb, r.given_relative_error,
                     labels ? fmt::format(", {:.1f}% right", 100 * r.given_accuracy) : "")});
  }
  list.push_back({"general position",
                  c.full_rank ? fmt::format("{}; sigma {}{:.3e}, condition number of the kernel {:.2e}",
                                            c.in_general_position() ? "holds" : "does not hold in doubles",
                                            c.spectrum_converged ? "" : "at most ", c.sigma_min, c.condition)
                              : fmt::format("does not hold: rank {} of {}", grouped(c.rank), grouped(n))});
  list.push_back({"solver", closed ? fmt::format("{}, {} refinement{}", to_string(c.solver), c.refinements,
                                                 plural(c.refinements))
                                   : std::string(to_string(r.method))});
  for (std::size_t o = 0; o < std::min(r.descents.size(), kDescents); ++o)
    list.push_back({o == 0 ? "descent" : "", descent_words(r.descents[o], r.stationarity[o])});
  return list;
}

Document make_document(const MemorizeResult& result) {
  Json sections = Json::array();
  sections.push_back(facts_section(facts(result)));
  return make_document(result.certificate, {.kind = "memorized network",
                                            .verdict = verdict(result),
                                            .own = own_keys(result),
                                            .sections = std::move(sections)});
}

}  // namespace exhume
