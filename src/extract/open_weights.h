// Do the questions that were asked determine the weights of a deep network? A network may answer all of them and still
// hold a weight that none of them sees: that of a unit on another which bends where nobody asked.
#pragma once

#include <vector>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/samples.h"

namespace exhume {

// Of every hidden layer the smallest singular value of the Jacobian at the questions, in units of the outputs' spread,
// rows of unit norm, the last layer projected out (fit/deep/determined.h). The network has no skip terms. Where some
// of the questions show `enough` in every layer the others are not looked at.
[[nodiscard]] std::vector<double> seen_by_questions(const Network& network, const SampleSource& questions,
                                                    double enough, const Control& control);

}  // namespace exhume
