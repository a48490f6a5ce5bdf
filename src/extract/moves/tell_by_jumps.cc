#include "extract/moves/tell_by_jumps.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "extract/climb.h"
#include "extract/moves/assemble_network.h"
#include "extract/moves/polish.h"
#include "extract/moves/resolve_signs.h"
#include "extract/moves/two_layers_in_box.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct TellByJumpsLimits {
  Index many_outputs = 3;
  int corner_rounds = 4, jump_rounds = 12;
  double same_jump = 1e-7;       // error of a normal that is used
  double same_direction = 1e-5;  // of jumps of one unit
  double exact_start = 1e-8;     // share of the variance that rows from kinks leave where none is missing
  double far_queries = 40;       // at which both units of a weight are on, of far places that were asked
  double polish_share = 2;       // equations per unknown
  std::size_t worst = 2;         // lines to where most is left, in one pass
};
constexpr TellByJumpsLimits kJumps;

// Units of the last hidden layer by the directions of their jumps.
std::vector<FoundUnit> units_by_jumps(const std::vector<Kink>& kinks) {
  std::vector<FoundUnit> units;
  std::vector<bool> used(kinks.size(), false);
  for (std::size_t i = 0; i < kinks.size(); ++i) {
    if (used[i] || !(kinks[i].error < kJumps.same_jump)) continue;
    FoundUnit unit{{}, {kinks[i]}, {}, 1, {}};
    const Vector along = kinks[i].jump.normalized();
    for (std::size_t j = i + 1; j < kinks.size(); ++j) {
      const Vector across = kinks[j].jump - along.dot(kinks[j].jump) * along;
      if (used[j] || !(kinks[j].error < kJumps.same_jump) ||
          across.norm() > kJumps.same_direction * kinks[j].jump.norm())
        continue;
      used[j] = true;
      unit.kinks.push_back(kinks[j]);
    }
    if (unit.kinks.size() > 1) units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace

bool jumps_tell_units(const LayerSearch& search) { return search.outputs() >= kJumps.many_outputs; }

bool find_box_network(LayerSearch& search) {
  Hypothesis& known = search.hypothesis;
  const JumpLayers found = find_two_layers_in_box(search.space, search.seed, search.evidence, known.planes);
  known.widths = found.widths;
  if (found.form.V.empty()) return false;
  // Planes through all their kinks are as sharp as answers are; the layers above follow from far places.
  DeepForm start = found.form;
  start.given = 1;
  const Index first = std::min(
      found.u.rows(), static_cast<Index>(kJumps.polish_share * static_cast<double>(start.V.back().size())));
  const std::vector<Index> rare = where_pairs_act(start, found.u, found.u.topRows(first), kJumps.far_queries);
  search.evidence.u = found.u.topRows(first);
  search.evidence.y = found.y.topRows(first);
  append_rows(search.evidence.u, found.u(rare, Eigen::all));
  append_rows(search.evidence.y, found.y(rare, Eigen::all));
  if (!polish_network(search, start)) return false;
  known.network.given = 0;
  return true;
}

void find_planes_in_corners(LayerSearch& search, const PlanesOptions& lines) {
  Matrix& planes = search.hypothesis.planes;
  for (int round = 0; round < kJumps.corner_rounds; ++round) {
    const Index before = planes.rows();
    std::vector<Segment> through;
    for (const Vector& w : signs_from_jacobians(planes, search.evidence.jacobians).left)
      through.push_back(corners_along(search.space, w));
    find_planes_along(search.space, lines, std::move(through), search.evidence, planes);
    if (planes.rows() == before) return;
  }
}

bool find_two_layers(LayerSearch& search, const PlanesOptions& lines) {
  Hypothesis& known = search.hypothesis;
  QueryEvidence& evidence = search.evidence;
  const Index m = search.outputs(), s = search.dimensions();
  for (int round = 0; round < kJumps.jump_rounds; ++round) {
    const SignsFromJacobians first = signs_from_jacobians(known.planes, evidence.jacobians);
    const std::vector<FoundUnit> units = units_by_jumps(evidence.kinks);
    if (first.signs.size() == 0 || units.empty()) return false;
    const Index k = known.planes.rows();
    const auto unknowns = static_cast<double>(k * (s + 1) + static_cast<Index>(units.size()) * (k + 1 + m));
    fill_sample(search, kJumps.polish_share * unknowns / static_cast<double>(m) + static_cast<double>(k + s));
    const DeepForm plain = assemble_network(known.planes, {units}, evidence.u, evidence.y, first.signs);
    if (plain.V.empty()) return false;
    const RowMatrix centred = evidence.y.rowwise() - evidence.y.colwise().mean();
    const double left =
        (evidence.y - evaluate(plain, evidence.u)).squaredNorm() / std::max(centred.squaredNorm(), kTiny);
    if (left < kJumps.exact_start) {
      if (!polish_network(search, plain)) return false;
      ask_where_pairs_act(search);
      polish_on_all_queries(search);
      if (!add_surprises(search)) return true;
    }
    known.fitted = plain;
    std::vector<Segment> through = lines_to_worst(search);
    if (through.empty()) return false;
    const std::size_t kinks = evidence.kinks.size();
    find_planes_along(search.space, lines, std::move(through), evidence, known.planes);
    if (known.planes.rows() > k) {
      known.start_over();
    } else if (evidence.kinks.size() == kinks) {
      return false;
    }
  }
  return false;
}

std::vector<Segment> lines_to_worst(LayerSearch& search) {
  const RowMatrix& u = search.evidence.u;
  std::vector<Segment> out;
  if (search.hypothesis.fitted.C.size() == 0) return out;
  const Vector left = (search.evidence.y - evaluate(search.hypothesis.fitted, u)).rowwise().norm();
  std::vector<Index> order(static_cast<std::size_t>(left.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return left(i) < left(j); });
  auto& drawn = search.evidence.drawn;
  for (std::size_t i = 0; i < std::min(kJumps.worst, order.size() / 2); ++i) {
    Segment line{u.row(order[i]).transpose(), u.row(order[order.size() - 1 - i]).transpose()};
    if (std::find(drawn.begin(), drawn.end(), line) == drawn.end()) out.push_back(std::move(line));
  }
  drawn.insert(drawn.end(), out.begin(), out.end());
  return out;
}

}  // namespace exhume
