#include "extract/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace exhume {
namespace {

// Distances over the distance from the middle and the scale. Chosen by experience on random and digit-trained
// networks; not derived.
struct KnownSurfaceLimits {
  double explained = 1e-5;                    // of a kink from a unit's surface
  double near_piece = 1e-2, parallel = 1e-4;  // and of a surface that is parallel there
  double beside = 0.1;                        // of two kinks that are one where they are parallel
  double rough = 1e-6;                        // of a place from the surface that it was met on, at most
};
constexpr KnownSurfaceLimits kSurfaces;

// Of the units above the first layer: whether `holds` of one of them, with its value and slope at u.
template <class Holds>
bool any_unit(const LayerSearch& search, const Vector& u, const Holds& holds) {
  const std::vector<Matrix>& layers = search.hypothesis.layers;
  for (std::size_t level = 1; level < layers.size(); ++level) {
    const SignFreeLayers under = search.hypothesis.below(level);
    for (Index j = 0; j < layers[level].rows(); ++j)
      if (holds(under.value(layers[level].row(j).transpose(), u))) return true;
  }
  return false;
}

}  // namespace

SignFreeLayers Hypothesis::below(std::size_t level) const {
  return {planes.cols() - 1, {layers.begin(), layers.begin() + static_cast<std::ptrdiff_t>(level)}};
}

std::vector<Index> Hypothesis::widths_so_far() const {
  if (plain) return network.widths();
  if (!widths.empty()) return widths;
  std::vector<Index> out;
  for (const Matrix& v : layers) out.push_back(v.rows());
  return out;
}

void Hypothesis::start_over() {
  layers.assign(1, planes);
  units.clear();
}

std::vector<Vector> Hypothesis::whole_rows(std::size_t level) const {
  std::vector<Vector> rows;
  if (level > 0 && layers.size() > level)
    for (const FoundUnit& unit : units[level - 1])
      if (unit.open == 0) rows.push_back(unit.row);
  return rows;
}

void Hypothesis::take_rows(std::vector<Matrix> rows) {
  for (std::size_t l = 0; l < rows.size(); ++l) {
    for (Index j = 0; j < rows[l].rows(); ++j) {
      const double size = rows[l].row(j).norm(), sign = rows[l].row(j).dot(layers[l].row(j)) < 0 ? -1 : 1;
      const double factor = sign * layers[l].row(j).norm() / std::max(size, kTiny);
      rows[l].row(j) *= factor;
      Index column = j;  // of |Q_l| in what lies above
      for (std::size_t above = l + 1; above < rows.size(); ++above) {
        rows[above].col(column) /= std::abs(factor);
        column += rows[above].rows();
      }
      if (l > 0) units[l - 1][static_cast<std::size_t>(j)].row = rows[l].row(j).transpose();
    }
  }
  layers = std::move(rows);
}

void Hypothesis::adopt(const DeepForm& answering) {
  nearly = answering;
  const DeepForm loose = to_sign_free_form(to_network(answering));
  for (std::size_t l = 0; l < layers.size(); ++l)
    if (loose.depth() != layers.size() || loose.V[l].rows() != layers[l].rows()) return;
  take_rows(loose.V);
}

bool is_explained(const LayerSearch& search, const Vector& u) {
  return any_unit(search, u, [&](const SignFreeLayers::Value& at) {
    return std::abs(at.z) <= kSurfaces.explained * at.slope.norm() * search.far(u);
  });
}

bool is_on_plane(const LayerSearch& search, const Vector& u) {
  const Matrix& V = search.hypothesis.layers.front();
  const Index s = u.size();
  return (V.leftCols(s) * u + V.col(s)).cwiseAbs().minCoeff() <= kSurfaces.explained * search.far(u);
}

bool is_on_known_piece(const LayerSearch& search, const Kink& kink) {
  return any_unit(search, kink.place, [&](const SignFreeLayers::Value& at) {
    const double size = at.slope.norm();
    const Vector across = at.slope - at.slope.dot(kink.normal) * kink.normal;
    return std::abs(at.z) <= kSurfaces.near_piece * size * search.far(kink.place) &&
           across.norm() <= kSurfaces.parallel * size;
  });
}

bool add_kink(LayerSearch& search, const Kink& kink) {
  std::vector<Kink>& kinks = search.evidence.kinks;
  const double scale = search.evidence.scale;
  const bool known =
      is_on_plane(search, kink.place) || is_explained(search, kink.place) ||
      is_on_known_piece(search, kink) || std::any_of(kinks.begin(), kinks.end(), [&](const Kink& other) {
        return std::abs(kink.normal.dot(kink.place - other.place)) <= kSurfaces.near_piece * scale &&
               1 - std::abs(kink.normal.dot(other.normal)) <= kSurfaces.parallel * kSurfaces.parallel &&
               (kink.place - other.place).norm() <= kSurfaces.beside * scale;
      });
  if (!known) kinks.push_back(kink);
  return !known;
}

bool passes_places(const LayerSearch& search) {
  const Hypothesis& known = search.hypothesis;
  for (std::size_t l = 1; l < known.layers.size(); ++l) {
    const SignFreeLayers under = known.below(l);
    for (const FoundUnit& unit : known.units[l - 1]) {
      for (const MetPlace& place : unit.met) {
        const SignFreeLayers::Value value = under.value(unit.row, place.at);
        if (!(std::abs(value.z) <= kSurfaces.rough * search.evidence.scale * value.slope.norm()))
          return false;
      }
    }
  }
  return true;
}

}  // namespace exhume
