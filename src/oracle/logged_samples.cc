#include "oracle/logged_samples.h"

#include <algorithm>
#include <utility>

namespace exhume {
namespace {

class LoggedSamples final : public SampleSource {
 public:
  LoggedSamples(std::shared_ptr<const Frame> frame, std::vector<LoggedBlock> blocks, bool places)
      : frame_(std::move(frame)), blocks_(std::move(blocks)), places_(places) {
    for (const LoggedBlock& block : blocks_) {
      first_.push_back(rows_);
      rows_ += block.queries.count();
      outputs_ = block.answers.cols();
    }
  }
  [[nodiscard]] Index rows() const override { return rows_; }
  [[nodiscard]] Index inputs() const override { return frame_->inputs(); }
  [[nodiscard]] Index outputs() const override { return outputs_; }
  void read(Index first, Index count, SampleBlock& out) const override {
    out.allocate(first, count, inputs(), outputs());
    auto at =
        static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), first) - first_.begin() - 1);
    for (Index done = 0; done < count; ++at) {
      const LoggedBlock& block = blocks_[at];
      const Index from = first + done - first_[at];
      const Index rows = std::min(count - done, block.queries.count() - from);
      const Queries part = block.queries.part(from, rows);
      out.own_x().middleRows(done, rows) = places_ ? frame_->points(part) : frame_->inputs_at(part);
      out.own_y().middleRows(done, rows) = block.answers.middleRows(from, rows);
      done += rows;
    }
  }

 private:
  std::shared_ptr<const Frame> frame_;
  std::vector<LoggedBlock> blocks_;
  std::vector<Index> first_;
  Index rows_ = 0, outputs_ = 0;
  bool places_;
};

}  // namespace

SamplePtr logged_samples(std::shared_ptr<const Frame> frame, std::vector<LoggedBlock> blocks) {
  return std::make_shared<LoggedSamples>(std::move(frame), std::move(blocks), false);
}

SamplePtr logged_places(std::shared_ptr<const Frame> frame, std::vector<LoggedBlock> blocks) {
  return std::make_shared<LoggedSamples>(std::move(frame), std::move(blocks), true);
}

}  // namespace exhume
