#include "moments/device_order4.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "engine/transfer.h"
#include "exhume/error.h"
#include "linalg/symmetric_matrix.h"

namespace exhume {
namespace {

using Doubles = DeviceMatrix<double>;
using View = DeviceView<double>;

// Share of the device's memory for sums of several outputs at once.
constexpr double kMostMemory = 0.25;
// Strips of a half, where they have at least so many rows: the features of the first one keep everybody
// waiting.
constexpr Index kStrips = 8, kLeastStrip = 4096;
// What products like: rows and columns in multiples of these.
constexpr Index kRowMultiple = 256, kColumnMultiple = 32;
// Entries of a tile of a product, and tiles that keep a device busy.
constexpr double kTile = 128.0 * 128.0, kTiles = 512;
constexpr Index kMostParts = 8;

Index rounded_up(Index size, Index multiple) { return (size + multiple - 1) / multiple * multiple; }

// use(from, size, columns) run by run: narrow ones where there are many columns, wide ones where there are
// few, so that little is summed in vain and products are large.
template <class Use>
void for_runs(Index d, Index narrow, const Use& use) {
  const Index p = symmetric_size(d);
  for (Index from = 0, b = 0; from < p;) {
    while (symmetric_size(b + 1) <= from) ++b;
    const Index width = from < 4 * narrow ? narrow : from < 16 * narrow ? 2 * narrow : 4 * narrow;
    const Index size = std::min(width, p - from);
    use(from, size, std::min(rounded_up(symmetric_size(d - b), kColumnMultiple), p));
    from += size;
  }
}

double summed_entries(Index d, Index narrow) {
  double entries = 0;
  for_runs(d, narrow, [&](Index, Index size, Index columns) {
    entries += static_cast<double>(size) * static_cast<double>(columns);
  });
  return entries;
}

// Two places for features that take turns: one is filled while products read the other.
class Places {
 public:
  Places(Device& device, Index rows, Index columns, bool two) : device_(device), places_(two ? 2 : 1) {
    for (Place& place : places_) place.memory = Doubles(device, rows, columns);
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  // Memory is not given back while products read it, whatever ended the pass.
  ~Places() {
    try {
      wait();
    } catch (const ResourceError&) {  // the device failed: who asks it next is told
    }
  }

  // The next place, when nobody reads it any more.
  [[nodiscard]] View next(Index rows) {
    at_ = (at_ + 1) % places_.size();
    finish(places_[at_]);
    return places_[at_].memory.view().block(0, 0, rows, places_[at_].memory.view().cols);
  }
  // The products that read it last.
  void read_by(int batch) { places_[at_].batch = batch; }
  void wait() {
    for (Place& place : places_) finish(place);
  }

 private:
  struct Place {
    Doubles memory;
    std::optional<int> batch;
  };
  void finish(Place& place) {
    if (place.batch) device_.finish_products(*place.batch);
    place.batch.reset();
  }

  Device& device_;
  std::vector<Place> places_;
  std::size_t at_ = 0;
};

// Sums of one output over the rows of a half.
struct Sums {
  Doubles fourth, second, zeroth;  // p x (p parts), d x d, 1 x 1
  Sums(Device& device, Index d, Index p, Index parts)
      : fourth(device, p, p * parts), second(device, d, d), zeroth(device, 1, 1) {}
  void clear(Device& device) const {
    for (const Doubles* each : {&fourth, &second, &zeroth}) device.fill(each->view(), 0.0);
  }
};

class Pass {
 public:
  Pass(const DeviceRows& rows, const Order4Plan& plan, const Control& control)
      : rows_(rows),
        plan_(plan),
        control_(control),
        device_(*rows.device),
        d_(rows.inputs()),
        p_(symmetric_size(d_)),
        strip_(strip()),
        group_(group()),
        weighted_(device_, strip_, p_, plan.ahead),
        reversed_(device_, strip_, p_, plan.ahead),
        scaled_(device_, strip_, d_),
        ones_(device_, strip_, 1) {
    device_.fill(ones_.view(), 1.0);
    for (Index o = 0; o < group_; ++o) {
      sums_.emplace_back(device_, d_, p_, plan.parts);
      for (auto& half : halves_) half.emplace_back(device_, p_, p_);
    }
  }

  void run(const std::function<void(const View& sum, const View& difference)>& use) {
    const Index m = rows_.outputs();
    for (Index from = 0; from < m; from += group_) {
      const Index outputs = std::min(group_, m - from);
      int half = -1;
      for_strips(rows_, strip_, control_, [&](const DeviceStrip& at) {
        if (at.half != half) {
          finish(half, outputs);
          half = at.half;
          for (const Sums& sums : sums_) sums.clear(device_);
        }
        const double done = static_cast<double>(at.first) / static_cast<double>(rows_.rows());
        control_.report("moments", (static_cast<double>(from) + static_cast<double>(outputs) * done) /
                                       static_cast<double>(m));
        add(at, from, outputs);
      });
      finish(half, outputs);
      for (Index o = 0; o < outputs; ++o) {
        const View even = halves_[0][static_cast<std::size_t>(o)].view(),
                   odd = halves_[1][static_cast<std::size_t>(o)].view();
        if (rows_.count[1] == 0) device_.fill(odd, 0.0);
        device_.sum_and_difference(even, odd);
        use(even, odd);
      }
    }
    device_.synchronise();
  }

 private:
  [[nodiscard]] Index strip() const {
    const Index each = rounded_up(std::max(kLeastStrip, rows_.count[0] / kStrips), kRowMultiple);
    const Index most = strip_rows(device_, (plan_.ahead ? 4 : 2) * p_, plan_.strip_bytes);
    return std::min({each, most, rounded_up(rows_.rows(), kRowMultiple)});
  }
  // Outputs at once: they share features.
  [[nodiscard]] Index group() const {
    const double each =
        static_cast<double>(2 + plan_.parts) * 8.0 * static_cast<double>(p_) * static_cast<double>(p_);
    return std::clamp<Index>(static_cast<Index>(kMostMemory * device_.bytes_free() / each), 1,
                             rows_.outputs());
  }

  void add(const DeviceStrip& at, Index from, Index outputs) {
    const Index size = at.x.rows;
    const View reversed = reversed_.next(size), one = ones_.view().block(0, 0, size, 1),
               scaled = scaled_.view().block(0, 0, size, d_);
    device_.pairs(at.x, {}, true, reversed);
    for (Index o = 0; o < outputs; ++o) {
      const Sums& sums = sums_[static_cast<std::size_t>(o)];
      const View r = at.y.columns(from + o, 1), weighted = weighted_.next(size);
      device_.pairs(at.x, r, false, weighted);
      std::vector<DeviceProduct> runs;
      for_runs(d_, plan_.narrow, [&](Index first, Index count, Index columns) {
        runs.push_back({weighted.columns(first, count), reversed.columns(0, columns),
                        sums.fourth.view().block(first, 0, count, columns), plan_.parts, p_ * p_});
      });
      const int batch = device_.start_products(runs, plan_.queues);
      weighted_.read_by(batch);
      reversed_.read_by(batch);
      device_.row_products(r, at.x, scaled);
      device_.product(1, at.x, true, scaled, false, 1, sums.second.view());
      device_.product(1, r, true, one, false, 1, sums.zeroth.view());
    }
  }

  // From the sums of a half to its moments.
  void finish(int half, Index outputs) {
    weighted_.wait();
    reversed_.wait();
    if (half < 0) return;
    const double factor = 1.0 / static_cast<double>(std::max<Index>(rows_.count[half], 1));
    for (std::size_t o = 0; o < static_cast<std::size_t>(outputs); ++o) {
      const Sums& sums = sums_[o];
      const View all = sums.fourth.view().columns(0, p_);
      for (Index part = 1; part < plan_.parts; ++part)
        device_.add(1, sums.fourth.view().columns(part * p_, p_), all);
      device_.hermite4(factor, all, sums.second.view(), sums.zeroth.view(), halves_[half][o].view());
    }
  }

  const DeviceRows& rows_;
  const Order4Plan& plan_;
  const Control& control_;
  Device& device_;
  Index d_, p_, strip_, group_;
  std::vector<Sums> sums_;
  std::array<std::vector<Doubles>, 2> halves_;
  Places weighted_, reversed_;  // after the sums: what reads them ends before sums are given back
  Doubles scaled_, ones_;
};

}  // namespace

Order4Plan order4_plan(Index inputs) {
  Order4Plan plan;
  plan.parts = std::clamp<Index>(static_cast<Index>(kTiles * kTile / summed_entries(inputs, plan.narrow)), 1,
                                 kMostParts);
  return plan;
}

void order4_on_device(const DeviceRows& rows, const Order4Plan& plan, const Control& control,
                      const std::function<void(const View& sum, const View& difference)>& use) {
  Pass(rows, plan, control).run(use);
}

double order4_flops(Index rows, Index inputs, const Order4Plan& plan) {
  return 2.0 * static_cast<double>(rows) * summed_entries(inputs, plan.narrow);
}

}  // namespace exhume
