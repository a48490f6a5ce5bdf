#include "papers/threshold/step_one.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "papers/threshold/objectives.h"
#include "routes/depth2.h"

namespace exhume {
namespace {

// The outputs with a second one beside them: is a unit active?
class WithActivity final : public SampleView {
 public:
  WithActivity(SamplePtr base, RestLevel rest) : SampleView(std::move(base)), rest_(rest) {}
  Index outputs() const override { return 2; }
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first, count, raw);
    block.allocate(first, count, inputs(), 2);
    block.own_x() = raw.x();
    for (Index r = 0; r < count; ++r) {
      const double y = raw.y()(r, 0);
      block.own_y()(r, 0) = y;
      block.own_y()(r, 1) = std::abs(y - rest_.value) > rest_.tolerance ? 1 : 0;
    }
  }

 private:
  RestLevel rest_;
};

// Where a unit is active: the number of found units that are on, at least 1. Elsewhere 0.
SamplePtr counted_activity(const SamplePtr& samples, const RestLevel& rest, const LowestUnits& units) {
  return with_outputs(samples, [units, rest](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
    const RowMatrix Z = x * units.W.transpose();
    for (Index r = 0; r < y.rows(); ++r) {
      const auto on = static_cast<double>((Z.row(r).transpose().array() > units.t.array()).count());
      y(r, 0) = std::abs(y(r, 0) - rest.value) > rest.tolerance ? std::max(1.0, on) : 0.0;
    }
  });
}

// Directions, d x found, sign open.
Matrix look(const SamplePtr& samples, const StepOneOptions& options, StepOne& out, const Control& control) {
  if (options.method != StartMethod::kTensor) {
    const ResidualisedMoments moments = residualised_moments(samples, control);
    const Index k = options.hidden.value_or(samples->inputs());
    const ObjectiveOptions objective{.seed = options.seed};
    return options.method == StartMethod::kOneByOne
               ? one_by_one(moments.order2, moments.order4, k, objective)
               : simultaneous(moments.order2, moments.order4, k, objective);
  }
  Depth2Options depth2;
  depth2.hidden = options.hidden;
  depth2.seed = options.seed;
  const SpectralStart start = stacked_start(samples, depth2, control);
  out.singular_values = start.singular_values;
  out.noise_floor = start.noise_floor;
  return start.V.leftCols(samples->inputs()).transpose();
}

}  // namespace

StartMethod parse_start_method(std::string_view name) {
  for (const StartMethod m : {StartMethod::kTensor, StartMethod::kOneByOne, StartMethod::kSimultaneous}) {
    if (name == to_string(m)) return m;
  }
  throw std::invalid_argument(
      fmt::format("start is '{}', but must be tensor, one-by-one or simultaneous", name));
}

const char* to_string(StartMethod method) {
  switch (method) {
    case StartMethod::kTensor:
      return "tensor";
    case StartMethod::kOneByOne:
      return "one-by-one";
    case StartMethod::kSimultaneous:
      return "simultaneous";
  }
  return "";
}

StepOne step_one(const SamplePtr& samples, const RestLevel& rest, const StepOneOptions& options,
                 const Control& control) {
  StepOne out;
  const bool labels = rest.exact && rest.share < 1;
  const bool both = labels && options.method == StartMethod::kTensor;
  const SamplePtr shown = both ? std::make_shared<WithActivity>(samples, rest) : samples;
  out.found = orient(*samples, look(shown, options, out, control), rest, control);
  if (!both || !options.second_look || out.found.units.W.rows() == 0) return out;
  StepOne second;
  const Matrix directions = look(counted_activity(samples, rest, out.found.units), options, second, control);
  second.found = orient(*samples, directions, rest, control);
  if (second.found.units.W.rows() < out.found.units.W.rows()) return out;
  return second;
}

}  // namespace exhume
