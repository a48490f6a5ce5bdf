#include "judge/judge.h"

#include <fmt/format.h>

#include <utility>

namespace exhume {

void judge(JudgedNetwork& network, const JudgeInput& input, const Recheck& recheck, Result& result) {
  Prepared& data = input.data;
  Certificate& certificate = result.certificate;
  network.place(result);
  HeldOutCheck held_out =
      check_held_out([&](const Eigen::Ref<const RowMatrix>& x) { return network.predict(result, x); },
                     *data.held_out(), data.moments().mean_y(), input.control);
  result.errors.heldout_relative_mse = held_out.relative_mse;
  result.errors.heldout_mean_square = held_out.mean_square;
  network.measure(held_out, result);

  Checks checks = std::move(input.found.checks);
  for (const Assumption& test : data.inspection().tests) certificate.assumptions.push_back(test);
  Verdict verdict = network.check(held_out, result, checks);
  if (recheck) recheck(result.network, checks);
  if (!checks.all_hold()) network.explain_failure(checks);
  std::move(checks).conclude(certificate, std::move(verdict.reason), verdict.best);
  if (certificate.status == Status::kUncertified && certificate.samples < certificate.rows) {
    certificate.reason += fmt::format("; {} of the {} rows repeat others and were left out",
                                      certificate.rows - certificate.samples, certificate.rows);
  }
  if (certificate.status != Status::kCertified) result.precision.clear();
  if (stands(certificate.status)) network.conclude(result);
  result.diagnostics.predicted = std::move(held_out.predicted);
  result.diagnostics.observed = std::move(held_out.observed);
}

}  // namespace exhume
