#include "extract/weak_units.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"

namespace exhume {
namespace {

constexpr const char* kStage = "weak units";
constexpr double kLong = 10;  // h over the distance of the planes, times d^(1/2)
constexpr int kTried = 12;    // places for a pair
// Of the way to the next plane; over the doubt about the unit's own.
constexpr double kOfMargin = 0.1, kOverDoubt = 1e3;
constexpr Index kGroup = 4096;

struct Place {
  Vector u;
  double half = 0;  // T; 0 where there is none
};

class Pairs {
 public:
  Pairs(Meter& meter, const SeparableModel& within, const WeakUnitsOptions& options, Matrix& W)
      : meter_(meter),
        within_(within),
        options_(options),
        W_(W),
        k_(within.units()),
        s_(meter.frame().dimensions()),
        d_(meter.frame().inputs()),
        h_(kLong * options.scale * std::sqrt(static_cast<double>(d_))) {}

  void sharpen(Index unit, double error) {
    const Index group = kGroup / 2;
    for (Index first = s_; first < d_; first += group)
      sharpen(unit, error, first, std::min(group, d_ - first));
  }

 private:
  void sharpen(Index unit, double error, Index first, Index count) {
    const Vector along = within_.V.row(unit).head(s_).normalized();
    std::vector<Index> directions;
    std::vector<Place> places;
    for (Index i = first; i < first + count; ++i) {
      Place place = place_for(unit, i, along, error);
      if (place.half <= 0) continue;
      directions.push_back(i);
      places.push_back(std::move(place));
    }
    const auto pairs = static_cast<Index>(places.size());
    if (pairs == 0) return;
    Questions questions;
    questions.rows.resize(2 * pairs, s_);
    questions.step = Vector::Constant(2 * pairs, h_);
    for (Index q = 0; q < pairs; ++q) {
      const Place& place = places[static_cast<std::size_t>(q)];
      questions.rows.row(2 * q) = (place.u + place.half * along).transpose();
      questions.rows.row(2 * q + 1) = (place.u - place.half * along).transpose();
      for (int side = 0; side < 2; ++side)
        questions.direction.push_back(static_cast<std::int32_t>(directions[static_cast<std::size_t>(q)]));
    }
    const RowMatrix y = meter_.ask(kStage, questions);
    const Vector c = within_.C.row(unit);
    for (Index q = 0; q < pairs; ++q) {
      const Index i = directions[static_cast<std::size_t>(q)];
      const Vector up = questions.rows.row(2 * q), down = questions.rows.row(2 * q + 1);
      const Vector left = (y.row(2 * q) - y.row(2 * q + 1)).transpose() - expected(unit, i, up, down);
      W_(unit, i) += c.dot(left) / (2 * c.squaredNorm() * h_);
    }
  }

  [[nodiscard]] Vector values(const Vector& u, Index i) const {
    return within_.V.leftCols(s_) * u + within_.V.col(s_) + h_ * W_.col(i);
  }

  // f(up) - f(down) as the weights have it, term by term: all units but this one have one sign at both.
  [[nodiscard]] Vector expected(Index unit, Index i, const Vector& up, const Vector& down) const {
    const Vector at_up = values(up, i), step = up - down;
    Vector moved = within_.V.leftCols(s_) * step;
    for (Index l = 0; l < k_; ++l) {
      if (at_up(l) < 0) moved(l) = -moved(l);
    }
    moved(unit) = std::abs(at_up(unit)) - std::abs(values(down, i)(unit));
    return within_.C.topRows(k_).transpose() * moved + within_.C.middleRows(k_, s_).transpose() * step;
  }

  // On the unit's plane, where no other is near: the nearest such place to the middle, or others about it.
  [[nodiscard]] Place place_for(Index unit, Index i, const Vector& along, double error) const {
    const double norm = within_.V.row(unit).head(s_).norm(), doubt = error * h_ / norm;
    const Stream stream(options_.seed, "extract weak units");
    const Vector slopes = within_.V.leftCols(s_) * along;
    Place best;
    for (int t = 0; t < kTried; ++t) {
      RowMatrix drawn(1, s_);
      stream.fill_normal(static_cast<std::uint64_t>((unit * d_ + i) * kTried + t), drawn);
      Vector u = drawn.row(0).transpose() * (t * h_ / (kTried * std::sqrt(static_cast<double>(d_))));
      u -= along * (values(u, i)(unit) / norm);
      const Vector z = values(u, i);
      double margin = std::numeric_limits<double>::infinity();
      for (Index l = 0; l < k_; ++l) {
        if (l != unit) margin = std::min(margin, std::abs(z(l)) / std::max(std::abs(slopes(l)), 1e-3 * norm));
      }
      if (kOfMargin * margin > best.half) best = {u, kOfMargin * std::min(margin, h_)};
      if (best.half > kOverDoubt * doubt) return best;
    }
    return best.half > kOverDoubt * doubt ? best : Place{};
  }

  Meter& meter_;
  const SeparableModel& within_;
  const WeakUnitsOptions& options_;
  Matrix& W_;
  Index k_, s_, d_;
  double h_;
};

}  // namespace

void sharpen_weak_units(Meter& meter, const SeparableModel& within, const std::vector<Index>& units,
                        const Vector& errors, const WeakUnitsOptions& options, Matrix& W) {
  Pairs pairs(meter, within, options, W);
  for (const Index unit : units) pairs.sharpen(unit, errors(unit));
}

}  // namespace exhume
