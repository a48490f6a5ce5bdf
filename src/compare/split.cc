#include "compare/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "exhume/error.h"

namespace exhume {
namespace {

// Boxes that are cut in one round, whatever the number of threads: enough work for some dozen of them.
constexpr std::size_t kRound = 32;
// Leaves that are bounded at once when a tree is checked.
constexpr std::size_t kChunk = 4096;

struct OpenBox {
  double upper = 0;
  Index node = 0;
  Vector low, high;
  Index cut = 0;  // along this input
};

struct WorseFirst {
  bool operator()(const OpenBox& a, const OpenBox& b) const {
    return a.upper != b.upper ? a.upper < b.upper : a.node > b.node;
  }
};

struct TreeNode {
  Index cut = -1, left = -1, right = -1;
};

// The input whose splitting removes most; the widest where none would, -1 where nothing is left to cut.
Index cut_of(const BoxBound& bound, const Vector& low, const Vector& high) {
  Index best = -1;
  double most = -1;
  const double scale = bound.influence.size() > 0 ? bound.influence.maxCoeff() : 0;
  for (Index i = 0; i < low.size(); ++i) {
    const double middle = middle_of(low(i), high(i));
    if (!(middle > low(i) && middle < high(i))) continue;
    const double score = scale > 0 ? bound.influence(i) : high(i) - low(i);
    if (score > most) {
      most = score;
      best = i;
    }
  }
  return best;
}

std::string written(const std::vector<TreeNode>& nodes) {
  std::string text;
  std::vector<Index> open = {0};
  while (!open.empty()) {
    const TreeNode& node = nodes[static_cast<std::size_t>(open.back())];
    open.pop_back();
    if (!text.empty()) text += ' ';
    if (node.cut < 0) {
      text += '.';
      continue;
    }
    text += std::to_string(node.cut);
    open.push_back(node.right);
    open.push_back(node.left);
  }
  return text;
}

}  // namespace

SplitResult split(const PairBounds& pair, const Vector& low, const Vector& high, const Vector& start,
                  const SureDifference& difference, const SplitOptions& options, const Control& control) {
  SplitResult out;
  std::vector<TreeNode> nodes(1);
  std::priority_queue<OpenBox, std::vector<OpenBox>, WorseFirst> open;
  double settled = 0;  // largest bound of a leaf that cannot be cut
  const auto look = [&](const RowMatrix& points) {
    if (points.rows() == 0) return;
    const Vector found = difference(points);
    Index at = 0;
    const double most = found.maxCoeff(&at);
    if (most > out.lower || out.worst.size() == 0) {
      out.lower = std::max(out.lower, most);
      out.worst = points.row(at);
    }
  };
  const BoxBound whole = pair.bound(low, high);
  out.boxes = 1;
  RowMatrix first(start.size() > 0 ? 2 : 1, low.size());
  first.row(0) = whole.corner;
  if (start.size() > 0) first.row(1) = start;
  look(first);
  const auto keep = [&](OpenBox box) {
    if (box.cut < 0) {
      settled = std::max(settled, box.upper);
    } else {
      open.push(std::move(box));
    }
  };
  const auto number = [](double value) {
    return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
  };
  keep({number(whole.upper), 0, low, high, cut_of(whole, low, high)});
  while (true) {
    out.upper = std::max(settled, open.empty() ? 0.0 : open.top().upper);
    if (open.empty() || open.top().upper <= settled) break;
    if (out.upper <= options.accept || out.lower > options.refuse) break;
    if (out.upper <= options.ratio * out.lower || out.boxes >= options.boxes) break;
    if (out.lower > options.accept && out.boxes >= options.boxes_decided) break;
    if (control.out_of_time()) break;
    control.check();
    control.report("proof",
                   std::min(1.0, static_cast<double>(out.boxes) / static_cast<double>(options.boxes)));
    std::vector<OpenBox> parents;
    const double enough = std::max(options.accept, options.ratio * out.lower);
    while (!open.empty() && parents.size() < kRound && open.top().upper > enough) {
      parents.push_back(open.top());
      open.pop();
    }
    std::vector<OpenBox> children(2 * parents.size());
    RowMatrix points(2 * static_cast<Index>(parents.size()), low.size());
    parallel_for(static_cast<Index>(children.size()), control, [&](Index c) {
      const OpenBox& parent = parents[static_cast<std::size_t>(c / 2)];
      OpenBox& child = children[static_cast<std::size_t>(c)];
      child.low = parent.low;
      child.high = parent.high;
      const double middle = middle_of(parent.low(parent.cut), parent.high(parent.cut));
      (c % 2 == 0 ? child.high : child.low)(parent.cut) = middle;
      const BoxBound bound = pair.bound(child.low, child.high);
      child.upper = std::min(number(bound.upper), parent.upper);
      child.cut = cut_of(bound, child.low, child.high);
      points.row(c) = bound.corner;
    });
    for (std::size_t p = 0; p < parents.size(); ++p) {
      const auto at = static_cast<Index>(nodes.size());
      TreeNode& node = nodes[static_cast<std::size_t>(parents[p].node)];
      node = {parents[p].cut, at, at + 1};
      nodes.emplace_back();
      nodes.emplace_back();
      for (std::size_t side = 0; side < 2; ++side) {
        OpenBox& child = children[2 * p + side];
        child.node = at + static_cast<Index>(side);
        keep(std::move(child));
      }
    }
    out.boxes += static_cast<Index>(children.size());
    control.spend(static_cast<double>(children.size()) * pair.cost());
    look(points);
  }
  out.upper = std::max(out.upper, out.lower);
  out.leaves = static_cast<Index>((nodes.size() + 1) / 2);
  out.tree = written(nodes);
  return out;
}

double bound_of_leaves(const PairBounds& pair, const Vector& low, const Vector& high, const std::string& tree,
                       double target, const Control& control) {
  struct Half {
    Index cut;
    bool upper;
  };
  struct Place {
    Vector low, high;
    std::vector<Half> path;
  };
  const auto halve = [](Vector& from, Vector& to, const Half& half) {
    const double middle = middle_of(from(half.cut), to(half.cut));
    (half.upper ? from : to)(half.cut) = middle;
  };
  const auto broken = [] { return DataError("the tree of boxes is not one that divides the domain"); };
  std::vector<Place> open = {{low, high, {}}}, leaves;
  double upper = 0;
  const auto bound_of = [&](const Place& leaf) {
    double least = pair.bound(leaf.low, leaf.high).upper;
    if (std::isnan(least)) least = std::numeric_limits<double>::infinity();
    for (std::size_t up = leaf.path.size(); up-- > 0 && least > target;) {
      Vector from = low, to = high;
      for (std::size_t k = 0; k < up; ++k) halve(from, to, leaf.path[k]);
      const double around = pair.bound(from, to).upper;
      if (around < least) least = around;
    }
    return least;
  };
  const auto finish = [&] {
    Vector found(static_cast<Index>(leaves.size()));
    parallel_for(found.size(), control,
                 [&](Index i) { found(i) = bound_of(leaves[static_cast<std::size_t>(i)]); });
    upper = std::max(upper, found.maxCoeff());
    leaves.clear();
    control.check();
  };
  for (std::size_t at = 0; at < tree.size();) {
    if (open.empty()) throw broken();
    Place place = std::move(open.back());
    open.pop_back();
    const std::size_t end = std::min(tree.find(' ', at), tree.size());
    const std::string word = tree.substr(at, end - at);
    at = end + 1;
    if (word == ".") {
      leaves.push_back(std::move(place));
      if (leaves.size() == kChunk) finish();
      continue;
    }
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos)
      throw broken();
    const Index cut = std::stol(word);
    if (cut >= low.size()) throw broken();
    Place right = place;
    place.path.push_back({cut, false});
    right.path.push_back({cut, true});
    halve(place.low, place.high, place.path.back());
    halve(right.low, right.high, right.path.back());
    open.push_back(std::move(right));
    open.push_back(std::move(place));
  }
  if (!open.empty()) throw broken();
  if (!leaves.empty()) finish();
  return upper;
}

}  // namespace exhume
