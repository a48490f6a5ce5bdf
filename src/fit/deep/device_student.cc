#include "fit/deep/device_student.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/random.h"
#include "fit/deep/schedule.h"

namespace exhume {
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
        const StudentData emphasised = data_.with_hard_rows(
            now(), kHardShare, options_.seed + static_cast<std::uint64_t>(step), control_);
        sent_.reset();
        sent_ = std::make_unique<Sent>(*device_, emphasised);
      }
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
    out.form = now();
    out.relative_mse = error_ < 0 ? 1 : error_;
    return out;
  }

 private:
  [[nodiscard]] FloatView part(const DeviceFloats& of, Index at, Index rows, Index cols) const {
    return {of.data() + at, rows, cols, rows};
  }

  void learn(Index step) {
    const FormLayout& layout = places_.layout;
    const Stream order(options_.seed, "student batches");
    const Index rows = sent_->x.view().rows;
    const auto first = static_cast<Index>(
        order.below(static_cast<std::uint64_t>(rows - batch_ + 1), static_cast<std::uint64_t>(step)));
    const FloatView P = P_.view(), g = g_.view(), E = E_.view();
    const FloatView C = part(parameters_, places_.top, layout.columns, places_.m);
    device_->copy(sent_->x.view().block(first, 0, batch_, layout.inputs.count),
                  P.columns(layout.inputs.first, layout.inputs.count));
    for (std::size_t l = 0; l < Q_.size(); ++l) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      device_->product(1, P.columns(from, count), false, part(parameters_, places_.at[l], units, count), true,
                       0, Q_[l].view());
      device_->activate(Device::Kind::kAbsolute, Q_[l].view(), P.columns(to, units));
    }
    device_->product(1, P, false, C, false, 0, E);
    device_->residual(E, sent_->y.view().block(first, 0, batch_, places_.m),
                      2.0F / static_cast<float>(batch_ * places_.m), squares_.view());
    ++since_;
    device_->product(1, P, true, E, false, 0, part(gradient_, places_.top, layout.columns, places_.m));
    device_->product(1, E, false, C, true, 0, g);
    for (std::size_t l = Q_.size(); l-- > held_.layers;) {
      const auto [to, units] = layout.hidden[l];
      const auto [from, count] = layout.below[l];
      device_->slope(Device::Kind::kAbsolute, Q_[l].view(), g.columns(to, units), S_[l].view());
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
                  {rate.scaled, rate.root, kFirstMean, kSecondMean, kEpsilon});
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

  [[nodiscard]] Form now() const {
    Eigen::VectorXf joined(places_.size);
    download(*device_, parameters_.view(), joined.data(), joined.size());
    return places_.parted(start_, joined);
  }

  std::shared_ptr<Device> device_;
  const Form& start_;
  const StudentData& data_;
  const StudentOptions& options_;
  const Control& control_;
  Places places_;
  Held held_;
  Index batch_;
  std::unique_ptr<Sent> sent_;  // the rows, or with hard rows shown more
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
