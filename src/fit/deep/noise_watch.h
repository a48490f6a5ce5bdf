// Is it noise that keeps students from getting further? Looked at where one does hardly better than one before it, on rows
// that neither has seen.
#pragma once

#include "fit/deep/trials.h"

namespace exhume {

class NoiseWatch {
 public:
  explicit NoiseWatch(Trials& trials) : trials_(trials) {}

  // form: a student as trained, or as polished. Where what it leaves is noise, the least network that leaves no more is
  // the answer (fit/deep/in_noise.h).
  void look(const Form& form, bool polished);
  // The last student did no better on rows that it did not see than one before.
  [[nodiscard]] bool overfits() const { return overfits_; }

 private:
  Trials& trials_;
  double least_ = 1;  // error on rows that were not fitted, of what no polish made exact
  bool overfits_ = false;
};

}  // namespace exhume
