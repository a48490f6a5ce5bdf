#include "data/reduce.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "base/inside_parallel.h"
#include "base/parallel.h"
#include "base/passes.h"

namespace exhume {
namespace {

// The one that owns it, as a BlockTree wants it.
struct OwnedSummand {
  std::unique_ptr<Summand> sum;
  void merge(const OwnedSummand& other) { sum->merge(*other.sum); }
};

class PassSum final : public BlockSum {
 public:
  PassSum(const SampleSource& source, const PassWork& work, const Control& control, std::string_view stage,
          Index block_rows)
      : source_(source),
        work_(work),
        control_(control),
        stage_(stage),
        block_rows_(block_rows),
        added_(static_cast<std::size_t>((source.rows() + block_rows - 1) / block_rows)),
        tree_(blocks()) {}

  [[nodiscard]] Index blocks() const override { return static_cast<Index>(added_.size()); }
  [[nodiscard]] bool distant() const override { return source_.distant(); }

  void add(Index first, Index last) override {
    std::vector<Index> mine;
    for (Index b = first; b < last; ++b) {
      if (!added_[static_cast<std::size_t>(b)] && source_.here(run(b).first, run(b).count)) mine.push_back(b);
    }
    std::mutex counting;  // progress never falls
    Index done = 0;
    parallel_for(static_cast<Index>(mine.size()), control_, [&](Index i) {
      const Index b = mine[static_cast<std::size_t>(i)];
      SampleBlock block;
      source_.read(run(b).first, run(b).count, block);
      OwnedSummand value{work_.empty()};
      work_.add(*value.sum, block);
      tree_.put(b, std::move(value));
      if (stage_.empty()) return;
      const std::lock_guard lock(counting);
      control_.report(stage_, static_cast<double>(++done) / static_cast<double>(mine.size()));
    });
    for (const Index b : mine) added_[static_cast<std::size_t>(b)] = true;
  }

  [[nodiscard]] std::vector<std::pair<Index, Index>> missing() const override {
    std::vector<std::pair<Index, Index>> runs;
    for (Index b = 0; b < blocks(); ++b) {
      if (added_[static_cast<std::size_t>(b)]) continue;
      if (runs.empty() || runs.back().second != b) runs.emplace_back(b, b);
      runs.back().second = b + 1;
    }
    return runs;
  }

  void announce_missing() override {
    std::vector<RowRun> runs;
    for (const auto& [first, last] : missing()) {
      for (Index b = first; b < last; ++b) runs.push_back(run(b));
    }
    source_.announce(runs);
  }

  [[nodiscard]] std::string take() override {
    packing::Writer out;
    for (const auto& [place, value] : tree_.take_nodes()) {
      out.put(place);
      value.sum->pack(out);
    }
    added_.assign(added_.size(), false);
    return std::move(out.bytes);
  }

  void absorb(std::string_view bytes) override {
    packing::Reader in(bytes);
    while (!in.left().empty()) {
      std::pair<Index, Index> place;
      in.get(place);
      const auto [level, node] = place;
      if (level < 0 || level > 60 || node < 0 || node > (blocks() - 1) >> level)
        throw DataError("a sum speaks of blocks that there are not; make it again with the same samples");
      const Index last = std::min(blocks(), (node + 1) << level);
      for (Index b = node << level; b < last; ++b) {
        if (added_[static_cast<std::size_t>(b)])
          throw DataError("two sums hold the same rows; give every row once");
        added_[static_cast<std::size_t>(b)] = true;
      }
      OwnedSummand value{work_.empty()};
      value.sum->unpack(in);
      tree_.put_node(level, node, std::move(value));
    }
  }

  // When nothing is missing.
  [[nodiscard]] std::unique_ptr<Summand> value() { return std::move(tree_.take().sum); }

 private:
  [[nodiscard]] RowRun run(Index block) const {
    const Index first = block * block_rows_;
    return {first, std::min(block_rows_, source_.rows() - first)};
  }

  const SampleSource& source_;
  const PassWork& work_;
  const Control& control_;
  std::string_view stage_;
  Index block_rows_;
  std::vector<bool> added_;
  BlockTree<OwnedSummand> tree_;
};

}  // namespace

std::unique_ptr<Summand> sum_blocks(const SampleSource& source, const PassWork& work, const Control& control,
                                    std::string_view stage, Index block_rows) {
  PassSum sum(source, work, control, stage, block_rows);
  // Inside a task, passes come in no order that processes could share.
  if (control.passes && !inside_parallel_for()) {
    control.passes->pass(stage, sum);
  } else {
    sum.add(0, sum.blocks());
  }
  return sum.value();
}

SamplePtr load(const SampleSource& source, const Control& control) {
  if (source.distant()) return load(source);
  RowMatrix x(source.rows(), source.inputs()), y(source.rows(), source.outputs());
  parallel_for((source.rows() + kBlockRows - 1) / kBlockRows, control, [&](Index b) {
    SampleBlock block;
    const Index first = b * kBlockRows, size = std::min(kBlockRows, source.rows() - first);
    source.read(first, size, block);
    x.middleRows(first, size) = block.x();
    y.middleRows(first, size) = block.y();
  });
  return memory_samples(std::move(x), std::move(y));
}

}  // namespace exhume
