#include "routes/outlook.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "base/stage_clock.h"
#include "certify/stored_precision.h"
#include "exhume/error.h"
#include "fit/unit_search.h"
#include "routes/route.h"

namespace exhume {
namespace {

constexpr Index kMostRows = 100'000;
constexpr Index kCounted = 1000;   // rows that have to be numbered one after the other
constexpr Index kMostUnits = 200;  // as the search grows to (fit/unit_search.h)
constexpr double kAllLinear = 1e-12;
constexpr double kExchanged = 8;  // times the inputs: are the files exchanged?

Index most_units(Index rows, Index d, Index m) {
  const double equations = static_cast<double>(rows) * static_cast<double>(m) / kReliable;
  const double units = (equations - static_cast<double>(m * (d + 1))) / static_cast<double>(d + m);
  return static_cast<Index>(std::clamp(units, 0.0, static_cast<double>(kMostUnits)));
}

// Of the variance of all outputs, each divided by its own: what a linear function explains.
double linear_share(const SecondMoments& moments) {
  const Vector variance = moments.covariance_y().diagonal();
  const Matrix yx = moments.covariance_yx();
  const Matrix slope = moments.covariance_x().completeOrthogonalDecomposition().solve(Matrix(yx.transpose()));
  const Matrix explained = yx * slope;
  double share = 0;
  Index counted = 0;
  for (Index o = 0; o < variance.size(); ++o) {
    if (!(variance(o) > 0)) continue;
    share += explained(o, o) / variance(o);
    ++counted;
  }
  return counted > 0 ? std::clamp(share / static_cast<double>(counted), 0.0, 1.0) : 0;
}

class Look {
 public:
  Look(const SamplePtr& samples, const Control& control)
      : whole_(*samples),
        rows_(samples->rows() > kMostRows ? spread_subset(*samples, kMostRows)
              : samples->distant()        ? load(*samples)
                                          : samples),
        control_(control) {}

  Outlook run() {
    const Index d = whole_.inputs(), m = whole_.outputs();
    out_.rows = whole_.rows();
    out_.looked_at = rows_->rows();
    out_.inputs = d;
    out_.outputs = m;
    out_.memory_bytes = 8.0 * static_cast<double>(out_.rows) * static_cast<double>(d + m);
    Certificate certificate;
    Prepared data(rows_, HoldOut::kFitted, 0, certificate, control_);
    out_.inspection = data.inspection();
    out_.distinct = data.rows()->rows();
    out_.precision = stored_precision(*rows_, control_).words();
    out_.linear_share = linear_share(data.moments());
    const double kept =
        static_cast<double>(out_.distinct) / static_cast<double>(std::max<Index>(out_.looked_at, 1));
    out_.most_hidden = most_units(static_cast<Index>(kept * static_cast<double>(out_.rows)), d, m);
    try {
      (void)data.coordinates();
      ask_routes(data);
    } catch (const DataError& error) {
      out_.obstacles.emplace_back(error.what());
    }
    advise();
    return std::move(out_);
  }

 private:
  void ask_routes(Prepared& data) {
    const RecoverOptions options;
    StageClock clock;
    std::optional<UnitKind> kind;
    for (const Route& route : routes()) {
      if (route.finds != Finds::kNetwork || !route.automatic) continue;
      RouteOutlook said{route.name};
      try {
        if (route.demands != nullptr) route.demands(whole_, options);
        Job job{.data = data,
                .options = options,
                .layer = nullptr,
                .control = control_,
                .clock = clock,
                .kind = kind};
        if (route.applies != nullptr) {
          const Applies condition = route.applies(job);
          said.applies = condition.answer == Applicable::kYes;
          said.why = condition.why;
        }
      } catch (const DataError& error) {
        said.applies = false;
        said.why = error.what();
      }
      out_.routes.push_back(std::move(said));
    }
  }

  void advise() {
    const Inspection& seen = out_.inspection;
    const auto say = [&](std::string words) { out_.advice.push_back(std::move(words)); };
    for (std::string& remark : index_remarks(whole_)) say(std::move(remark));
    if (out_.linear_share > 1 - kAllLinear)
      say("the outputs are a linear function of the inputs: there are no hidden units to find");
    if (out_.most_hidden < 1) {
      say(fmt::format("{} rows are few: a single hidden unit needs {}", out_.rows, rows_for(1)));
    } else if (out_.most_hidden < kMostUnits) {
      say(fmt::format("{} rows are enough for {} hidden unit{}; {} need {} rows", out_.rows, out_.most_hidden,
                      out_.most_hidden == 1 ? "" : "s", 2 * out_.most_hidden,
                      rows_for(2 * out_.most_hidden)));
    }
    if (static_cast<double>(out_.outputs) > kExchanged * static_cast<double>(out_.inputs)) {
      say(fmt::format("there are {} outputs of {} input{}: are inputs and outputs exchanged?", out_.outputs,
                      out_.inputs, out_.inputs == 1 ? "" : "s"));
    }
    if (seen.integer_outputs) {
      say("the outputs are whole numbers, perhaps labels: give the scores or logits instead; for labels "
          "there are the commands halfspaces and memorize");
    }
    if (seen.discrete) {
      say("some inputs take only a few values: where a unit switches between them cannot be seen; give "
          "inputs of more values");
    }
    if (!seen.gaussian) {
      say("the inputs are not Gaussian: the fastest routes do not apply, and a search takes longer; if you "
          "can choose the inputs, draw them from a normal distribution");
    }
    if (seen.repeated_rows) say("rows are repeated: repetitions tell nothing new and are left out");
  }

  [[nodiscard]] Index rows_for(Index units) const {
    const double d = static_cast<double>(out_.inputs), m = static_cast<double>(out_.outputs);
    return static_cast<Index>(kReliable * (static_cast<double>(units) * (d + m) + m * (d + 1)) / m) + 1;
  }

  const SampleSource& whole_;
  SamplePtr rows_;
  const Control& control_;
  Outlook out_;
};

}  // namespace

std::vector<std::string> index_remarks(const SampleSource& samples) {
  const Index n = std::min(samples.rows(), kCounted);
  std::vector<std::string> remarks;
  if (n < 3) return remarks;
  SampleBlock block;
  samples.read(0, n, block);
  for (Index a = 0; a < samples.inputs(); ++a) {
    const auto value = [&](Index i) { return block.x()(i, a); };
    bool counts = value(0) == 0 || value(0) == 1;
    bool increases = value(0) == std::floor(value(0));
    for (Index i = 1; increases && i < n; ++i) {
      counts = counts && value(i) == value(i - 1) + 1;
      increases = value(i) > value(i - 1) && value(i) == std::floor(value(i));
    }
    if (!increases) continue;
    remarks.push_back(fmt::format("input {} {}: it looks like an index; leave it out", a + 1,
                                  counts ? "counts the rows (0, 1, 2, ... or 1, 2, 3, ...)"
                                         : "holds whole numbers that increase from row to row, as the index "
                                           "of a table with rows removed"));
  }
  return remarks;
}

Outlook outlook(const SamplePtr& samples, const Control& control) { return Look(samples, control).run(); }

}  // namespace exhume
