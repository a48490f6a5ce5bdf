// How a student learns: what training on the processor and on a device have in common.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "model/form.h"
#include "fit/deep/student_data.h"

namespace exhume {

// Parts of the training at which it is looked up which rows are hard, and the share of rows that counts as such.
inline constexpr std::array<double, 3> kLookAt{0.4, 0.6, 0.8};
inline constexpr double kHardShare = 0.02;
inline constexpr Index kCheckEvery = 64;  // steps between looks at the control
inline constexpr double kMeanOver = 100;  // steps over which the error is averaged
inline constexpr float kFirstMean = 0.9F, kSecondMean = 0.999F, kEpsilon = 1e-8F;  // of Adam

// Adam's rate at a step (a cosine from `rate` to nothing) and the root that corrects its second mean.
struct Rate {
  Rate(const StudentOptions& options, Index step) {
    const double share = static_cast<double>(step) / static_cast<double>(options.steps);
    const double t = static_cast<double>(step) + 1;
    const double rate = options.rate * (0.5 * (1 + std::cos(std::numbers::pi * share)) + 5e-4);
    scaled = static_cast<float>(rate / (1 - std::pow(kFirstMean, t)));
    root = static_cast<float>(1 / std::sqrt(1 - std::pow(kSecondMean, t)));
  }
  float scaled = 0, root = 1;
};

// True where hard rows are looked up before this step.
[[nodiscard]] inline bool looks_at(Index step, Index steps) {
  for (double part : kLookAt)
    if (step != 0 && step == static_cast<Index>(part * static_cast<double>(steps))) return true;
  return false;
}

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

}  // namespace exhume
