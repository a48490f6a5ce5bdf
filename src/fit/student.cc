#include "fit/student.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <numbers>
#include <optional>
#include <thread>
#include <utility>

#include "base/blas.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/remembered.h"
#include "fit/sums.h"
#include "model/form_shape.h"

namespace exhume {

const StudentUnit& absolute_unit() {
  using Given = StudentUnit::Given;
  using Values = StudentUnit::Values;
  static const StudentUnit kUnit{[](const Given& q, Values p) { p = q.cwiseAbs(); },
                                 [](const Given& q, Values g) { g = (q.array() < 0).select(-g, g); },
                                 Device::Kind::kAbsolute};
  return kUnit;
}

std::vector<Index> shuffled(Index count, const Stream& stream) {
  std::vector<Index> order = numbers_below(count);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[stream.below(i + 1, i)]);
  return order;
}

StudentData::StudentData(const SampleSource& samples, std::uint64_t seed, const Control& control) {
  const Index n = samples.rows();
  x.resize(n, samples.inputs());
  y.resize(n, samples.outputs());
  SampleBlock block;
  for (Index at = 0; at < n; at += kBlockRows) {
    control.check();
    const Index count = std::min(kBlockRows, n - at);
    samples.read(at, count, block);
    x.middleRows(at, count) = block.x().cast<float>();
    y.middleRows(at, count) = block.y().cast<float>();
  }
  shuffle(seed);
}

void StudentData::shuffle(std::uint64_t seed) {
  const std::vector<Index> order = shuffled(rows(), Stream(seed, "student order"));
  x = x(order, Eigen::all).eval();
  y = y(order, Eigen::all).eval();
}

StudentData StudentData::with_hard_rows(const Eigen::VectorXf& left, double share, std::uint64_t seed) const {
  const Index n = rows();
  std::vector<Index> order = increasing_order(-left);
  const Index hard = std::max<Index>(1, static_cast<Index>(share * static_cast<double>(n)));
  order.resize(static_cast<std::size_t>(hard));
  StudentData out;
  out.x.resize(2 * n, x.cols());
  out.y.resize(2 * n, y.cols());
  out.x.topRows(n) = x;
  out.y.topRows(n) = y;
  for (Index i = 0; i < n; ++i) {
    const Index from = order[static_cast<std::size_t>(i % hard)];
    out.x.row(n + i) = x.row(from);
    out.y.row(n + i) = y.row(from);
  }
  out.shuffle(seed);
  return out;
}

namespace {

// How a student learns: what training on the processor and on a device have in common.

// Parts of the training at which it is looked up which rows are hard, and the share of rows that counts as
// such.
constexpr std::array<double, 3> kLookAt{0.4, 0.6, 0.8};
constexpr double kHardShare = 0.02;
constexpr Index kCheckEvery = 64;                     // steps between looks at the control
constexpr double kMeanOver = 100;                     // steps over which the error is averaged
constexpr float kFirstMean = 0.9F, kEpsilon = 1e-8F;  // of Adam
// Rows on which C is solved, for every feature, and at least; and the ridge, as a share of the diagonal: the
// rounding of products in single precision.
constexpr Index kSolveRowsPerFeature = 40, kLeastSolveRows = 8192;
constexpr double kSolveRidge = 1e-7;

// Adam's rate at a step (a cosine from `rate` to nothing) and the root that corrects its second mean.
struct Rate {
  Rate(const StudentOptions& options, Index step) {
    const double share = static_cast<double>(step) / static_cast<double>(options.steps);
    const double t = static_cast<double>(step) + 1;
    const double rate = options.rate * (0.5 * (1 + std::cos(std::numbers::pi * share)) + 5e-4);
    scaled = static_cast<float>(rate / (1 - std::pow(kFirstMean, t)));
    root = static_cast<float>(1 / std::sqrt(1 - std::pow(options.memory, t)));
  }
  float scaled = 0, root = 1;
};

// True where hard rows are looked up before this step.
bool looks_at(Index step, Index steps) {
  for (double part : kLookAt)
    if (step != 0 && step == static_cast<Index>(part * static_cast<double>(steps))) return true;
  return false;
}

// True where C is solved before this step; it is solved once more at the end.
bool solves_at(Index step, const StudentOptions& options) {
  return options.solve_every > 0 && step > 0 && step % options.solve_every == 0;
}

// F^T F and F^T Y of some rows.
struct FeatureSums {
  Matrix FF, FY;
  void merge(const FeatureSums& other) {
    FF += other.FF;
    FY += other.FY;
  }
  [[nodiscard]] Matrix solution() const {
    Matrix ridged = FF;
    ridged.diagonal() *= 1 + kSolveRidge;
    return solve_scaled(ridged, FY);
  }
};

// Units that are not learnt.
struct Held {
  Held(const Form& form, const StudentOptions& options) : units(options.held) {
    while (layers < units.size() && units[layers] == form.V[layers].rows()) ++layers;
  }
  [[nodiscard]] Index of(std::size_t l) const { return l < units.size() ? units[l] : 0; }
  std::vector<Index> units;  // the first ones of the lowest layers
  std::size_t layers = 0;    // lowest ones that are held as a whole
};

// All parameters one after the other: V_1, ..., V_D (k_l x columns), C (q x m), column-major.
struct Places {
  explicit Places(const Form& form) : layout(form), m(form.C.cols()) {
    for (const Matrix& v : form.V) {
      at.push_back(size);
      size += v.size();
    }
    top = size;
    size += form.C.size();
  }
  // Where the parameters begin that are learnt.
  [[nodiscard]] Index learnt_from(std::size_t frozen) const { return frozen < at.size() ? at[frozen] : top; }
  [[nodiscard]] Eigen::VectorXf joined(const Form& form) const {
    Eigen::VectorXf out(size);
    for (std::size_t l = 0; l < form.depth(); ++l)
      out.segment(at[l], form.V[l].size()) = form.V[l].reshaped().cast<float>();
    out.tail(form.C.size()) = form.C.reshaped().cast<float>();
    return out;
  }
  // The form with these parameters.
  [[nodiscard]] Form parted(Form form, const Eigen::VectorXf& parameters) const {
    for (std::size_t l = 0; l < form.depth(); ++l)
      form.V[l].reshaped() = parameters.segment(at[l], form.V[l].size()).cast<double>();
    form.C.reshaped() = parameters.tail(form.C.size()).cast<double>();
    return form;
  }

  FormLayout layout;
  std::vector<Index> at;
  Index top = 0, size = 0, m = 0;
};

using Floats = Eigen::MatrixXf;
using FloatMap = Eigen::Map<Floats>;

constexpr Index kChunkRows = 256;     // of a batch, each by one thread
constexpr Index kTurn = 256;          // steps between two choices of threads
constexpr Index kTryOtherEvery = 16;  // turns after which the other way is tried again
constexpr Index kPiece = 512;         // parameters that are updated at once

// Rows through the student, and back.
class Chunk {
 public:
  Chunk(const Form& form, const Places& places, const StudentUnit& unit, Index rows)
      : places_(places),
        unit_(unit),
        P_(rows, places.layout.columns),
        g_(rows, places.layout.columns),
        E_(rows, places.m) {
    gradient = Eigen::VectorXf::Zero(places.size);
    for (const Matrix& v : form.V) {
      Q_.emplace_back(rows, v.rows());
      S_.emplace_back(rows, v.rows());
    }
    for (Index column : places.layout.ones) P_.col(column).setOnes();
  }

  [[nodiscard]] Index rows() const { return P_.rows(); }

  // The features of rows [first, first + rows()) of the data.
  [[nodiscard]] auto features(const StudentData& data, Index first, float* parameters) {
    const FormLayout& layout = places_.layout;
    P_.middleCols(layout.inputs.first, layout.inputs.count) = data.x.middleRows(first, P_.rows());
    for (std::size_t l = 0; l < Q_.size(); ++l) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      const FloatMap V(parameters + places_.at[l], units, count);
      Q_[l].noalias() = P_.middleCols(from, count) * V.transpose();
      unit_.values(Q_[l], P_.middleCols(to, units));
    }
    return P_.leftCols(layout.features);
  }

  // f - y of these rows.
  const Floats& errors(const StudentData& data, Index first, float* parameters) {
    const FloatMap C(parameters + places_.top, places_.layout.features, places_.m);
    E_.noalias() = features(data, first, parameters) * C;
    E_ -= data.y.middleRows(first, P_.rows());
    return E_;
  }

  // The gradient of these rows; `share` is 2 / (rows of the batch x outputs). None for units that are held.
  void run(const StudentData& data, Index first, float* parameters, float share, const Held& held) {
    const FormLayout& layout = places_.layout;
    squares = static_cast<double>(errors(data, first, parameters).squaredNorm());
    E_ *= share;
    const FloatMap C(parameters + places_.top, layout.features, places_.m);
    FloatMap(gradient.data() + places_.top, layout.features, places_.m).noalias() =
        P_.leftCols(layout.features).transpose() * E_;
    g_.leftCols(layout.features).noalias() = E_ * C.transpose();
    g_.rightCols(layout.columns - layout.features).setZero();
    for (std::size_t l = Q_.size(); l-- > held.layers;) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      S_[l] = g_.middleCols(to, units);
      unit_.slopes(Q_[l], S_[l]);
      FloatMap(gradient.data() + places_.at[l], units, count).noalias() =
          S_[l].transpose() * P_.middleCols(from, count);
      FloatMap(gradient.data() + places_.at[l], units, count).topRows(held.of(l)).setZero();
      if (l == held.layers) break;
      const FloatMap V(parameters + places_.at[l], units, count);
      g_.middleCols(from, count).noalias() += S_[l] * V;
    }
  }

  Eigen::VectorXf gradient;
  double squares = 0;

 private:
  const Places& places_;
  const StudentUnit& unit_;
  Floats P_, g_, E_;
  std::vector<Floats> Q_, S_;
};

// Together or alone, turn by turn, whichever was faster lately: where others keep the processor busy, threads
// wait for each other longer than they work. The result is the same.
class Pace {
 public:
  explicit Pace(bool only_alone) : only_alone_(only_alone), alone_(only_alone) {}

  [[nodiscard]] bool alone() const { return alone_; }
  void begin() {
    const bool better = seconds_[1] < seconds_[0];
    alone_ = only_alone_ || (turn_ % kTryOtherEvery == 1 ? !better : better);
    if (turn_ == 0 && !only_alone_) alone_ = false;
    began_ = Clock::now();
  }
  void end() {
    seconds_[alone_ ? 1 : 0] = std::chrono::duration<double>(Clock::now() - began_).count();
    ++turn_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool only_alone_, alone_;
  Index turn_ = 0;
  std::array<double, 2> seconds_{};  // of the last turn together, and alone
  Clock::time_point began_;
};

class Training {
 public:
  Training(const Form& start, const StudentData& data, const StudentOptions& options, const Control& control)
      : start_(start),
        data_(data),
        options_(options),
        control_(control),
        rows_from_(&data),
        places_(start),
        held_(start, options) {
    const Index batch = std::min(options.batch, data.rows());
    const Index count = std::max<Index>(1, batch / kChunkRows);
    rows_ = batch / count;
    for (Index i = 0; i < count; ++i) chunks_.emplace_back(start, places_, *options.unit, rows_);
    first_ = second_ = Eigen::VectorXf::Zero(places_.size);
    parameters_ = places_.joined(start);
    learnt_ = places_.learnt_from(held_.layers);
  }

  Student run() {
    const Index workers = std::clamp<Index>(control_.workers(), 1, static_cast<Index>(chunks_.size()));
    std::barrier meet(workers);
    const auto together = [&](Index worker, Index from, Index to) {
      for (Index step = from; step < to; ++step) {
        if (worker == 0) begin(step);
        meet.arrive_and_wait();
        if (stop_) return;
        for (Index c = worker; c < static_cast<Index>(chunks_.size()); c += workers) chunk(c, step);
        meet.arrive_and_wait();
        if (worker == 0) tally();
        for (Index at = learnt_ + worker * kPiece; at < places_.size; at += workers * kPiece) piece(step, at);
        meet.arrive_and_wait();
      }
    };
    const auto alone = [&](Index from, Index to) {
      for (Index step = from; step < to; ++step) {
        begin(step);
        if (stop_) return;
        for (Index c = 0; c < static_cast<Index>(chunks_.size()); ++c) chunk(c, step);
        tally();
        for (Index at = learnt_; at < places_.size; at += kPiece) piece(step, at);
      }
    };
    Pace pace(workers == 1);
    const auto work = [&](Index worker) {
      for (Index from = 0; from < options_.steps && !stop_; from += kTurn) {
        const Index to = std::min(from + kTurn, options_.steps);
        if (worker == 0) pace.begin();
        meet.arrive_and_wait();
        if (!pace.alone()) together(worker, from, to);
        if (pace.alone() && worker == 0) alone(from, to);
        meet.arrive_and_wait();
        if (worker == 0) pace.end();
      }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(workers));
    for (Index w = 1; w < workers; ++w) threads.emplace_back(work, w);
    work(0);
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    if (options_.solve_every > 0) {
      solve();
      mean_ = mean_square();
    }
    return result();
  }

 private:
  // Pieces that do not depend on the number of threads: where vectors begin and end shows in the last bits.
  void piece(Index step, Index at) { update(step, at, std::min(at + kPiece, places_.size)); }

  // What one thread does before a step, the others waiting.
  void begin(Index step) {
    try {
      if (options_.hard_rows && looks_at(step, options_.steps)) {
        emphasised_ = data_.with_hard_rows(squares_left(), kHardShare,
                                           options_.seed + static_cast<std::uint64_t>(step));
        rows_from_ = &*emphasised_;
      }
      if (solves_at(step, options_)) solve();
      if (step % kCheckEvery != 0) return;
      control_.check();
      control_.report("student", static_cast<double>(step) / static_cast<double>(options_.steps));
      if (control_.out_of_time()) {
        in_time_ = false;
        stop_ = true;
      }
    } catch (...) {
      failure_ = std::current_exception();
      stop_ = true;
    }
  }

  // Whole chunks of the rows that C is solved on.
  [[nodiscard]] Index solve_rows() const {
    const Index wanted = std::max(kLeastSolveRows, kSolveRowsPerFeature * places_.layout.features);
    return std::min(wanted, data_.rows()) / kChunkRows * kChunkRows;
  }

  // C of least squares for the V_l as they stand, on the first rows.
  void solve() {
    const Index rows = solve_rows(), q = places_.layout.features;
    if (rows < 2 * q) return;  // too few to say
    const FeatureSums empty{Matrix::Zero(q, q), Matrix::Zero(q, places_.m)};
    const FeatureSums sums = over_chunks(rows, empty, [&](FeatureSums& to, Chunk& chunk, Index first) {
      const auto F = chunk.features(data_, first, parameters_.data());
      const Floats FF = F.transpose() * F, FY = F.transpose() * data_.y.middleRows(first, chunk.rows());
      to.FF += FF.cast<double>();
      to.FY += FY.cast<double>();
    });
    const Matrix C = sums.solution();
    if (C.allFinite()) parameters_.tail(C.size()) = C.reshaped().cast<float>();
  }

  struct Square {
    double sum = 0;
    void merge(const Square& other) { sum += other.sum; }
  };
  [[nodiscard]] double mean_square() {
    const Index rows = solve_rows();
    if (rows == 0) return mean_;
    const Square all = over_chunks(rows, Square(), [&](Square& to, Chunk& chunk, Index first) {
      to.sum += static_cast<double>(chunk.errors(data_, first, parameters_.data()).squaredNorm());
    });
    return all.sum / static_cast<double>(rows * places_.m);
  }

  // Of every row of the data.
  [[nodiscard]] Eigen::VectorXf squares_left() {
    Eigen::VectorXf left(data_.rows());
    struct Nothing {
      void merge(const Nothing&) {}
    };
    static_cast<void>(over_chunks(data_.rows(), Nothing(), [&](Nothing&, Chunk& chunk, Index first) {
      left.segment(first, chunk.rows()) =
          chunk.errors(data_, first, parameters_.data()).rowwise().squaredNorm();
    }));
    return left;
  }

  // Rows in chunks, by tasks of a fixed number (fit/sums.h): add(sums, chunk, first).
  template <class Sums, class Add>
  [[nodiscard]] Sums over_chunks(Index rows, const Sums& empty, const Add& add) {
    return over_rows(rows, empty, control_, [&](Sums& to, Index first, Index count) {
      Chunk chunk(start_, places_, *options_.unit, count);
      add(to, chunk, first);
    });
  }

  void chunk(Index c, Index step) {
    const Stream order(options_.seed, "student batches");
    const Index batch = rows_ * static_cast<Index>(chunks_.size());
    const auto places = static_cast<std::uint64_t>(rows_from_->rows() - batch + 1);
    const auto first = static_cast<Index>(order.below(places, static_cast<std::uint64_t>(step)));
    const float share = 2.0F / static_cast<float>(batch * places_.m);
    chunks_[static_cast<std::size_t>(c)].run(*rows_from_, first + c * rows_, parameters_.data(), share,
                                             held_);
  }

  void tally() {
    double squares = 0;
    for (const Chunk& chunk : chunks_) squares += chunk.squares;
    const double now = squares / static_cast<double>(rows_ * static_cast<Index>(chunks_.size()) * places_.m);
    mean_ = mean_ < 0 ? now : mean_ + (now - mean_) / kMeanOver;
  }

  // Adam on parameters [from, to).
  void update(Index step, Index from, Index to) {
    const Index size = to - from;
    if (size == 0) return;
    const Rate rate(options_, step);
    auto g = chunks_[0].gradient.segment(from, size);
    for (std::size_t c = 1; c < chunks_.size(); ++c) g += chunks_[c].gradient.segment(from, size);
    auto m = first_.segment(from, size), v = second_.segment(from, size);
    m += (1 - kFirstMean) * (g - m);
    v += (1 - static_cast<float>(options_.memory)) * (g.cwiseAbs2() - v);
    parameters_.segment(from, size).array() -=
        rate.scaled * m.array() / (rate.root * v.array().sqrt() + kEpsilon);
  }

  [[nodiscard]] Student result() const { return {places_.parted(start_, parameters_), mean_, in_time_}; }

  const Form& start_;
  const StudentData& data_;
  const StudentOptions& options_;
  const Control& control_;
  std::optional<StudentData> emphasised_;  // with the hard rows of the last look
  const StudentData* rows_from_;           // which of the two is learnt from
  Places places_;
  Held held_;
  Index rows_ = 0;    // of a chunk
  Index learnt_ = 0;  // where the parameters begin that are learnt
  std::vector<Chunk> chunks_;
  Eigen::VectorXf parameters_, first_, second_;
  double mean_ = -1;
  std::atomic<bool> stop_{false};
  bool in_time_ = true;
  std::exception_ptr failure_;
};

}  // namespace

Form random_student(Index inputs, Index outputs, const std::vector<Index>& widths, std::uint64_t seed) {
  Form form;
  form.inputs = inputs;
  const auto uniform = [&](Index rows, Index cols, std::uint64_t number) {
    RowMatrix entries(rows, cols);
    Stream(seed + 1000 * number, "student").fill_uniform(0, entries);
    return Matrix((2 * entries.array() - 1) / std::sqrt(static_cast<double>(cols)));
  };
  Index columns = inputs + 1;
  for (std::size_t l = 0; l < widths.size(); ++l) {
    form.V.push_back(uniform(widths[l], columns, l));
    columns += widths[l];
  }
  form.C = uniform(outputs, columns, widths.size()).transpose();
  return form;
}

Student train(const Form& start, const StudentData& data, const StudentOptions& options,
              const Control& control) {
  const SingleThreadedBlas single;
  Student student = remembered(
      control, "student",
      [&] {
        if (control.device && options.unit->on_device)
          return train_on_device(control.device, start, data, options, control);
        return Training(start, data, options, control).run();
      },
      [&](const Student& made) { return is_whole(made.form, start.inputs, data.y.cols(), start.depth()); });
  // Values, gradient by the values and gradient by the parameters: a product each.
  constexpr double kProducts = 6;
  control.spend(kProducts * static_cast<double>(options.steps) *
                static_cast<double>(std::min(options.batch, data.rows())) *
                static_cast<double>(Places(start).size));
  return student;
}

namespace {

using DeviceFloats = DeviceMatrix<float>;
using FloatView = DeviceView<float>;

// Rows in the device's memory.
struct Sent {
  Sent(Device& device, const StudentData& data)
      : x(device, data.x.rows(), data.x.cols()), y(device, data.y.rows(), data.y.cols()) {
    upload(device, data.x.data(), data.x.rows(), x.view());
    upload(device, data.y.data(), data.y.rows(), y.view());
  }
  DeviceFloats x, y;
};

class DeviceTraining {
 public:
  DeviceTraining(std::shared_ptr<Device> device, const Form& start, const StudentData& data,
                 const StudentOptions& options, const Control& control)
      : device_(std::move(device)),
        start_(start),
        data_(data),
        options_(options),
        control_(control),
        places_(start),
        held_(start, options),
        batch_(std::min(options.batch, data.rows())),
        sent_(std::make_unique<Sent>(*device_, data)),
        parameters_(*device_, places_.size, 1),
        gradient_(*device_, places_.size, 1),
        mean_(*device_, places_.size, 1),
        square_(*device_, places_.size, 1),
        P_(*device_, batch_, places_.layout.columns),
        g_(*device_, batch_, places_.layout.columns),
        E_(*device_, batch_, places_.m),
        squares_(*device_, 1, 1) {
    const Eigen::VectorXf joined = places_.joined(start);
    upload(*device_, joined.data(), joined.size(), parameters_.view());
    device_->fill(mean_.view(), 0.0F);
    device_->fill(square_.view(), 0.0F);
    device_->fill(squares_.view(), 0.0);
    for (const Matrix& v : start.V) {
      Q_.emplace_back(*device_, batch_, v.rows());
      S_.emplace_back(*device_, batch_, v.rows());
    }
    for (Index column : places_.layout.ones) device_->fill(P_.view().columns(column, 1), 1.0F);
  }

  Student run() {
    Student out{start_, 1, true};
    for (Index step = 0; step < options_.steps; ++step) {
      if (options_.hard_rows && looks_at(step, options_.steps)) {
        const StudentData emphasised = data_.with_hard_rows(squares_left(), kHardShare,
                                                            options_.seed + static_cast<std::uint64_t>(step));
        emphasised_.reset();
        emphasised_ = std::make_unique<Sent>(*device_, emphasised);
      }
      if (solves_at(step, options_)) solve();
      if (step % kCheckEvery == 0) {
        control_.check();
        control_.report("student", static_cast<double>(step) / static_cast<double>(options_.steps));
        if (step > 0) tally();
        if (control_.out_of_time()) {
          out.in_time = false;
          break;
        }
      }
      learn(step);
    }
    tally();
    if (options_.solve_every > 0 && solve()) error_ = mean_square();
    Eigen::VectorXf joined(places_.size);
    download(*device_, parameters_.view(), joined.data(), joined.size());
    out.form = places_.parted(start_, joined);
    out.relative_mse = error_ < 0 ? 1 : error_;
    return out;
  }

 private:
  [[nodiscard]] FloatView part(const DeviceFloats& of, Index at, Index rows, Index cols) const {
    return {of.data() + at, rows, cols, rows};
  }

  // The features and values of rows [first, first + batch_), in P_ and E_.
  void forward(const Sent& rows, Index first) {
    const FormLayout& layout = places_.layout;
    const FloatView P = P_.view();
    device_->copy(rows.x.view().block(first, 0, batch_, layout.inputs.count),
                  P.columns(layout.inputs.first, layout.inputs.count));
    for (std::size_t l = 0; l < Q_.size(); ++l) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      device_->product(1, P.columns(from, count), false, part(parameters_, places_.at[l], units, count), true,
                       0, Q_[l].view());
      device_->activate(*options_.unit->on_device, Q_[l].view(), P.columns(to, units));
    }
    device_->product(1, features(), false, C(), false, 0, E_.view());
  }
  [[nodiscard]] FloatView features() const { return P_.view().columns(0, places_.layout.features); }
  [[nodiscard]] FloatView C() const {
    return part(parameters_, places_.top, places_.layout.features, places_.m);
  }

  // As on the processor, by whole batches.
  [[nodiscard]] Index solve_batches() const {
    const Index wanted = std::max(kLeastSolveRows, kSolveRowsPerFeature * places_.layout.features);
    return std::min((wanted + batch_ - 1) / batch_, data_.rows() / batch_);
  }

  bool solve() {
    const Index q = places_.layout.features, batches = solve_batches();
    if (batches * batch_ < 2 * q) return false;
    FeatureSums sums{Matrix::Zero(q, q), Matrix::Zero(q, places_.m)};
    DeviceFloats FF(*device_, q, q), FY(*device_, q, places_.m);
    Floats here(q, q), there(q, places_.m);
    for (Index b = 0; b < batches; ++b) {
      forward(*sent_, b * batch_);
      device_->product(1, features(), true, features(), false, 0, FF.view());
      device_->product(1, features(), true, sent_->y.view().block(b * batch_, 0, batch_, places_.m), false, 0,
                       FY.view());
      download(*device_, FF.view(), here.data(), q);
      download(*device_, FY.view(), there.data(), q);
      sums.FF += here.cast<double>();
      sums.FY += there.cast<double>();
    }
    const Matrix solved = sums.solution();
    if (!solved.allFinite()) return false;
    const Floats single = solved.cast<float>();
    upload(*device_, single.data(), q, C());
    return true;
  }

  [[nodiscard]] double mean_square() {
    const Index batches = solve_batches();
    device_->fill(squares_.view(), 0.0);
    for (Index b = 0; b < batches; ++b) {
      forward(*sent_, b * batch_);
      device_->residual(E_.view(), sent_->y.view().block(b * batch_, 0, batch_, places_.m), 1.0F,
                        squares_.view());
    }
    double sum = 0;
    download(*device_, squares_.view(), &sum, 1);
    return sum / static_cast<double>(batches * batch_ * places_.m);
  }

  [[nodiscard]] Eigen::VectorXf squares_left() {
    Eigen::VectorXf left(data_.rows());
    Floats values(batch_, places_.m);
    for (Index at = 0; at < data_.rows(); at += batch_) {
      const Index first = std::min(at, data_.rows() - batch_);  // the last batch overlaps the one before
      forward(*sent_, first);
      download(*device_, E_.view(), values.data(), batch_);
      left.segment(first, batch_) = (values - data_.y.middleRows(first, batch_)).rowwise().squaredNorm();
    }
    return left;
  }

  void learn(Index step) {
    const FormLayout& layout = places_.layout;
    const Stream order(options_.seed, "student batches");
    const Sent& from_rows = emphasised_ ? *emphasised_ : *sent_;
    const Index rows = from_rows.x.view().rows;
    const auto first = static_cast<Index>(
        order.below(static_cast<std::uint64_t>(rows - batch_ + 1), static_cast<std::uint64_t>(step)));
    const FloatView P = P_.view(), g = g_.view(), E = E_.view();
    forward(from_rows, first);
    device_->residual(E, from_rows.y.view().block(first, 0, batch_, places_.m),
                      2.0F / static_cast<float>(batch_ * places_.m), squares_.view());
    ++since_;
    device_->product(1, features(), true, E, false, 0,
                     part(gradient_, places_.top, layout.features, places_.m));
    if (layout.features < layout.columns)
      device_->fill(g.columns(layout.features, layout.columns - layout.features), 0.0F);
    device_->product(1, E, false, C(), true, 0, g.columns(0, layout.features));
    for (std::size_t l = Q_.size(); l-- > held_.layers;) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      device_->slope(*options_.unit->on_device, Q_[l].view(), g.columns(to, units), S_[l].view());
      device_->product(1, S_[l].view(), true, P.columns(from, count), false, 0,
                       part(gradient_, places_.at[l], units, count));
      if (held_.of(l) > 0)
        device_->fill(part(gradient_, places_.at[l], units, count).block(0, 0, held_.of(l), count), 0.0F);
      if (l == held_.layers) break;
      device_->product(1, S_[l].view(), false, part(parameters_, places_.at[l], units, count), false, 1,
                       g.columns(from, count));
    }
    const Rate rate(options_, step);
    const Index learnt = places_.learnt_from(held_.layers);
    device_->adam(places_.size - learnt, parameters_.data() + learnt, gradient_.data() + learnt,
                  mean_.data() + learnt, square_.data() + learnt,
                  {rate.scaled, rate.root, kFirstMean, static_cast<float>(options_.memory), kEpsilon});
  }

  // The mean squared error of the steps since the last look, averaged with those before.
  void tally() {
    if (since_ == 0) return;
    double sum = 0;
    download(*device_, squares_.view(), &sum, 1);
    device_->fill(squares_.view(), 0.0);
    const double now = sum / static_cast<double>(since_ * batch_ * places_.m);
    const double share = std::min(1.0, static_cast<double>(since_) / kMeanOver);
    error_ = error_ < 0 ? now : error_ + share * (now - error_);
    since_ = 0;
  }

  std::shared_ptr<Device> device_;
  const Form& start_;
  const StudentData& data_;
  const StudentOptions& options_;
  const Control& control_;
  Places places_;
  Held held_;
  Index batch_;
  std::unique_ptr<Sent> sent_, emphasised_;  // the rows; and with hard rows shown more
  DeviceFloats parameters_, gradient_, mean_, square_, P_, g_, E_;
  DeviceMatrix<double> squares_;
  std::vector<DeviceFloats> Q_, S_;
  Index since_ = 0;
  double error_ = -1;
};

}  // namespace

Student train_on_device(const std::shared_ptr<Device>& device, const Form& start, const StudentData& data,
                        const StudentOptions& options, const Control& control) {
  return DeviceTraining(device, start, data, options, control).run();
}

}  // namespace exhume
