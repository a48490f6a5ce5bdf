// What the search for a network of several hidden layers found, and what it went through.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "fit/signs.h"
#include "model/form.h"

namespace exhume {
// One student and what became of it.
struct DeepAttempt {
  std::vector<Index> student;  // widths
  double trained = 0;          // relative error of the student
  double polished = 0;         // and of what the polish made of it; 0 where it was not polished
};

using StructureLeft = std::function<double(const Form&)>;

struct DeepFound {
  Form form;                // plain where `plain`, otherwise sign-free; standardised coordinates
  double relative_mse = 1;  // of the training rows
  bool exact = false;       // reproduces the rows that were fitted to rounding, but those `left`
  Index left = 0;           // too few to tell the weights of the unit that bends among them
  bool noise = false;       // not exact, and what is left looks like noise
  bool minimal = false;     // no unit of any layer can go: it was tried
  bool plain = false;       // a network without skip terms
  bool signs_determined = false;
  std::vector<LayerSigns> signs;
  std::vector<DeepAttempt> attempts;
  bool out_of_time = false;
};

// What is asked of it.
struct DeepSearchOptions {
  Index depth = 2;  // hidden layers
  std::optional<std::vector<Index>>
      widths;          // of the network, where known: students begin at three times these
  Matrix first_layer;  // k x (d+1): where known, up to scale and sign; two hidden layers only. Empty: find it
  std::uint64_t seed = 0;
  Index first_width = 24;  // of the first student's layers
  Index most_width = 768;  // students do not grow beyond
  double exact = 1e-19;    // relative mean squared residual below which a fit is on its way to rounding
  // How much structure there is in what a network leaves of the rows, over what noise would show: up to 1 it
  // looks like noise. Without it rows have none.
  StructureLeft structure_left;
};

}  // namespace exhume
