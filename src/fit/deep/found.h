// What the search for a network of several hidden layers found, and what it went through.
#pragma once

#include <functional>
#include <vector>

#include "model/form.h"
#include "fit/deep/signs.h"

namespace exhume {

// One student and what became of it.
struct DeepAttempt {
  std::vector<Index> student;  // widths
  double trained = 0;          // relative error of the student
  double polished = 0;         // and of what the polish made of it; 0 where it was not polished
};

using StructureLeft = std::function<double(const Form&)>;

struct DeepFound {
  Form form;            // plain where `plain`, otherwise sign-free; standardised coordinates
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

}  // namespace exhume
