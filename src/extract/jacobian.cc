#include "extract/jacobian.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct JacobianLimits {
  int tries = 6;
  double shrink = 0.1;
  // The check adds s differences: tolerance in multiples of one answer's noise, and of s^(1/2).
  double deviations = 10;
};
constexpr JacobianLimits kJacobian;

// h or -h, or less where the box is nearer than that on both sides.
double allowed(const Space& space, const Vector& u, const Vector& v, double h) {
  const double ahead = space.reach(u, v);
  if (ahead >= h) return h;
  const double behind = space.reach(u, -v);
  if (behind >= h) return -h;
  return ahead > behind ? ahead : -behind;
}

}  // namespace

std::vector<LocalLinear> jacobians(const AskNoisy& ask, const Space& space, const RowMatrix& points,
                                   const Vector& steps, std::uint64_t seed) {
  const Index n = points.rows(), s = points.cols();
  const Stream random(seed, "jacobian checks");
  std::vector<LocalLinear> out(static_cast<std::size_t>(n));
  std::vector<Index> open(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) {
    open[static_cast<std::size_t>(i)] = i;
    out[static_cast<std::size_t>(i)].point = points.row(i);
    out[static_cast<std::size_t>(i)].step = steps(i);
  }
  for (int round = 0; round < kJacobian.tries && !open.empty(); ++round) {
    const auto count = static_cast<Index>(open.size());
    RowMatrix u(count * (s + 2), s);
    Matrix moved(count, s + 1);  // the steps, then the length of the check
    RowMatrix check(count, s);   // directions
    for (Index o = 0; o < count; ++o) {
      const LocalLinear& at = out[static_cast<std::size_t>(open[static_cast<std::size_t>(o)])];
      const Index first = o * (s + 2);
      u.middleRows(first, s + 2).rowwise() = at.point.transpose();
      for (Index a = 0; a < s; ++a) {
        moved(o, a) = allowed(space, at.point, Vector::Unit(s, a), at.step);
        u(first + 1 + a, a) += moved(o, a);
        const auto row = static_cast<std::uint64_t>((round * n + open[static_cast<std::size_t>(o)]) * s + a);
        check(o, a) = random.uniforms(row, 0).first < 0.5 ? -1 : 1;
      }
      moved(o, s) = allowed(space, at.point, check.row(o).transpose(), at.step);
      u.row(first + 1 + s) += moved(o, s) * check.row(o);
    }
    const NoisyAnswers answers = ask(u);
    std::vector<Index> again;
    for (Index o = 0; o < count; ++o) {
      LocalLinear& at = out[static_cast<std::size_t>(open[static_cast<std::size_t>(o)])];
      const Index first = o * (s + 2);
      at.value = answers.values.row(first);
      at.jacobian.resize(answers.values.cols(), s);
      for (Index a = 0; a < s; ++a)
        at.jacobian.col(a) = (answers.values.row(first + 1 + a).transpose() - at.value) / moved(o, a);
      const Vector foretold = at.value + moved(o, s) * at.jacobian * check.row(o).transpose();
      const double noise = answers.noise.segment(first, s + 2).maxCoeff();
      const double gap = (answers.values.row(first + 1 + s).transpose() - foretold).cwiseAbs().maxCoeff();
      at.agreed = gap <= kJacobian.deviations * std::sqrt(static_cast<double>(s)) * noise;
      if (at.agreed) continue;
      at.step *= kJacobian.shrink;
      again.push_back(open[static_cast<std::size_t>(o)]);
    }
    open = std::move(again);
  }
  return out;
}

}  // namespace exhume
