#include "extract/climb.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/form_fit.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct PairsLimits {
  double queries_for_weight = 2;
};
constexpr PairsLimits kPairs;

// Which units are on, layer by layer: rows x k_l of 0 and 1.
std::vector<Matrix> units_on(const DeepForm& form, const RowMatrix& u) {
  std::vector<Matrix> out;
  RowMatrix h = u;
  for (const Matrix& V : form.V) {
    const RowMatrix z = layer_values(V, h);
    out.emplace_back((z.array() > 0).cast<double>());
    h = z.cwiseMax(0.0);
  }
  return out;
}

}  // namespace

std::vector<Index> where_pairs_act(const DeepForm& form, const RowMatrix& candidates, const RowMatrix& asked,
                                   double each) {
  const std::vector<Matrix> on = units_on(form, candidates), had = units_on(form, asked);
  std::vector<bool> chosen(static_cast<std::size_t>(candidates.rows()), false);
  for (std::size_t l = 0; l < on.size(); ++l) {
    // A unit that is on at few queries: as many as it has weights, and some more.
    const double wanted = kPairs.queries_for_weight * static_cast<double>(form.V[l].cols());
    for (Index i = 0; i < on[l].cols(); ++i) {
      double missing = wanted - had[l].col(i).sum();
      for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
        if (on[l](r, i) == 0) continue;
        chosen[static_cast<std::size_t>(r)] = true;
        --missing;
      }
      // The bias of one that is never off is told from nothing else.
      missing = each - (static_cast<double>(asked.rows()) - had[l].col(i).sum());
      for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
        if (on[l](r, i) != 0) continue;
        chosen[static_cast<std::size_t>(r)] = true;
        --missing;
      }
    }
    if (l == 0) continue;
    const Matrix together = had[l].transpose() * had[l - 1];
    for (Index i = 0; i < together.rows(); ++i) {
      for (Index j = 0; j < together.cols(); ++j) {
        double missing = each - together(i, j);
        for (Index r = 0; r < candidates.rows() && missing > 0; ++r) {
          if (on[l](r, i) * on[l - 1](r, j) == 0) continue;
          chosen[static_cast<std::size_t>(r)] = true;
          --missing;
        }
      }
    }
  }
  std::vector<Index> rows;
  for (Index r = 0; r < candidates.rows(); ++r)
    if (chosen[static_cast<std::size_t>(r)]) rows.push_back(r);
  return rows;
}

namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct ClimbLimits {
  Index drawn = 200;  // places from which ascents start
  std::size_t starts = 3;
  int steps = 40;
  double first_step = 0.5, last_step = 0.02;  // over the radius
  double within = 0.97;                       // of a box
  double most_on_alone = 3,
         off = 4;                 // units of a layer that are on alone beyond two, and weight of the others
  double less = 0.1, lesser = 3;  // how much less of two units the lower one is on, and how often
};
constexpr ClimbLimits kClimb;

// Values z_l of a plain form's layer, l from 1, and their slopes: k x s.
struct LayerAt {
  Vector z;
  Matrix slopes;
};
LayerAt layer_at(const DeepForm& form, std::size_t l, const Vector& u) {
  const Matrix& first = form.V.front();
  LayerAt at{first.leftCols(u.size()) * u + first.col(u.size()), first.leftCols(u.size())};
  for (std::size_t i = 1; i < l; ++i) {
    const Matrix& V = form.V[i];
    const Index k = V.cols() - 1;
    const Vector on = (at.z.array() > 0).cast<double>();
    at = {V.leftCols(k) * at.z.cwiseMax(0) + V.col(k), V.leftCols(k) * (on.asDiagonal() * at.slopes)};
  }
  return at;
}

// w.max(z, 0).
SignFreeLayers::Value sum_of_layer(const DeepForm& form, std::size_t l, const Vector& w, const Vector& u) {
  const LayerAt at = layer_at(form, l, u);
  const Vector on = (at.z.array() > 0).cast<double>();
  return {w.dot(at.z.cwiseMax(0)), at.slopes.transpose() * w.cwiseProduct(on)};
}

// The lesser of side z_i of layer l and z_j / ratio of the layer below, each over its slope's size.
struct Pair {
  std::size_t layer;
  Index unit, below;
  double side, ratio;
};
SignFreeLayers::Value both_of(const DeepForm& form, const Pair& pair, const Vector& u) {
  const LayerAt lower = layer_at(form, pair.layer - 1, u), upper = layer_at(form, pair.layer, u);
  const Vector b = lower.slopes.row(pair.below).transpose();
  Vector a = upper.slopes.row(pair.unit).transpose();
  double z = upper.z(pair.unit);
  // The weight in query may be wrong: without it.
  if (lower.z(pair.below) > 0) {
    const double weight = form.V[pair.layer - 1](pair.unit, pair.below);
    a -= weight * b;
    z -= weight * lower.z(pair.below);
  }
  a *= pair.side;
  const double za = pair.side * z / std::max(a.norm(), kTiny),
               zb = lower.z(pair.below) / (pair.ratio * std::max(b.norm(), kTiny));
  return za < zb ? SignFreeLayers::Value{za, a} : SignFreeLayers::Value{zb, b};
}

}  // namespace

Vector place_of_most(const Space& space, const QueryEvidence& evidence, const Climbed& value,
                     std::uint64_t seed, double farther) {
  const RowMatrix drawn = places_about(space, evidence, seed, 0, kClimb.drawn);
  std::vector<std::pair<double, Index>> order;
  double radius = 0;
  for (Index i = 0; i < drawn.rows(); ++i) {
    order.emplace_back(-value(drawn.row(i).transpose()).z, i);
    radius = std::max(radius, (drawn.row(i).transpose() - space.middle()).norm());
  }
  std::sort(order.begin(), order.end());
  radius *= farther;
  const auto inside = [&](Vector u) -> Vector {
    Vector away = u - space.middle();
    if (space.bounded() && space.whole) {
      const Box& box = space.frame->box();
      const double wall = (1 - kClimb.within) * (box.high - box.low) / 2;
      return u.cwiseMax(box.low + wall).cwiseMin(box.high - wall);
    } else {
      double far = radius;
      if (space.bounded())
        far = std::min(far, kClimb.within * space.reach(space.middle(), away.normalized()));
      if (away.norm() > far) away *= far / away.norm();
    }
    return space.middle() + away;
  };
  Vector best;
  double most = 0;
  for (std::size_t start = 0; start < std::min(kClimb.starts, order.size()); ++start) {
    Vector u = drawn.row(order[start].second).transpose();
    for (int step = 0; step <= kClimb.steps; ++step) {
      const SignFreeLayers::Value here = value(u);
      if (best.size() == 0 || here.z > most) most = here.z, best = u;
      const double size = here.slope.norm();
      if (!(size > kTiny)) break;
      const double length = kClimb.first_step * std::pow(kClimb.last_step / kClimb.first_step,
                                                         static_cast<double>(step) / kClimb.steps);
      u = inside(u + length * radius * here.slope / size);
    }
  }
  return best;
}

Vector place_of_most(const Space& space, const QueryEvidence& evidence, const SignFreeLayers& below,
                     const Vector& row, std::uint64_t seed, double farther) {
  return place_of_most(
      space, evidence, [&](const Vector& u) { return below.value(row, u); }, seed, farther);
}

RowMatrix climbs(const Space& space, const QueryEvidence& evidence, const DeepForm& form, std::uint64_t seed,
                 Index count) {
  const std::size_t layers = form.depth() - 1;
  RowMatrix out(layers == 0 ? 0 : count, form.inputs);
  for (Index i = 0; i < out.rows(); ++i) {
    const std::size_t l = 1 + static_cast<std::size_t>(i) % layers;
    const auto number = static_cast<std::uint64_t>(i);
    const Index k = form.V[l - 1].rows();
    const Stream random(seed, "extract climbs");
    RowMatrix w(1, k);
    random.fill_normal(number, w);
    if (i / static_cast<Index>(layers) % 2 == 1) {
      // One unit after the other; then the first few of a random order.
      const Index turn = i / static_cast<Index>(layers) / 2;
      if (turn < k) w(0, turn) = w.minCoeff() - 1;
      std::vector<Index> order(static_cast<std::size_t>(k));
      std::iota(order.begin(), order.end(), Index{0});
      std::sort(order.begin(), order.end(), [&](Index a, Index b) { return w(0, a) < w(0, b); });
      w = w.cwiseAbs().eval();
      const Index on =
          turn < k ? 1 : 2 + static_cast<Index>(random.uniforms(number, 1).first * kClimb.most_on_alone);
      for (Index q = on; q < k; ++q) w(0, order[static_cast<std::size_t>(q)]) = -kClimb.off;
    }
    const Vector along = w.row(0);
    out.row(i) = place_of_most(
                     space, evidence, [&](const Vector& u) { return sum_of_layer(form, l, along, u); },
                     sub_seed(seed, "climb", number))
                     .transpose();
  }
  return out;
}

RowMatrix climbs_of_pairs(const Space& space, const QueryEvidence& evidence, const DeepForm& form,
                          const RowMatrix& asked, double each, std::uint64_t seed, Index most) {
  std::vector<Vector> found;
  RowMatrix h = asked;
  Matrix below_on;
  std::uint64_t number = 0;
  for (std::size_t l = 1; l <= form.depth(); ++l) {
    const Matrix& V = form.V[l - 1];
    const RowMatrix z = layer_values(V, h);
    const Matrix on = (z.array() > 0).cast<double>(), off = (z.array() <= 0).cast<double>();
    if (l > 1) {
      const Matrix both = on.transpose() * below_on, other = off.transpose() * below_on;
      for (Index i = 0; i < both.rows(); ++i) {
        for (Index j = 0; j < both.cols(); ++j) {
          for (const double side : {1.0, -1.0}) {
            const double missing = each - (side > 0 ? both(i, j) : other(i, j));
            for (double q = 0; q < missing && static_cast<Index>(found.size()) < most; ++q) {
              // The lower unit on by less and less: where a wrong weight on it does not turn the upper one
              // off.
              const Pair pair{l, i, j, side, std::pow(kClimb.less, std::fmod(q, kClimb.lesser))};
              const auto value = [&](const Vector& u) { return both_of(form, pair, u); };
              const Vector u = place_of_most(space, evidence, value, sub_seed(seed, "pair", number++));
              if (!(value(u).z > 0)) break;  // nowhere
              found.push_back(u);
            }
          }
        }
      }
    }
    below_on = on;
    h = z.cwiseMax(0.0);
  }
  RowMatrix out(static_cast<Index>(found.size()), form.inputs);
  for (std::size_t i = 0; i < found.size(); ++i) out.row(static_cast<Index>(i)) = found[i].transpose();
  return out;
}

RowMatrix climbs_of_change(const Space& space, const QueryEvidence& evidence, const DeepForm& form,
                           const Matrix& change, std::uint64_t seed) {
  const std::size_t depth = form.depth();
  const Matrix& V = form.V.back();
  const Index k = V.cols() - 1, units = V.rows();
  // Several outputs: along a random one.
  Vector outward = form.C.topRows(units).col(0);
  if (form.C.cols() > 1)
    outward = form.C.topRows(units) * Stream(seed, "extract outputs").normal_matrix(form.C.cols(), 1).col(0);
  // The unit that changes most.
  Index most = 0;
  change.rowwise().norm().maxCoeff(&most);
  struct At {
    Vector h, z;
    Matrix slopes;  // of h
  };
  const auto at = [&](const Vector& u) {
    At out{u, {}, Matrix::Identity(u.size(), u.size())};
    if (depth > 1) {
      const LayerAt below = layer_at(form, depth - 1, u);
      const Vector on = (below.z.array() > 0).cast<double>();
      out.h = below.z.cwiseMax(0);
      out.slopes = on.asDiagonal() * below.slopes;
    }
    out.z = V.leftCols(k) * out.h + V.col(k);
    return out;
  };
  RowMatrix out(6, form.inputs);
  for (Index which = 0; which < out.rows(); ++which) {
    const double side = which % 2 == 0 ? 1 : -1;
    // All of the change; or that of one unit, where it is on, and where it is off.
    const auto all = [&](const Vector& u) -> SignFreeLayers::Value {
      const At here = at(u);
      const Vector on = (here.z.array() > 0).cast<double>();
      const Vector w = side * outward.cwiseProduct(on);
      return {w.dot(change.leftCols(k) * here.h + change.col(k)),
              here.slopes.transpose() * (change.leftCols(k).transpose() * w)};
    };
    const auto one = [&](const Vector& u) -> SignFreeLayers::Value {
      const At here = at(u);
      const double turned = which < 4 ? 1 : -1;
      const Vector a = turned * (here.slopes.transpose() * V.row(most).head(k).transpose()),
                   b = side * (here.slopes.transpose() * change.row(most).head(k).transpose());
      const double za = turned * here.z(most) / std::max(a.norm(), kTiny),
                   zb = side * (change.row(most).head(k).dot(here.h) + change(most, k)) /
                        (kClimb.less * std::max(b.norm(), kTiny));
      return za < zb ? SignFreeLayers::Value{za, a} : SignFreeLayers::Value{zb, b};
    };
    const Climbed value = which < 2 ? Climbed(all) : Climbed(one);
    out.row(which) = place_of_most(space, evidence, value, sub_seed(seed, "change", which)).transpose();
  }
  return out;
}

}  // namespace exhume
