#include "fit/deep/trials.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/order.h"
#include "base/random.h"
#include "fit/deep/finish.h"
#include "fit/deep/prune.h"
#include "fit/deep/rounding.h"
#include "fit/student.h"

namespace exhume {
namespace {

constexpr Index kMostRows = 200'000;      // rows that are polished and pruned on, at most
constexpr Index kCheckEach = 10;          // one row of so many is looked at but not fitted
constexpr double kStudentEquations = 20;  // equations per unknown of the first student, at least
constexpr double kFirstEquations = 8;     // equations per unknown in the first polish
// Most flops of a step of the polish, on the processor and on a device; and those up to which polishing more
// units of the same student costs less than training the next one.
constexpr double kDenseFlops = 4e12, kDeviceFlops = 4e14, kMiddleFlops = 1e11;
// Before a polish the lightest units of a student are left out, one in kAtOnce at a time, as long as its
// error grows by less than a factor or stays below kLightest. The factor is kLighter, then kLittleLighter,
// and kHardlyLighter in the last layer and where the first layer is given.
constexpr double kLighter = 50, kLittleLighter = 4, kHardlyLighter = 1.2, kLightest = 1e-7;
constexpr std::size_t kAtOnce = 12;
constexpr std::size_t kStudentsFirst = 4;  // attempts before all units of one student are polished
constexpr Index kFewLeft = 3;  // rows that were not fitted and may be off, beside those that are left over
// A network that is exact on the fitted rows and off on at most kFewOff of the others takes these into the
// fit, kLooks times at most; such a polish has to fall within kHope steps.
constexpr double kFewOff = 0.005;
constexpr int kLooks = 3, kHope = 6;
// Rows per step of a student's training: kSmallBatch where no layer is wider than kNarrow, otherwise kBatch.
constexpr Index kNarrow = 48, kSmallBatch = 512, kBatch = 1024;

// Training rows in memory, in an order drawn from the seed, so that the first ones are as good as any.
DeepData shuffled_rows(const SampleSource& samples, std::uint64_t seed) {
  const SamplePtr some = samples.rows() > kMostRows ? spread_subset(samples, kMostRows) : load(samples);
  const Index n = some->rows();
  SampleBlock block;
  some->read(0, n, block);
  const std::vector<Index> order = shuffled(n, Stream(seed, "deep order"));
  return {block.x()(order, Eigen::all), block.y()(order, Eigen::all)};
}

DeepData last_rows(DeepData& data) {
  std::vector<Index> listed(static_cast<std::size_t>(data.rows() / kCheckEach));
  std::iota(listed.begin(), listed.end(), data.rows() - static_cast<Index>(listed.size()));
  return data.take_out(listed);
}

// The form without the units that it can do without, in the layers above the known ones: those worth least
// go, a few at a time, as long as the error with C solved again stays below `limit`. In the last layer they
// go only as long as the error hardly grows: units that bend on few rows are worth little there, and no other
// layer makes up for them.
Form drop_light_units(Form form, std::size_t known, double limit, const DeepData& data,
                      const Control& control) {
  const double trained = fit_linear_part(form, enough_rows(data, form, kFirstEquations), control);
  for (std::size_t l = form.depth(); l-- > known;) {
    const double most = l + 1 == form.depth() ? std::min(limit, kHardlyLighter * trained) : limit;
    while (form.V[l].rows() > 1 && !control.out_of_time()) {
      const DeepData rows = enough_rows(data, form, kFirstEquations);
      fit_linear_part(form, rows, control);
      const Vector worth = unit_worth(form, l, rows, control);
      std::vector<Index> order = increasing_order(-worth);
      order.resize(order.size() - std::max<std::size_t>(1, order.size() / kAtOnce));
      std::sort(order.begin(), order.end());
      Form fewer = with_units(form, l, order);
      if (!(fit_linear_part(fewer, rows, control) < most)) break;
      form = std::move(fewer);
    }
  }
  return form;
}

// Sets the first units of the lowest layers to the known ones.
void hold(const std::vector<Matrix>& known, Form& form) {
  for (std::size_t l = 0; l < known.size(); ++l) form.V[l].topRows(known[l].rows()) = known[l];
}

}  // namespace

Form free_all_layers(Form form) {
  form.given = 0;
  return form;
}

Trials::Trials(const SampleSource& standard, const DeepSearchOptions& options, const Control& control)
    : options_(options),
      control_(control),
      data_(shuffled_rows(standard, options.seed)),
      check_(last_rows(data_)),
      single_(standard, options.seed, control) {
  // The best so far, to begin with, is the linear fit.
  found_.form.inputs = data_.x.cols();
  found_.form.V.assign(static_cast<std::size_t>(options.depth), Matrix(0, data_.x.cols() + 1));
  found_.relative_mse = fit_linear_part(found_.form, data_, control);
  error_ = relative_error(found_.form, check_, control);
}

Index Trials::first_width() const {
  const auto equations = static_cast<double>(data_.rows() * data_.y.cols());
  Index width = options_.depth > 2 ? 4 * options_.first_width / 3 : options_.first_width;
  for (; width > kLeastWidth; --width) {
    const Form form = random_student(data_.x.cols(), 1,
                                     std::vector<Index>(static_cast<std::size_t>(options_.depth), width), 0);
    if (kStudentEquations * static_cast<double>(form.unknowns()) <= equations) break;
  }
  return width;
}

Student Trials::train_student(const Lesson& lesson, bool hard_rows) {
  StudentOptions training;
  training.steps = static_cast<Index>(lesson.steps);
  training.batch =
      *std::max_element(lesson.widths.begin(), lesson.widths.end()) <= kNarrow ? kSmallBatch : kBatch;
  training.seed = options_.seed + 7919 * lesson.number;
  for (const Matrix& known : lesson.known) training.held.push_back(known.rows());
  training.hard_rows = hard_rows;
  // The settings that were tried for several layers; solving C on the way was not tried.
  training.memory = 0.999;
  training.solve_every = 0;
  control_.report(fmt::format("student {}", fmt::join(lesson.widths, "-")), 0);
  Form start = random_student(data_.x.cols(), data_.y.cols(), lesson.widths, training.seed);
  hold(lesson.known, start);
  Student student = train(start, single_, training, control_);
  attempts_.push_back({lesson.widths, student.relative_mse, 0});
  // The known units again as they were given: training rounds them to single precision.
  hold(lesson.known, student.form);
  return student;
}

Student Trials::train_and_consider(const Lesson& lesson) {
  Student student = train_student(lesson, true);
  const double trained = student.relative_mse;
  consider({student.form, trained, 0, true});
  if (trained > kTrained && lesson.known.empty() && rough_) rough_({student.form, trained, 0, true}, false);
  return student;
}

ToRounding Trials::polish_on_known(const Student& student) {
  Form form = merge_units(student.form, student.form.depth() - 1, kTwins, data_, control_);
  if (flops(form) > kMiddleFlops)
    form = drop_light_units(form, 0, kLittleLighter * student.relative_mse, data_, control_);
  return polish_and_consider(form, kSecondPolish, false);
}

double Trials::attempt(const Lesson& lesson) {
  Student student = train_and_consider(lesson);
  const double trained = student.relative_mse;
  if (!(trained > kTrained) && !control_.out_of_time())
    polish_student(std::move(student.form), trained, lesson);
  return trained;
}

void Trials::polish_student(Form form, double trained, const Lesson& lesson) {
  const bool from_nothing = lesson.known.empty();
  if (lesson.fixed) form.given = lesson.known.size();
  for (std::size_t l = lesson.known.size(); l < form.depth(); ++l)
    form = merge_units(form, l, kTwins, data_, control_);
  // The fewer units, the cheaper the polish; but with too few it gets stuck.
  std::vector<Index> before;
  for (const double lighter : {kLighter, kLittleLighter, 0.0}) {
    const bool all = lighter == 0;
    // On a given layer a polish has few unknowns, so that units which bend on few rows, and are worth little,
    // can stay.
    if (lesson.fixed && lighter == kLighter) continue;
    double limit = from_nothing ? std::clamp(lighter * trained, kLightest, kTrained) : kTrained;
    if (lesson.fixed) limit = kHardlyLighter * trained;
    // The next students may agree with this one, which costs less than a polish of all units.
    if (all && from_nothing && attempts_.size() < kStudentsFirst) break;
    if (!all && !from_nothing && !before.empty()) continue;
    const Form begin = all ? form : drop_light_units(form, lesson.known.size(), limit, data_, control_);
    if (begin.widths() == before) continue;
    if (!before.empty() && flops(begin) > (all ? most_flops() : kMiddleFlops)) continue;
    before = begin.widths();
    double left =
        polish_and_consider(begin, all ? kSecondPolish : kFirstPolish, from_nothing).fit.relative_mse;
    if (lesson.fixed && !ended() && !(left < options_.exact))
      left = polish_and_consider(free_all_layers(begin), kSecondPolish, false).fit.relative_mse;
    if (ended() || control_.out_of_time() || left < options_.exact) break;
  }
}

Polished Trials::attempt_from(const Polished& start, int rounds) {
  attempts_.push_back({start.form.widths(), start.relative_mse, 0});
  return polish_and_consider(start.form, rounds, false).fit;
}

double Trials::most_flops() const { return control_.device ? kDeviceFlops : kDenseFlops; }

double Trials::flops(const Form& form) const { return step_flops(data_, form, kFirstEquations); }

ToRounding Trials::polish_and_consider(const Form& start, int rounds, bool from_nothing) {
  ToRounding out = to_rounding(start, data_, kFirstEquations, options_.exact, rounds, control_);
  double& best = attempts_.back().polished;
  best = best == 0 ? out.fit.relative_mse : std::min(best, out.fit.relative_mse);
  consider(out.fit, out.left, out.minimal);
  if (!confirmed_ && from_nothing && rough_) rough_(out.fit, true);
  return out;
}

// Where a network is exact on the fitted rows and off on a few others, these show a weight that the fitted
// rows leave open: they join the fit. False where there are none, or many.
bool Trials::learns_from_unseen(Polished& polished) {
  const std::vector<Index> off = not_reproduced(polished.form, check_, options_.exact, control_);
  const double share = static_cast<double>(off.size()) / static_cast<double>(check_.rows());
  if (off.empty() || share > kFewOff || control_.out_of_time()) return false;
  DeepData more = check_.take_out(off);
  more.append(data_);
  data_ = std::move(more);
  DeepPolishOptions polishing;
  polishing.hope = kHope;
  polishing.hopeful = options_.exact;
  polished = polish_all(polished.form, data_, kFirstEquations, options_.exact, polishing, control_);
  return polished.relative_mse < options_.exact;
}

// Keeps what is best on rows that were not fitted. `left`: rows that it does not reproduce.
void Trials::consider(const Polished& polished, const std::vector<Index>& left, bool minimal) {
  DeepFound now;
  now.form = free_all_layers(polished.form);
  now.relative_mse = polished.relative_mse;
  now.exact = polished.relative_mse < options_.exact;
  if (now.exact) {
    now = finish(polished, data_, {options_.exact, minimal}, control_);
    Polished again{now.form, now.relative_mse, 0, true};
    for (int i = 0; i < kLooks && now.exact && learns_from_unseen(again); ++i) {
      if (!now.plain) now = finish(again, data_, {options_.exact, now.minimal}, control_);
      if (now.plain && again.form.plain) now.form = again.form;
      again = {now.form, now.relative_mse, 0, true};
    }
    // Rows that joined the fit and that no weight explains are left over.
    now.left = static_cast<Index>(not_reproduced(now.form, data_, options_.exact, control_).size());
    now.exact = now.exact && now.left < now.form.V.back().cols() + kOverFew;
  }
  if (!left.empty()) {
    if (std::optional<DeepFound> most =
            finish_on_most(polished.form, left, data_, {options_.exact, minimal}, control_))
      now = std::move(*most);
  }
  const double error = unseen_error(now);
  const bool confirmed = now.exact && error < options_.exact;
  // Of two that are exact the one that leaves fewer rows, then the plain one, and otherwise the smaller
  // error.
  const bool fewer = confirmed && confirmed_ && now.left < found_.left;
  const bool plainer = fewer || (confirmed && now.plain && !found_.plain && now.left <= found_.left);
  const bool worse =
      confirmed_ && (!confirmed || now.left > found_.left || (!fewer && found_.plain && !now.plain));
  if (plainer || (!worse && error < error_)) {
    error_ = error;
    found_ = std::move(now);
    confirmed_ = confirmed;
    const std::vector<Index> widths = found_.form.widths();
    control_.best(found_.relative_mse, std::accumulate(widths.begin(), widths.end(), Index{0}));
  }
}

// On rows that were not fitted; of those left over as many may be off as among the fitted ones.
double Trials::unseen_error(const DeepFound& found) const {
  if (found.left == 0) return relative_error(found.form, check_, control_);
  DeepData rows = check_;
  const std::vector<Index> off = not_reproduced(found.form, rows, options_.exact, control_);
  if (static_cast<Index>(off.size()) <= kFewLeft + 3 * found.left / kCheckEach)
    static_cast<void>(rows.take_out(off));
  return relative_error(found.form, rows, control_);
}

void Trials::settle(DeepFound in_noise) {
  error_ = relative_error(in_noise.form, check_, control_);
  found_ = std::move(in_noise);
}

DeepFound Trials::result(bool out_of_time) {
  found_.out_of_time = found_.out_of_time || out_of_time;
  found_.attempts = std::move(attempts_);
  return std::move(found_);
}

}  // namespace exhume
