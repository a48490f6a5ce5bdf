#include "exhume/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"

namespace exhume {
namespace {

class OwnedSamples final : public SampleSource {
 public:
  OwnedSamples(RowMatrix x, RowMatrix y) : x_(std::move(x)), y_(std::move(y)) {}
  Index rows() const override { return x_.rows(); }
  Index inputs() const override { return x_.cols(); }
  Index outputs() const override { return y_.cols(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.view(first, count, x_.cols(), x_.data() + first * x_.cols(), y_.cols(),
               y_.data() + first * y_.cols());
  }

 private:
  RowMatrix x_, y_;
};

class ViewedSamples final : public SampleSource {
 public:
  ViewedSamples(const double* x, const double* y, Index rows, Index inputs, Index outputs)
      : x_(x), y_(y), rows_(rows), inputs_(inputs), outputs_(outputs) {}
  Index rows() const override { return rows_; }
  Index inputs() const override { return inputs_; }
  Index outputs() const override { return outputs_; }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.view(first, count, inputs_, x_ + first * inputs_, outputs_, y_ + first * outputs_);
  }

 private:
  const double* x_;
  const double* y_;
  Index rows_, inputs_, outputs_;
};

// Row numbers of the two sides of a split. Group g of `period` rows holds out row `g * period + pick(g)`.
class Groups {
 public:
  Groups(Index rows, Index period, std::uint64_t seed)
      : rows_(rows), period_(period), groups_(rows / period), random_(seed, "held-out rows") {}
  Index held_out() const { return groups_; }
  Index training() const { return rows_ - groups_; }
  Index period() const { return period_; }
  Index held_out_row(Index g) const {
    return g * period_ + static_cast<Index>(random_.below(static_cast<std::uint64_t>(period_),
                                                          static_cast<std::uint64_t>(g)));
  }
  Index training_row(Index t) const {
    const Index g = t / (period_ - 1);
    if (g >= groups_) return t + groups_;
    const Index row = g * period_ + t % (period_ - 1);
    return row + (row >= held_out_row(g) ? 1 : 0);
  }
  // Training rows from the t-th on, it included, with no held-out one between them: of its group.
  Index training_run(Index t) const {
    const Index g = t / (period_ - 1);
    if (g >= groups_) return training() - t;
    const Index row = training_row(t), held = held_out_row(g);
    return row < held ? held - row : (g + 1) * period_ - row;
  }

 private:
  Index rows_, period_, groups_;
  Stream random_;
};

class TrainingRows final : public SampleView {
 public:
  TrainingRows(SamplePtr base, Groups groups) : SampleView(std::move(base)), groups_(groups) {}
  Index rows() const override { return groups_.training(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), outputs());
    if (count == 0) return;
    const Index begin = groups_.training_row(first), end = groups_.training_row(first + count - 1) + 1;
    SampleBlock whole;
    base_->read(begin, end - begin, whole);
    // From one held-out row to the next they lie together.
    for (Index i = 0; i < count;) {
      const Index run = std::min(groups_.training_run(first + i), count - i);
      const Index from = groups_.training_row(first + i) - begin;
      block.own_x().middleRows(i, run) = whole.x().middleRows(from, run);
      block.own_y().middleRows(i, run) = whole.y().middleRows(from, run);
      i += run;
    }
  }

 private:
  void below(Index first, Index count, std::vector<RowRun>& runs) const override {
    const Index begin = groups_.training_row(first);
    runs.push_back({begin, groups_.training_row(first + count - 1) + 1 - begin});
  }
  Groups groups_;
};

class HeldOutRows final : public SampleView {
 public:
  HeldOutRows(SamplePtr base, Groups groups) : SampleView(std::move(base)), groups_(groups) {}
  Index rows() const override { return groups_.held_out(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    block.allocate(first, count, inputs(), outputs());
    if (count == 0) return;
    SampleBlock some;
    const auto take = [&](Index i, Index from) {
      block.own_x().row(i) = some.x().row(from);
      block.own_y().row(i) = some.y().row(from);
    };
    // Where rows are short, to read those between costs less than many calls.
    const Index per_group = groups_.period() * (inputs() + outputs());
    if (base_->distant() || per_group > kMostBetween) {
      for (Index i = 0; i < count; ++i) {
        base_->read(groups_.held_out_row(first + i), 1, some);
        take(i, 0);
      }
      return;
    }
    const Index step = std::max<Index>(1, kMostAtOnce / per_group);
    for (Index i = 0; i < count; i += step) {
      const Index last = std::min(i + step, count) - 1, begin = groups_.held_out_row(first + i);
      base_->read(begin, groups_.held_out_row(first + last) + 1 - begin, some);
      for (Index j = i; j <= last; ++j) take(j, groups_.held_out_row(first + j) - begin);
    }
  }

 private:
  // Numbers from one held-out row to the next up to which those between are read too (16 kB), and that are
  // read at once (1 MB).
  static constexpr Index kMostBetween = 2048, kMostAtOnce = 131072;

  void below(Index first, Index count, std::vector<RowRun>& runs) const override {
    for (Index i = first; i < first + count; ++i) runs.push_back({groups_.held_out_row(i), 1});
  }
  Groups groups_;
};

class AffineSamples final : public SampleView {
 public:
  AffineSamples(SamplePtr base, AffineMap map) : SampleView(std::move(base)), map_(std::move(map)) {}
  Index inputs() const override { return map_.P.rows(); }
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first, count, raw);
    block.allocate(first, count, inputs(), outputs());
    const RowMatrix centred = raw.x().rowwise() - map_.mu.transpose();
    block.own_x().noalias() = centred * map_.P.transpose();
    block.own_y() = (raw.y().rowwise() - map_.nu.transpose()) * map_.D.asDiagonal();
  }

 private:
  AffineMap map_;
};

class ChangedOutputs final : public SampleView {
 public:
  ChangedOutputs(SamplePtr base, OutputChange change)
      : SampleView(std::move(base)), change_(std::move(change)) {}
  void read(Index first, Index count, SampleBlock& block) const override {
    SampleBlock raw;
    base_->read(first, count, raw);
    block.allocate(first, count, inputs(), outputs());
    block.own_x() = raw.x();
    block.own_y() = raw.y();
    change_(block.own_x(), block.own_y());
  }

 private:
  OutputChange change_;
};

}  // namespace

void SampleView::below(Index first, Index count, std::vector<RowRun>& runs) const {
  runs.push_back({first, count});
}

bool SampleView::here(Index first, Index count) const {
  if (count == 0 || !base_->distant()) return true;
  std::vector<RowRun> runs;
  below(first, count, runs);
  return std::all_of(runs.begin(), runs.end(), [&](RowRun run) { return base_->here(run.first, run.count); });
}

void SampleView::announce(std::span<const RowRun> runs) const {
  if (!base_->distant()) return;
  std::vector<RowRun> needed;
  for (const RowRun& run : runs) {
    if (run.count > 0) below(run.first, run.count, needed);
  }
  base_->announce(needed);
}

void SampleBlock::view(Index first_row, Index rows, Index inputs, const double* x, Index outputs,
                       const double* y) {
  first_row_ = first_row;
  rows_ = rows;
  inputs_ = inputs;
  outputs_ = outputs;
  x_ = x;
  y_ = y;
}

void SampleBlock::allocate(Index first_row, Index rows, Index inputs, Index outputs) {
  own_x_.resize(rows, inputs);
  own_y_.resize(rows, outputs);
  view(first_row, rows, inputs, own_x_.data(), outputs, own_y_.data());
}

SamplePtr memory_samples(RowMatrix x, RowMatrix y) {
  if (x.rows() != y.rows()) {
    throw std::invalid_argument(fmt::format("samples: x has {} rows but y has {}", x.rows(), y.rows()));
  }
  return std::make_shared<OwnedSamples>(std::move(x), std::move(y));
}

SamplePtr memory_view(const double* x, const double* y, Index rows, Index inputs, Index outputs) {
  return std::make_shared<ViewedSamples>(x, y, rows, inputs, outputs);
}

Split split(SamplePtr source, Index period, std::uint64_t seed) {
  if (period < 2)
    throw std::invalid_argument(fmt::format("split: period is {}, expected at least 2", period));
  const Groups groups(source->rows(), period, seed);
  return {std::make_shared<TrainingRows>(source, groups), std::make_shared<HeldOutRows>(source, groups)};
}

SamplePtr affine(SamplePtr source, AffineMap map) {
  if (map.P.cols() != source->inputs() || map.mu.size() != source->inputs() ||
      map.D.size() != source->outputs() || map.nu.size() != source->outputs()) {
    throw std::invalid_argument("affine: the map's shapes do not fit the samples");
  }
  return std::make_shared<AffineSamples>(std::move(source), std::move(map));
}

SamplePtr with_outputs(SamplePtr source, OutputChange change) {
  return std::make_shared<ChangedOutputs>(std::move(source), std::move(change));
}

namespace {

constexpr Index kRun = 64;  // consecutive rows that a subset takes

}  // namespace

SamplePtr spread_subset(const SampleSource& source, Index count) {
  if (count >= source.rows()) return load(source);
  const Index runs = (count + kRun - 1) / kRun;
  std::vector<RowRun> chosen;
  for (Index r = 0; r < runs; ++r) {
    const Index to = r * kRun, size = std::min(kRun, count - to);
    // The r-th run starts at an even share of the rows that the runs leave over.
    const Index slack = source.rows() - count;
    const Index from = to + (runs > 1 ? slack / (runs - 1) * r + slack % (runs - 1) * r / (runs - 1) : 0);
    chosen.push_back({from, size});
  }
  return gathered(source, chosen);
}

SamplePtr random_subset(const SampleSource& source, Index count, std::uint64_t seed) {
  if (count >= source.rows()) return load(source);
  const Stream random(seed, "rows of a subset");
  const Index runs = (count + kRun - 1) / kRun, slack = source.rows() - count;
  std::vector<RowRun> chosen;
  for (Index r = 0; r < runs; ++r) {
    // Rows left out before the r-th run: anywhere in its share of them, so that runs never meet.
    const Index least = slack * r / runs, most = slack * (r + 1) / runs;
    const Index left_out =
        least + static_cast<Index>(random.below(static_cast<std::uint64_t>(most - least + 1),
                                                static_cast<std::uint64_t>(r)));
    chosen.push_back({r * kRun + left_out, std::min(kRun, count - r * kRun)});
  }
  return gathered(source, chosen);
}

SamplePtr gathered(const SampleSource& source, std::span<const RowRun> runs) {
  Index count = 0;
  for (const RowRun& run : runs) count += run.count;
  RowMatrix x(count, source.inputs()), y(count, source.outputs());
  source.announce(runs);
  SampleBlock block;
  Index to = 0;
  for (const RowRun& run : runs) {
    source.read(run.first, run.count, block);
    x.middleRows(to, run.count) = block.x();
    y.middleRows(to, run.count) = block.y();
    to += run.count;
  }
  return memory_samples(std::move(x), std::move(y));
}

SamplePtr load(const SampleSource& source) {
  std::vector<RowRun> blocks;
  for (Index first = 0; first < source.rows(); first += kBlockRows)
    blocks.push_back({first, std::min(kBlockRows, source.rows() - first)});
  return gathered(source, blocks);
}

}  // namespace exhume
