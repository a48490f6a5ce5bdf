// Ranges of a unit's function and of its slope over an interval, for proofs.
//
//     values:  sigma(z)  in [low, high]       for l <= z <= u
//     slopes:  sigma'(z) in [low, high]       one-sided ones where sigma has a kink
//
// The slope has its extremes at the ends, where sigma'' is zero, or at a kink: those places are known for
// every activation of the table. A function without an entry has slopes from minus to plus infinity, and
// nothing is proved of it. What is returned is widened by a few roundings: the functions of the C library
// (exp, erf, tanh) are taken to be right to that.
#pragma once

#include <optional>
#include <vector>

#include "exhume/activation.h"

namespace exhume {

struct Range {
  double low = 0, high = 0;
};

class UnitFunction {
 public:
  explicit UnitFunction(const Rectifier& sigma);

  [[nodiscard]] double value(double z) const { return sigma_(z); }
  [[nodiscard]] Range slopes(double low, double high) const;
  [[nodiscard]] Range values(double low, double high) const;
  // The slope of the line, and what is left of sigma beside it: sigma(z) - lambda z in `rest`.
  struct Line {
    double lambda = 0;
    Range rest{};
  };
  [[nodiscard]] Line line(double low, double high) const;

 private:
  Rectifier sigma_;
  std::vector<double> places_;  // where the slope may be extreme
  std::vector<double> turns_;   // where the function may be extreme
  bool periodic_ = false, known_ = true;
  std::optional<Range> at_kink_;  // one-sided slopes at zero
};

}  // namespace exhume
