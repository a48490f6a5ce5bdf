// Layers that are known, given or agreed on by students, and the search for what stands on them.
//
// Units of the first layer that two students have found, each from its own start, are the network's. Students that do not
// have to learn them learn the rest in a third of the time and further; and what stands on all layers but the last is a
// problem of one hidden layer (fit/deep/peel.h).
#pragma once

#include <cstdint>
#include <vector>

#include "fit/deep/trials.h"

namespace exhume {

class KnownLayers {
 public:
  explicit KnownLayers(Trials& trials) : trials_(trials) {}

  // The first layer is given, up to scale and sign: searches until the network is found or time ends.
  void above(const Matrix& first);
  // Keeps the first layer of a polished student.
  void remember(const Polished& polished);
  // Searches above the units that students agree on, if there are any. number: of the student before.
  void above_recurring(std::uint64_t number);

 private:
  struct First {
    Matrix V;                   // rows of unit norm
    std::vector<Index> widths;  // of all layers of its student
    double error = 1;
    std::size_t student = 0;
  };

  [[nodiscard]] Matrix recurring() const;
  double units_above(const Matrix& first, Index units, std::uint64_t number);

  Trials& trials_;
  std::vector<First> firsts_;
};

}  // namespace exhume
