#include "judge/hinge_profiles.h"

#include <algorithm>
#include <cmath>

namespace exhume {
namespace {

constexpr double kReach = 3;         // standard deviations of z to either side of its mean
constexpr double kLeastRows = 0.41;  // at a node, shares added up: no whole number, which rounding could miss
constexpr double kRounding = 1e-9;   // of a place between nodes

struct Node {
  double rows = 0, at = 0, mean = 0, own = 0;
};

}  // namespace

std::vector<HingeProfile> hinge_profiles(const Network& network, const Rectifier& rectifier,
                                         const Eigen::Ref<const RowMatrix>& x,
                                         const Eigen::Ref<const RowMatrix>& y) {
  std::vector<HingeProfile> profiles;
  const Index n = x.rows(), k = network.hidden();
  if (n < 2 || k == 0) return profiles;
  const Matrix Z = (x * network.W().transpose()).rowwise() + network.b().transpose();
  Matrix S(n, k);
  activate(rectifier, Z, S);
  Matrix left = y - S * network.A().transpose();  // what the units leave, constant and linear term too
  left.rowwise() -= network.c().transpose();
  if (network.L().size() > 0) left -= x * network.L().transpose();
  const Vector spread = ((y.rowwise() - y.colwise().mean()).colwise().squaredNorm() / static_cast<double>(n))
                            .cwiseSqrt()
                            .transpose();
  for (Index j = 0; j < std::min(k, kProfiledUnits); ++j) {
    const Vector z = Z.col(j);
    const double middle = z.mean();
    const double sd = std::sqrt((z.array() - middle).square().mean());
    const double low = std::max(middle - kReach * sd, z.minCoeff());
    const double high = std::min(middle + kReach * sd, z.maxCoeff());
    if (!(high > low) || !std::isfinite(high - low)) continue;
    Index output = 0;
    (network.A().col(j).array().abs() / spread.array().max(1e-300)).maxCoeff(&output);
    std::vector<Node> nodes(static_cast<std::size_t>(kProfileNodes));
    const double step = (high - low) / static_cast<double>(kProfileNodes - 1);
    for (Index i = 0; i < n; ++i) {
      constexpr double kLast = static_cast<double>(kProfileNodes - 1);
      if (!((z(i) - low) / step > -kRounding && (z(i) - low) / step < kLast + kRounding)) continue;
      const double place = std::clamp((z(i) - low) / step, 0.0, kLast);
      const Index below = std::min(static_cast<Index>(place), kProfileNodes - 2);
      const double own = network.A()(output, j) * S(i, j), mean = left(i, output) + own;
      for (const Index at : {below, below + 1}) {
        const double share = 1 - std::abs(place - static_cast<double>(at));
        Node& node = nodes[static_cast<std::size_t>(at)];
        node.rows += share;
        node.at += share * z(i);
        node.mean += share * mean;
        node.own += share * own;
      }
    }
    std::erase_if(nodes, [](const Node& node) { return node.rows < kLeastRows; });
    const auto count = static_cast<Index>(nodes.size());
    HingeProfile profile{
        .unit = j, .output = output, .at = Vector(count), .mean = Vector(count), .own = Vector(count)};
    for (Index p = 0; p < count; ++p) {
      const Node& node = nodes[static_cast<std::size_t>(p)];
      profile.at(p) = node.at / node.rows;
      profile.mean(p) = node.mean / node.rows;
      profile.own(p) = node.own / node.rows;
    }
    if (count > 1) profiles.push_back(std::move(profile));
  }
  return profiles;
}

}  // namespace exhume
