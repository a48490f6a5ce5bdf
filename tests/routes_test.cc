// The table of routes, the engine that tries them, and the worked example of CONTRIBUTING.md.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/stage_clock.h"
#include "data/planted.h"
#include "exhume/network.h"
#include "exhume/recover.h"
#include "refusal.h"
#include "routes/engine.h"
#include "routes/table.h"

namespace exhume {
Route axis_route();  // tests/example_route/axis_route.cc
}  // namespace exhume

namespace exhume::routes_test {
namespace {

Plan plan_for(const std::string& route) {
  Plan plan;
  plan.options.route = route;
  return plan;
}

std::vector<std::string> names_of(const std::vector<const Route*>& routes) {
  std::vector<std::string> names;
  names.reserve(routes.size());
  for (const Route* route : routes) names.emplace_back(route->name);
  return names;
}

TEST(RouteTable, EveryRowIsComplete) {
  std::set<std::string> names;
  for (const Route& route : routes()) {
    EXPECT_TRUE(names.insert(route.name).second) << route.name << " stands twice";
    EXPECT_STRNE(route.about, "") << route.name;
    EXPECT_STRNE(route.condition, "") << route.name;
    EXPECT_NE(route.finish, nullptr) << route.name;
    EXPECT_NE(route.demands, nullptr) << route.name;
  }
  EXPECT_EQ(route_table().size(), routes().size());
}

TEST(RouteTable, PlansFollowItsOrder) {
  EXPECT_EQ(names_of(planned_routes(plan_for("auto"))),
            (std::vector<std::string>{"depth2-outputs", "symmetric", "depth2", "any_inputs", "smooth"}));
  EXPECT_EQ(names_of(planned_routes(plan_for("depth2"))),
            (std::vector<std::string>{"depth2-outputs", "depth2"}));
  EXPECT_EQ(names_of(planned_routes(plan_for("symmetric"))),
            (std::vector<std::string>{"symmetric", "any_inputs"}));
  EXPECT_EQ(names_of(planned_routes(plan_for("rectified-ica"))), (std::vector<std::string>{"rectified-ica"}));
  expect_refused<std::invalid_argument>([] { (void)planned_routes(plan_for("magic")); }, {"magic"});
  // A route to a lowest layer is none to a network.
  expect_refused<std::invalid_argument>([] { (void)planned_routes(plan_for("threshold")); }, {"threshold"});
}

TEST(RouteTable, OptionsThatARouteDoesNotReadAreRefused) {
  RecoverOptions leaky;
  leaky.leak = 0.1;
  EXPECT_NO_THROW(check_route(leaky));  // symmetric may be tried
  leaky.route = "symmetric";
  EXPECT_NO_THROW(check_route(leaky));
  leaky.route = "depth2";
  expect_refused<std::invalid_argument>([&] { check_route(leaky); }, {"leak", "depth2"});
}

TEST(Engine, ReadsTheInspectionBeforeARouteIsTried) {
  // Exponential inputs: what starts from Hermite moments is passed over, with the reason.
  const Network network = plant({.inputs = 5, .hidden = 4, .outputs = 2, .seed = 11});
  const SamplePtr samples = load(
      *planted_samples(network, {.samples = 3000, .distribution = Distribution::kExponential, .seed = 11}));
  const Result result = recover(samples, {});
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  EXPECT_EQ(result.certificate.route, "any_inputs");
  bool said = false;
  for (const Attempt& attempt : result.certificate.tried)
    said = said || (attempt.route == "depth2" && attempt.outcome.find("not Gaussian") != std::string::npos);
  EXPECT_TRUE(said);
  // Named, it is taken all the same.
  RecoverOptions named;
  named.route = "depth2";
  EXPECT_EQ(recover(samples, named).certificate.route, "depth2");
}

TEST(Engine, TheExampleRouteOfTheGuideFindsANetwork) {
  // Each unit reads two neighbouring inputs.
  Network network;
  network.W() = Matrix::Zero(4, 4);
  for (Index i = 0; i < 4; ++i) network.W()(i, i) = 0.9, network.W()(i, (i + 1) % 4) = 0.3;
  network.b() = Vector::LinSpaced(4, -0.4, 0.4);
  network.A() = (Matrix(1, 4) << 1, -1.2, 0.8, 1.1).finished();
  network.c() = Vector::Ones(1);
  const Route axis = axis_route();
  Plan plan = plan_for("axis");
  plan.only = &axis;
  Certificate certificate;
  StageClock clock;
  const RouteRun run =
      run_routes(load(*planted_samples(network, {.samples = 2000, .seed = 4})), plan, certificate, clock, {});
  EXPECT_EQ(run.found.outcome, SearchOutcome::kExact) << run.found.said;
  EXPECT_EQ(certificate.route, "axis");
  const Network found = run.data->coordinates().to_user(to_network(run.found.fit.model));
  EXPECT_LT(align(found, network).worst_error, 1e-9);
}

}  // namespace
}  // namespace exhume::routes_test
