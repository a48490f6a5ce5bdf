// Where queries are asked: the subspace of a frame, or the inputs themselves; and how exact answers are
// there.
//
//     subspace     u in R^s,    x = x0 + B^T u
//     inputs       u = x in R^d
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "oracle/meter.h"

namespace exhume {

// An answer y is off by at most relative * max(|y|, typical) + absolute, give or take a small factor:
// rounding inside the oracle, and of what it gives out.
struct AnswerNoise {
  double relative = 4e-16;
  double absolute = 0;
  double typical = 0;  // size of the terms that outputs are made of, near the middle of the domain

  [[nodiscard]] double at(double size) const { return relative * std::max(size, typical) + absolute; }
};

// Answers, or those of a model, with what each may be off by.
struct NoisyAnswers {
  RowMatrix values;  // n x m
  Vector noise;      // n
};
using AskNoisy = std::function<NoisyAnswers(const RowMatrix& u)>;

// From one place to another.
using Segment = std::pair<Vector, Vector>;

// A seed for one purpose, and a position within it.
[[nodiscard]] inline std::uint64_t sub_seed(std::uint64_t seed, std::string_view purpose,
                                            std::integral auto position) {
  return Stream(seed, purpose).bits(static_cast<std::uint64_t>(position), 0);
}
[[nodiscard]] inline std::uint64_t sub_seed(std::uint64_t seed, std::string_view purpose) {
  return sub_seed(seed, purpose, 0);
}

struct Space {
  Meter* meter = nullptr;
  const Frame* frame = nullptr;
  AnswerNoise noise;
  bool whole = false;  // the inputs themselves

  [[nodiscard]] Index dimensions() const { return whole ? frame->inputs() : frame->dimensions(); }
  [[nodiscard]] bool bounded() const { return frame->box().bounded(); }
  [[nodiscard]] Vector middle() const { return whole ? frame->origin() : Vector(Vector::Zero(dimensions())); }
  // What an answer of this size at u may be off by. The terms it is made of grow with the distance from the
  // middle, beyond that of normal inputs, where the noise was measured: far out large ones may cancel to a
  // small answer.
  [[nodiscard]] double noise_at(const Vector& u, double size) const {
    if (bounded()) return noise.at(size);
    const double far = (u - middle()).norm() / std::sqrt(static_cast<double>(frame->inputs()));
    return noise.at(std::max(size, noise.typical * far));
  }
  // Answers at the rows of u: n x m.
  [[nodiscard]] RowMatrix ask(QueryStage stage, const RowMatrix& u) const {
    return meter->ask(stage, whole ? plain_rows(u) : in_subspace(u, frame->turn()));
  }
  // The same with their noise.
  [[nodiscard]] NoisyAnswers ask_noisy(QueryStage stage, const RowMatrix& u) const {
    NoisyAnswers out{ask(stage, u), Vector(u.rows())};
    for (Index i = 0; i < u.rows(); ++i) out.noise(i) = noise.at(out.values.row(i).cwiseAbs().maxCoeff());
    return out;
  }
  [[nodiscard]] AskNoisy asking(QueryStage stage) const {
    return [this, stage](const RowMatrix& u) { return ask_noisy(stage, u); };
  }
  // Whether their rows are places u of this space.
  [[nodiscard]] bool holds(const Queries& queries) const {
    return queries.plain == whole && queries.direction.empty() &&
           (whole || (queries.turn == frame->turn() && queries.rows.cols() == dimensions()));
  }
  // The largest t with u + t v still in the box; infinity where there is none.
  [[nodiscard]] double reach(const Vector& u, const Vector& v) const {
    return whole ? frame->reach_from(u, v) : frame->reach_within(u, v);
  }
};

// Adds rows below those of `to`.
inline void append_rows(RowMatrix& to, const RowMatrix& more) {
  const Index have = to.rows();
  to.conservativeResize(have + more.rows(), more.cols());
  to.bottomRows(more.rows()) = more;
}
[[nodiscard]] inline RowMatrix as_rows(const std::vector<Vector>& list, Index columns) {
  RowMatrix out(static_cast<Index>(list.size()), columns);
  for (std::size_t i = 0; i < list.size(); ++i) out.row(static_cast<Index>(i)) = list[i].transpose();
  return out;
}

}  // namespace exhume
