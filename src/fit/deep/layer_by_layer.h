// Three hidden layers and more: the layers that students agree on, from the lowest one up.
//
//     students from nothing       -> units of layer 1 that two of them agree on
//     students on these           -> units of layer 2                            ... up to the last layer but one
//     a student on all of these   -> polish of all layers together
//
// The lower a layer the sooner it is learnt: at 1e-6 of the variance every unit of the first is known to three digits and few of
// the third are near anything. What is known is held, and the next student has fewer layers to learn. Beside the units that it
// holds, a layer has some to spare: those that nobody agreed on.
//
// Where the polish ends exact on all but some rows, all that it found is held and one more student learns what those rows show.
//
// Units of layer l agree where their q = P_{l-1} v are the same on rows, up to scale and sign: sin of the angle between
// them. One is taken over as the least-squares solution v of P_{l-1} v = q on the layers below, as they are known by then.
#pragma once

#include <cstdint>
#include <vector>

#include "fit/deep/trials.h"

namespace exhume {

class LayerByLayer {
 public:
  explicit LayerByLayer(Trials& trials);

  // Students from nothing as the lesson says, then on what they agree on, and the polish of the last one. Returns the error of
  // the first.
  double round(const Lesson& lesson);

 private:
  // What a student, or a polish, says of every layer.
  struct Said {
    std::vector<Matrix> q;  // rows x units that were not held, columns of norm 1
    double error = 1;
    bool certain = false;  // exact on most rows: its units need no other's word
  };

  Student teach(const Lesson& lesson);
  void remember(const Form& form, const std::vector<Matrix>& held, double error, bool certain);
  [[nodiscard]] Matrix agreed(const Form& lower) const;
  [[nodiscard]] bool recurs(std::size_t said, std::size_t l, const Vector& q) const;
  [[nodiscard]] Lesson above(const Form& lower, const Lesson& lesson, Index beside) const;
  [[nodiscard]] Lesson beside(const Form& form, const Lesson& lesson) const;
  void polish_last(const Student& student, const Lesson& lesson);

  Trials& trials_;
  RowMatrix x_;               // rows on which units are compared
  std::vector<Said> said_;    // by increasing error
  std::uint64_t number_ = 0;  // of the next student
};

}  // namespace exhume
