// Move: what do answers look like between two places: straight with a bend, curved, in steps, or rough?
//
//   needs     the noise of answers along the shortest steps (extract/moves/probe.h)
//   asks      72 queries per length, at most 9 lengths; fewer where all places are told before; and 60
//             where steps were seen
//   time      three fits of 9 points per place and length
//   changes   nothing: what was seen is returned
//
// From each of a few places f is asked at nine points of a segment [-l, l] v, l growing fourfold, until
// it is no longer straight: off the best line by more than 60 times the noise. There, whatever the
// precision,
//
//     bend     a line with one kink leaves little, a cubic more         a network of ReLUs
//     curve    a cubic leaves little, a line with one kink more         tanh, GELU, kernels
//     step     a line with one jump leaves little                       trees, labels, inputs that are
//     rounded
//
// A step may also be two steep kinks close together, or a place where many things happen. So two steps
// are halved thirty times towards the larger change: what a continuous function then still changes by is
// nothing.
//
// Where none of them leaves little, l is halved a few times, so that the first of several kinks is alone.
// What
// is then still off a line, by as much as before, is rough: arithmetic of few digits, or noise.
#pragma once

#include <cstdint>

#include "extract/space.h"
#include "oracle/meter.h"

namespace exhume {

struct Shapes {
  int bends = 0, curves = 0, steps = 0, rough = 0;  // places
  int jumps = 0;         // of two of the steps: those that are as high on an interval 1e-9 as long
  double roughness = 0;  // of the rough ones, over the size of answers: the median
  [[nodiscard]] int told() const { return bends + curves + steps + rough; }
};

[[nodiscard]] Shapes tell_shapes(Meter& meter, const AnswerNoise& noise, std::uint64_t seed);

}  // namespace exhume
