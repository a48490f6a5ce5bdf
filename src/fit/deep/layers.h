// The search for what stands on layers that are known: given, or agreed on by students.
//
// Units that two students have found, each from its own start, are the network's. Students that do not have
// to learn them learn the rest in a third of the time and further; and what stands on all layers but the last
// is a problem of one hidden layer.
#pragma once

#include <cstdint>
#include <vector>

#include "fit/deep/trials.h"

namespace exhume {

// The last of D layers, given V_1, ..., V_{D-1} up to sign and scale: outputs are a network of one hidden
// layer in the features P_{D-1} = (|Q_{D-1}|, ..., |Q_1|, x, 1), and one hidden layer needs no student.
// `width` units drawn at random, more than the network has, are polished with the layers below fixed. They
// are drawn in coordinates in which the features have covariance I, so that every one bends where the rows
// are. On fewer rows at first, because far from the end a step need not be a good one. What comes out misses
// at most the units that bend among few rows, and these are found from there (fit/deep/rounding.h). Features
// too many do no harm: nothing stands on them.
//
// lower: V_1, ..., V_{D-1}. The relative error of what is returned is that of the rows that were polished on.
[[nodiscard]] Polished peel(const Form& lower, Index width, const DeepData& data, std::uint64_t seed,
                            const Control& control);

// A first layer that is known, and the search above it.
class KnownLayers {
 public:
  explicit KnownLayers(Trials& trials) : trials_(trials) {}

  // The first layer is given, up to scale and sign: searches until the network is found or time ends.
  void search_above(const Matrix& first);
  // Keeps the first layer of a polished student.
  void remember(const Polished& polished);
  // Searches above the units that students agree on, if there are any. number: of the student before.
  void search_above_recurring(std::uint64_t number);

 private:
  struct First {
    Matrix V;                   // rows of unit norm
    std::vector<Index> widths;  // of all layers of its student
    double error = 1;
    std::size_t student = 0;
  };

  [[nodiscard]] Matrix recurring() const;
  double polish_units_above(const Matrix& first, Index units, std::uint64_t number);

  Trials& trials_;
  std::vector<First> firsts_;
};

// Three hidden layers and more: the layers that students agree on, from the lowest one up.
//
//     students from nothing       -> units of layer 1 that two of them agree on
//     students on these           -> units of layer 2                     ... up to the last layer but one
//     a student on all of these   -> polish of all layers together
//
// The lower a layer the sooner it is learnt: at 1e-6 of the variance every unit of the first is known to
// three digits and few of the third are near anything. What is known is held, and the next student has fewer
// layers to learn. Beside the units that it holds, a layer has some to spare: those that nobody agreed on.
// Where the polish ends exact on all but some rows, all that it found is held and one more student learns
// what those rows show.
//
// Units of layer l agree where their q = P_{l-1} v are the same on rows, up to scale and sign: sin of the
// angle between them. One is taken over as the least-squares solution v of P_{l-1} v = q on the layers below,
// as they are known by then.
class LayerByLayer {
 public:
  explicit LayerByLayer(Trials& trials);

  // Students from nothing as the lesson says, then on what they agree on, and the polish of the last one.
  // Returns the error of the first.
  double run_round(const Lesson& lesson);

 private:
  // What a student, or a polish, says of every layer.
  struct Said {
    std::vector<Matrix> q;  // rows x units that were not held, columns of norm 1
    double error = 1;
    bool certain = false;  // exact on most rows: its units need no other's word
  };

  Student teach(const Lesson& lesson);
  void remember(const Form& form, const std::vector<Matrix>& held, double error, bool certain);
  [[nodiscard]] Matrix agreed_units(const Form& lower) const;
  [[nodiscard]] bool recurs(std::size_t said, std::size_t l, const Vector& q) const;
  [[nodiscard]] Lesson lesson_above(const Form& lower, const Lesson& lesson, Index beside) const;
  [[nodiscard]] Lesson lesson_beside(const Form& form, const Lesson& lesson) const;
  void polish_last(const Student& student, const Lesson& lesson);

  Trials& trials_;
  RowMatrix x_;               // rows on which units are compared
  std::vector<Said> said_;    // by increasing error
  std::uint64_t number_ = 0;  // of the next student
};

}  // namespace exhume
