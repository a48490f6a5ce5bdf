#include "fit/deep/in_noise.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "fit/deep/prune.h"
#include "fit/deep/signs.h"

namespace exhume {
namespace {

constexpr double kNearly = 3;  // structure that units too many may still show

class InNoise {
 public:
  InNoise(DeepData& data, const StructureLeft& structure_left, const Control& control)
      : data_(data), structure_left_(structure_left), control_(control) {
    const auto entries = static_cast<double>(data.rows() * data.y.cols());
    forgiven_ = std::log(entries) / entries;
  }

  std::optional<DeepFound> run(const Form& start) {
    const Polished wide = converged(start);
    if (control_.out_of_time() || structure_left_(wide.form) > kNearly) return std::nullopt;
    const Pruned free = fewest(wide, true);
    DeepFound found;
    const DeepSigns signs = find_signs(free.fit.form);
    found.signs = signs.layers;
    found.signs_determined = signs.determined;
    const Polished plain = converged(signs.form);
    const double limit =
        free.fit.relative_mse * (1 + forgiven_ * (weights(free.fit.form) - weights(plain.form)));
    found.plain = plain.relative_mse < limit;
    const Pruned least = found.plain ? fewest(plain, true) : free;
    if (control_.out_of_time() || structure_left_(least.fit.form) > 1) return std::nullopt;
    found.form = least.fit.form;
    found.relative_mse = least.fit.relative_mse;
    found.minimal = least.minimal;
    found.noise = true;
    return found;
  }

 private:
  [[nodiscard]] static double weights(const Form& form) {
    return static_cast<double>(form.unknowns() + form.C.size());
  }

  [[nodiscard]] Polished converged(const Form& start) const {
    return polish(start, data_, noisy_polish(), control_);
  }

  [[nodiscard]] Pruned fewest(const Polished& start, bool singly) {
    PruneOptions pruning;
    pruning.forgiven = forgiven_;
    pruning.singly = singly;
    return prune(start, data_, pruning, control_);
  }

  DeepData& data_;
  const StructureLeft& structure_left_;
  double forgiven_ = 0;
  const Control& control_;
};

}  // namespace

std::optional<DeepFound> finished_in_noise(const Form& start, DeepData& data,
                                           const StructureLeft& structure_left, const Control& control) {
  return InNoise(data, structure_left, control).run(start);
}

}  // namespace exhume
