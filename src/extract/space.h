// Where questions are asked: the subspace of a frame, or the inputs themselves.
//
//     subspace     u in R^s,    x = x0 + B^T u
//     inputs       u = x in R^d
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "extract/noise.h"
#include "oracle/meter.h"

namespace exhume {

// Answers with what each may be off by.
struct NoisyAnswers {
  RowMatrix values;  // n x m
  Vector noise;      // n
};
using AskNoisy = std::function<NoisyAnswers(const RowMatrix& u)>;

struct Space {
  Meter* meter = nullptr;
  AnswerNoise noise;
  bool whole = false;  // the inputs themselves

  [[nodiscard]] Index dimensions() const {
    return whole ? meter->frame().inputs() : meter->frame().dimensions();
  }
  [[nodiscard]] bool bounded() const { return meter->frame().box().bounded(); }
  [[nodiscard]] Vector middle() const {
    return whole ? meter->frame().origin() : Vector(Vector::Zero(dimensions()));
  }
  // What an answer of this size at u may be off by. The terms it is made of grow with the distance from the middle, beyond that of
  // normal inputs, where the noise was measured: far out large ones may cancel to a small answer.
  [[nodiscard]] double noise_at(const Vector& u, double size) const {
    if (bounded()) return noise.at(size);
    const double far = (u - middle()).norm() / std::sqrt(static_cast<double>(meter->frame().inputs()));
    return noise.at(std::max(size, noise.typical * far));
  }
  // Answers at the rows of u: n x m.
  [[nodiscard]] RowMatrix ask(const std::string& stage, const RowMatrix& u) const {
    return meter->ask(stage, whole ? plain_rows(u) : in_subspace(u));
  }
  // Whether their rows are places u of this space.
  [[nodiscard]] bool holds(const Questions& questions) const {
    return questions.plain == whole && questions.direction.empty() &&
           (whole || (questions.turn == meter->frame().turn() && questions.rows.cols() == dimensions()));
  }
  // The largest t with u + t v still in the box; infinity where there is none.
  [[nodiscard]] double reach(const Vector& u, const Vector& v) const {
    return whole ? meter->frame().reach_from(u, v) : meter->frame().reach_within(u, v);
  }
};

}  // namespace exhume
