#include "fit/within_bounds.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "exhume/data/reduce.h"
#include "exhume/fit/polish.h"

namespace exhume {
namespace {

constexpr double kShare = 0.8;

struct Beyond {
  Index entries = 0;
  void merge(const Beyond& other) { entries += other.entries; }
};

Index entries_beyond(const SeparableModel& model, const SampleSource& samples, const HalfWidth& half_width,
                     const Control& control) {
  return reduce_blocks(samples, Beyond{}, control, "",
                       [&](Beyond& to, const SampleBlock& block) {
                         const RowMatrix gap = block.y() - evaluate(model, block.x());
                         for (Index i = 0; i < gap.rows(); ++i) {
                           for (Index o = 0; o < gap.cols(); ++o)
                             to.entries += std::abs(gap(i, o)) > half_width(block.y()(i, o), o);
                         }
                       })
      .entries;
}

}  // namespace

SeparableModel within_bounds(const SeparableModel& start, const SamplePtr& samples,
                             const HalfWidth& half_width, int rounds, const Control& control) {
  SeparableModel model = start;
  PolishOptions options;
  options.max_iterations = 1;
  options.damping = 1e-9;
  options.block_rows = kBlockRows;
  for (int round = 0; round < rounds && !control.out_of_time(); ++round) {
    if (entries_beyond(model, *samples, half_width, control) == 0) break;
    const SamplePtr target =
        with_outputs(samples, [&model, &half_width](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
          const RowMatrix fitted = evaluate(model, x);
          for (Index i = 0; i < y.rows(); ++i) {
            for (Index o = 0; o < y.cols(); ++o) {
              const double h = kShare * half_width(y(i, o), o);
              y(i, o) = std::clamp(fitted(i, o), y(i, o) - h, y(i, o) + h);
            }
          }
        });
    model = polish(model, *target, options, control).model;
  }
  return model;
}

}  // namespace exhume
