#include "routes/engine.h"
#include "base/stage_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "routes/fitted.h"

namespace exhume {
namespace {

constexpr double kUnlimited = 1e9;  // seconds from which a budget is none
// Of the time, for a search among some of the rows, after which all may be searched.
constexpr double kShareForSome = 0.25;

class RouteRunner {
 public:
  RouteRunner(const Plan& plan, std::vector<const Route*> routes, Certificate& certificate, StageClock& clock)
      : plan_(plan), routes_(std::move(routes)), certificate_(certificate), clock_(clock) {}

  RouteRun run(const SamplePtr& samples, const Control& control) {
    const Route& first = *routes_.front();
    const double budget = plan_.options.budget_seconds;
    run_.control = budget < kUnlimited ? control.within(first.search_share * budget) : control;
    if (first.demands != nullptr) first.demands(*samples, plan_.options);
    Found repaired;
    SamplePtr rows = samples;
    if (first.repair != nullptr) {
      rows = first.repair(samples, plan_.options, repaired, run_.control);
      clock_.lap("repair of the outputs");
      if (!repaired.refusal.empty()) {
        certificate_.rows = certificate_.samples = samples->rows();
        certificate_.seed = plan_.options.seed;
        keep(first, std::move(repaired));
        return std::move(run_);
      }
    }
    run_.data =
        std::make_unique<Prepared>(rows, first.hold_out, plan_.options.seed, certificate_, run_.control);
    if (first.demands != nullptr && certificate_.samples < certificate_.rows)
      first.demands(*run_.data->rows(), plan_.options);
    // Outputs that were repaired are not those of the files: nobody could draw these rows again.
    if (first.repair != nullptr) certificate_.held_out_period = 0;
    if (plan_.some_rows) certificate_.searched = run_.data->search_some(plan_.options.seed);
    if (certificate_.searched > 0)
      run_.control = run_.control.within(kShareForSome * run_.control.seconds_left());
    if (first.standardised) (void)run_.data->standard();
    clock_.lap("reading");
    for (std::size_t i = 0; i < routes_.size(); ++i) {
      // Each gets half of the time that is left, the last one all of it.
      const bool last = i + 1 == routes_.size();
      const Control limited = last ? run_.control : run_.control.within(run_.control.seconds_left() / 2);
      if (attempt(*routes_[i], limited, repaired)) break;
      // A route that did not apply left nothing behind: go on until there is something to judge.
      if (run_.control.out_of_time() && run_.route != nullptr) break;
    }
    if (run_.route == nullptr) {
      Found nothing;
      nothing.refusal = passed_over_;
      keep(*routes_.back(), std::move(nothing));
    }
    return std::move(run_);
  }

 private:
  // One route to its end. True if nothing better can be expected.
  bool attempt(const Route& route, const Control& control, const Found& repaired) {
    const bool named = plan_.options.route != "auto";
    Job job{.data = *run_.data,
            .options = plan_.options,
            .layer = plan_.layer,
            .control = control,
            .clock = clock_,
            .kind = kind_,
            .rectifier = parse_rectifier(plan_.options.unit_name()),
            .named = named,
            .noise_is_final = !only_exact_will_do_};
    if (route.applies != nullptr) {
      Applies condition = route.applies(job);
      for (Assumption& a : condition.looked_at) certificate_.assumptions.push_back(std::move(a));
      if (condition.answer == Applicable::kNo || (condition.answer == Applicable::kDoubtful && !named)) {
        certificate_.tried.push_back({route.name, "does not apply: " + condition.why});
        passed_over_ = std::move(condition.why);
        return false;
      }
    }
    const Start start = &route == plan_.begin_with ? start_from(plan_.begin_from, job)
                        : route.start != nullptr   ? route.start(job)
                                                   : Start();
    if (!start.usable) {
      certificate_.tried.push_back({route.name, start.said});
      passed_over_ = start.said;
      return false;
    }
    Found found = route.finish(job, start);
    if (!found.spectrum && start.spectrum.singular_values.size() > 0) found.spectrum = start.spectrum;
    found.start_descent = start.descent;
    found.support = repaired.support;
    certificate_.tried.push_back({route.name, found.said + (start.said.empty() ? "" : "; " + start.said)});
    if (!found.refusal.empty()) {
      keep(route, std::move(found));
      return true;
    }
    const bool final = plan_.looks_final == nullptr || plan_.looks_final(found, *run_.data, control);
    only_exact_will_do_ = !final;
    const SearchOutcome before = run_.found.outcome;
    if (run_.route == nullptr || final || run_.found.fit.given_up ||
        (before != SearchOutcome::kNoise && found.fit.relative_mse < run_.found.fit.relative_mse)) {
      keep(route, std::move(found));
    }
    return final;
  }

  void keep(const Route& route, Found found) {
    run_.route = &route;
    run_.name = *route.group != '\0' ? route.group : route.name;
    run_.found = std::move(found);
    certificate_.route = run_.name;
  }

  const Plan& plan_;
  std::vector<const Route*> routes_;
  Certificate& certificate_;
  StageClock& clock_;
  RouteRun run_;
  std::optional<UnitKind> kind_;
  std::string passed_over_;  // why the last route that was not taken was not
  bool only_exact_will_do_ =
      false;  // a route found what its test calls noise, but the residual says otherwise
};

}  // namespace

std::vector<const Route*> planned_routes(const Plan& plan) {
  if (plan.only != nullptr) return {plan.only};
  std::vector<const Route*> chosen;
  bool alone = true;
  for (const Route& route : routes()) {
    if (route.finds != plan.finds) continue;
    const bool named = plan.options.route == route.name || plan.options.route == route.group;
    if (named) alone = alone && route.alone;
    if (named || (plan.options.route == "auto" && route.automatic)) chosen.push_back(&route);
  }
  if (chosen.empty()) throw std::invalid_argument(fmt::format("no route is called '{}'", plan.options.route));
  if (!alone) {
    // An automatic route that asks nothing of the data.
    const Route* last = nullptr;
    for (const Route& route : routes()) {
      if (route.finds == plan.finds && route.automatic && route.applies == nullptr) last = &route;
    }
    if (last != nullptr && chosen.back() != last) chosen.push_back(last);
  }
  return chosen;
}

RouteRun run_routes(const SamplePtr& samples, const Plan& plan, Certificate& certificate, StageClock& clock,
                    const Control& control) {
  std::vector<const Route*> planned = planned_routes(plan);
  const auto first = std::find(planned.begin(), planned.end(), plan.begin_with);
  if (first != planned.end()) planned.erase(planned.begin(), first);
  return RouteRunner(plan, std::move(planned), certificate, clock).run(samples, control);
}

}  // namespace exhume
