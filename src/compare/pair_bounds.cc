#include "compare/pair_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace exhume {
namespace {

constexpr double kRounding =
    std::numeric_limits<double>::epsilon();  // twice the unit roundoff: room to spare
constexpr double kLeast = 1e-290;            // above all that underflow loses

// c + G e + E e' with a radius for rounding.
struct Form {
  Vector c;
  Matrix G;       // columns: inputs, then noises of units
  Matrix H;       // columns: noises of differences
  Vector radius;  // rounding and slack
  Vector size;    // bound of the absolute value
};

// sum of n non-negative numbers, rounded up.
double up(double sum, Index n) {
  return sum == 0 ? 0 : sum * (1 + static_cast<double>(n + 4) * kRounding) + kLeast;
}

Vector row_sums(const Matrix& G) {
  return G.cols() == 0 ? Vector(Vector::Zero(G.rows())) : Vector(G.cwiseAbs().rowwise().sum());
}

// Half the width of the range of each entry of the form, rounded up; rounding of c +- it included.
Vector reach(const Form& form) {
  const Index n = form.G.cols() + form.H.cols() + 2;
  Vector sum = row_sums(form.G) + row_sums(form.H) + form.radius;
  for (Index i = 0; i < sum.size(); ++i) sum(i) = up(sum(i), n) + kRounding * (std::abs(form.c(i)) + sum(i));
  return sum;
}

void measure(Form& form) {
  const Vector half = reach(form);
  form.size = form.c.cwiseAbs() + half;
  form.size *= 1 + 2 * kRounding;
}

Matrix with_columns(const Matrix& G, Index columns) {
  Matrix out = Matrix::Zero(G.rows(), columns);
  if (G.size() != 0) out.leftCols(G.cols()) = G;
  return out;
}

// to += M G, where to has at least as many columns.
void add_product(Matrix& to, const Matrix& M, const Matrix& G) {
  if (M.size() == 0 || G.size() == 0) return;
  to.leftCols(G.cols()).noalias() += M * G;
}

Form no_units(Index rows, Index columns, Index others) {
  Form form;
  form.c = form.radius = form.size = Vector::Zero(rows);
  form.G = Matrix::Zero(rows, columns);
  form.H = Matrix::Zero(rows, others);
  return form;
}

// The box as forms of the inputs.
Form inputs_of(const Vector& low, const Vector& high) {
  const Index d = low.size();
  Form x = no_units(d, d, 0);
  for (Index i = 0; i < d; ++i) {
    const double middle = low(i) + (high(i) - low(i)) / 2;
    const double half = std::max(high(i) - middle, middle - low(i));
    x.c(i) = middle;
    x.G(i, i) = half == 0 ? 0 : half * (1 + 4 * kRounding);
  }
  measure(x);
  return x;
}

// Row i times lambda plus something in [low, high]; returns the size of the noise that stands for it, 0 where
// there is none.
double shrink_row(Form& form, Index i, double lambda, double low, double high) {
  const double middle = low + (high - low) / 2;
  const double half = (high - low) / 2 * (1 + 4 * kRounding) + kRounding * std::abs(middle);
  if (lambda != 1) {
    const double before = form.size(i);
    form.c(i) *= lambda;
    form.G.row(i) *= lambda;
    if (form.H.cols() > 0) form.H.row(i) *= lambda;
    form.radius(i) =
        std::abs(lambda) * form.radius(i) * (1 + 4 * kRounding) + kRounding * std::abs(lambda) * before;
  }
  if (low != 0 || high != 0) {
    form.radius(i) += kRounding * (std::abs(form.c(i)) + std::abs(middle));
    form.c(i) += middle;
  }
  return high > low ? half + kLeast : 0;
}

void clear_row(Form& form, Index i) {
  form.c(i) = 0;
  form.G.row(i).setZero();
  if (form.H.cols() > 0) form.H.row(i).setZero();
  form.radius(i) = 0;
}

struct NewNoise {
  std::vector<Index> unit;
  std::vector<double> size;
  void add(Index i, double value) {
    if (value <= 0) return;
    unit.push_back(i);
    size.push_back(value);
  }
};

Matrix with_noise(const Matrix& G, const NewNoise& noise) {
  const auto more = static_cast<Index>(noise.unit.size());
  Matrix out = with_columns(G, G.cols() + more);
  for (Index j = 0; j < more; ++j)
    out(noise.unit[static_cast<std::size_t>(j)], G.cols() + j) = noise.size[static_cast<std::size_t>(j)];
  return out;
}

// Where a unit switches: the slope of max(z, 0) - lambda z that makes its range least, and that range.
struct Kink {
  double lambda, width;
};
Kink kink(double low, double high) {
  const double lambda = std::min(1.0, std::max(0.0, high / (high - low)));
  return {lambda, std::max(-lambda * low, (1 - lambda) * high) * (1 + 4 * kRounding)};
}

// z of one layer.
Form pass(const BlockLayer& layer, const std::vector<Form>& h, std::size_t sources, Index columns) {
  const Index rows = layer.units();
  Form z = no_units(rows, columns, 0);
  z.c = layer.b;
  Index terms = 2;
  Vector sum = layer.b.cwiseAbs(), radius = layer.b_slack;
  for (std::size_t s = 0; s < sources; ++s) {
    const Matrix& M = layer.from[s];
    if (M.size() == 0) continue;
    terms += M.cols();
    z.c.noalias() += M * h[s].c;
    add_product(z.G, M, h[s].G);
    sum.noalias() += M.cwiseAbs() * h[s].size;
    radius.noalias() += M.cwiseAbs() * h[s].radius;
    if (layer.slack[s].size() != 0) radius.noalias() += layer.slack[s] * h[s].size;
  }
  const double gamma = static_cast<double>(terms + 4) * kRounding;
  z.radius = (radius + gamma * sum) * (1 + 2 * gamma);
  measure(z);
  return z;
}

// Bounds of every entry.
struct Intervals {
  Vector low, high;
};

// z of one layer from bounds of its sources: above, below are the parts of its weights.
Intervals interval(const BlockLayer& layer, const std::vector<Matrix>& above,
                   const std::vector<Matrix>& below, const std::vector<Intervals>& h) {
  Intervals z{layer.b, layer.b};
  Vector sum = layer.b.cwiseAbs(), slack = layer.b_slack;
  Index terms = 2;
  for (std::size_t s = 0; s < above.size(); ++s) {
    if (above[s].size() == 0) continue;
    terms += above[s].cols();
    const Vector most = h[s].low.cwiseAbs().cwiseMax(h[s].high.cwiseAbs());
    z.low.noalias() += above[s] * h[s].low + below[s] * h[s].high;
    z.high.noalias() += above[s] * h[s].high + below[s] * h[s].low;
    sum.noalias() += (above[s] - below[s]) * most;
    if (layer.slack[s].size() != 0) slack.noalias() += layer.slack[s] * most;
  }
  const double gamma = static_cast<double>(2 * terms + 4) * kRounding;
  slack = (slack + gamma * sum) * (1 + 2 * gamma);
  z.low -= slack;
  z.high += slack;
  return z;
}

// The features of a layer whose z is between these.
Intervals features_between(const Vector& low, const Vector& high, const std::optional<UnitFunction>& unit) {
  if (!unit) return {low.cwiseMax(0.0), high.cwiseMax(0.0)};
  Intervals h{low, high};
  for (Index i = 0; i < low.size(); ++i) {
    const Range range = unit->values(low(i), high(i));
    h.low(i) = range.low;
    h.high(i) = range.high;
  }
  return h;
}

}  // namespace

PairBounds::PairBounds(BlockNetwork f, BlockNetwork g) : f_(std::move(f)), g_(std::move(g)) {
  if (f_.sigma) unit_.emplace(*f_.sigma);
  for (std::size_t l = 0; l < f_.layers.size(); ++l) {
    const BlockLayer &p = f_.layers[l], &q = g_.layers[l];
    Change change;
    for (std::size_t s = 0; s <= l; ++s) {
      const Index rows = p.units(), columns = f_.units(s);
      const bool any = p.from[s].size() != 0 || q.from[s].size() != 0;
      const auto whole = [&](const Matrix& M) {
        return M.size() != 0 || !any ? M : Matrix(Matrix::Zero(rows, columns));
      };
      const Matrix first = whole(p.from[s]), second = whole(q.from[s]);
      Matrix M = second - first;
      Matrix slack = kRounding * M.cwiseAbs();
      if (any) slack += whole(p.slack[s]) + whole(q.slack[s]);
      const bool changed = any && !M.isZero(0);
      change.M.push_back(changed ? M : Matrix());
      change.M_size.push_back(changed ? Matrix(M.cwiseAbs()) : Matrix());
      change.other_size.emplace_back(q.from[s].cwiseAbs());
      change.slack.push_back(any && !slack.isZero(0) ? slack * (1 + 4 * kRounding) : Matrix());
      change.f_slack.push_back(q.slack[s]);
      change.f_above.emplace_back(p.from[s].cwiseMax(0.0));
      change.f_below.emplace_back(p.from[s].cwiseMin(0.0));
      change.g_above.emplace_back(q.from[s].cwiseMax(0.0));
      change.g_below.emplace_back(q.from[s].cwiseMin(0.0));
    }
    for (Index i = 0; i < p.units(); ++i) {
      bool empty = q.b(i) == 0 && q.b_slack(i) == 0;
      for (std::size_t s = 0; s <= l && empty; ++s) {
        empty = (q.from[s].size() == 0 || q.from[s].row(i).isZero(0)) &&
                (q.slack[s].size() == 0 || q.slack[s].row(i).isZero(0));
      }
      change.g_empty.push_back(empty);
    }
    change.b = q.b - p.b;
    change.b_slack = (p.b_slack + q.b_slack + kRounding * change.b.cwiseAbs()) * (1 + 4 * kRounding);
    change_.push_back(std::move(change));
  }
}

double PairBounds::cost() const {
  double operations = 0, noises = static_cast<double>(f_.inputs);
  for (std::size_t l = 0; l < f_.layers.size(); ++l) {
    double weights = 0;
    for (const Matrix& M : g_.layers[l].from) weights += static_cast<double>(M.size());
    operations += 2 * weights * 3 * noises;
    noises += static_cast<double>(f_.layers[l].units());
  }
  return operations;
}

BoxBound PairBounds::bound(const Vector& low, const Vector& high) const {
  const Index d = f_.inputs;
  std::vector<Form> h = {inputs_of(low, high)}, dh = {no_units(d, d, 0)};
  // Which unit made each noise, by its dependence on the inputs.
  std::vector<Vector> noise_origin, change_origin;
  std::vector<Intervals> f_box = {{low, high}}, g_box = {{low, high}};  // of the features
  for (std::size_t l = 0;; ++l) {
    const Change& change = change_[l];
    const Index rows = f_.layers[l].units();
    const Index columns = h.back().G.cols(), others = dh.back().H.cols();
    // The difference before the units.
    Form dz = no_units(rows, columns, others);
    dz.c = change.b;
    Vector sum = change.b.cwiseAbs(), radius = change.b_slack;
    Index terms = 2;
    for (std::size_t s = 0; s <= l; ++s) {
      const Matrix &other = g_.layers[l].from[s], &M = change.M[s];
      if (other.size() != 0 && s > 0) {
        terms += other.cols();
        dz.c.noalias() += other * dh[s].c;
        add_product(dz.G, other, dh[s].G);
        add_product(dz.H, other, dh[s].H);
        sum.noalias() += change.other_size[s] * dh[s].size;
        radius.noalias() += change.other_size[s] * dh[s].radius;
        if (change.f_slack[s].size() != 0) radius.noalias() += change.f_slack[s] * dh[s].size;
      }
      if (M.size() != 0) {
        terms += M.cols();
        dz.c.noalias() += M * h[s].c;
        add_product(dz.G, M, h[s].G);
        sum.noalias() += change.M_size[s] * h[s].size;
        radius.noalias() += change.M_size[s] * h[s].radius;
      }
      if (change.slack[s].size() != 0) radius.noalias() += change.slack[s] * h[s].size;
    }
    const double gamma = static_cast<double>(terms + 4) * kRounding;
    dz.radius = (radius + gamma * sum) * (1 + 2 * gamma);
    measure(dz);
    const Vector dz_reach = reach(dz);
    if (l + 1 == f_.layers.size()) {
      BoxBound out;
      out.low = dz.c - dz_reach;
      out.high = dz.c + dz_reach;
      Index worst = 0;
      for (Index o = 0; o < rows; ++o) {
        const double most = std::max(std::abs(out.low(o)), std::abs(out.high(o)));
        if (o == 0 || !(most <= out.upper)) {
          out.upper = most;
          worst = o;
        }
      }
      out.influence = Vector::Constant(d, 0);
      out.corner = (low + high) / 2;
      if (rows == 0) return out;
      for (std::size_t j = 0; j < noise_origin.size(); ++j)
        out.influence += std::abs(dz.G(worst, d + static_cast<Index>(j))) * noise_origin[j];
      for (std::size_t j = 0; j < change_origin.size(); ++j)
        out.influence += std::abs(dz.H(worst, static_cast<Index>(j))) * change_origin[j];
      const double sign = std::abs(out.high(worst)) >= std::abs(out.low(worst)) ? 1 : -1;
      for (Index i = 0; i < d; ++i) {
        const double slope = sign * dz.G(worst, i);
        if (slope != 0) out.corner(i) = slope > 0 ? high(i) : low(i);
      }
      return out;
    }
    Form z = pass(f_.layers[l], h, l + 1, columns);
    const Vector z_reach = reach(z);
    Form both = z;  // z' = z + dz
    both.c += dz.c;
    both.G += dz.G;
    both.H = dz.H;
    both.radius += dz.radius;
    both.radius += kRounding * (z.size + dz.size);
    measure(both);
    const Vector both_reach = reach(both);
    Form hz = z, hd = dz;
    const Intervals f_z = interval(f_.layers[l], change.f_above, change.f_below, f_box);
    const Intervals g_z = interval(g_.layers[l], change.g_above, change.g_below, g_box);
    Intervals f_range{Vector(rows), Vector(rows)}, g_range{Vector(rows), Vector(rows)};
    NewNoise noise, moved;
    std::vector<bool> alone(static_cast<std::size_t>(rows), false);  // units of f that g has not
    for (Index i = 0; i < rows; ++i) {
      const double zl = std::max(z.c(i) - z_reach(i), f_z.low(i)),
                   zu = std::min(z.c(i) + z_reach(i), f_z.high(i));
      const double a = dz.c(i) - dz_reach(i), b = dz.c(i) + dz_reach(i);
      const double widen = kRounding * (std::abs(zl) + std::abs(zu) + std::abs(a) + std::abs(b));
      double ol = std::max({both.c(i) - both_reach(i), zl + a - widen, g_z.low(i)});
      double ou = std::min({both.c(i) + both_reach(i), zu + b + widen, g_z.high(i)});
      if (change.g_empty[static_cast<std::size_t>(i)]) ol = ou = 0;
      f_range.low(i) = zl;
      f_range.high(i) = zu;
      g_range.low(i) = ol;
      g_range.high(i) = ou;
      if (unit_) {
        const UnitFunction::Line line = unit_->line(zl, zu);
        noise.add(i, shrink_row(hz, i, line.lambda, line.rest.low, line.rest.high));
        const Range slope = unit_->slopes(std::min(zl, ol), std::max(zu, ou));
        const double size = std::max(std::abs(a), std::abs(b));
        const double middle = slope.low + (slope.high - slope.low) / 2;
        const double beside = (slope.high - slope.low) / 2 * size * (1 + 8 * kRounding);
        moved.add(i, shrink_row(hd, i, middle, -beside, beside));
        continue;
      }
      const bool f_off = zu <= 0, f_on = zl >= 0 && !f_off, g_off = ou <= 0, g_on = ol >= 0 && !g_off;
      if (f_off) {
        clear_row(hz, i);
      } else if (!f_on) {
        const Kink at = kink(zl, zu);
        noise.add(i, shrink_row(hz, i, at.lambda, 0, at.width));
      }
      if (f_off && g_off) {
        clear_row(hd, i);
      } else if (f_on && g_on) {
        // the difference as it is
      } else if (f_on && !g_off) {
        moved.add(i, shrink_row(hd, i, 1, 0, std::max(0.0, std::min(-ol, -a))));  // dz + max(-z', 0)
      } else if (g_on && !f_off) {
        moved.add(i, shrink_row(hd, i, 1, -std::max(0.0, std::min(-zl, b)), 0));  // dz - max(-z, 0)
      } else if (f_off) {
        const double most = std::max(0.0, std::min(ou, b));
        if (most < 0.9 * ou) {  // a small change of a unit that was off: max(z', 0) in [0, most]
          clear_row(hd, i);
          moved.add(i, shrink_row(hd, i, 1, 0, most));
        } else {  // a unit of g alone
          hd.c(i) = both.c(i);
          hd.G.row(i) = both.G.row(i);
          if (hd.H.cols() > 0) hd.H.row(i) = both.H.row(i);
          hd.radius(i) = both.radius(i);
          hd.size(i) = both.size(i);
          if (!g_on) {
            const Kink at = kink(ol, ou);
            moved.add(i, shrink_row(hd, i, at.lambda, 0, at.width));
          }
        }
      } else if (g_off) {
        const double most = std::max(0.0, std::min(zu, -a));
        clear_row(hd, i);
        if (most < 0.9 * zu) {  // -max(z, 0) in [-most, 0]
          moved.add(i, shrink_row(hd, i, 1, -most, 0));
        } else {  // a unit of f alone: its own form, with its own noise, below
          hd.c(i) = -hz.c(i);
          hd.G.row(i) = -hz.G.row(i);
          hd.radius(i) = hz.radius(i);
          alone[static_cast<std::size_t>(i)] = true;
        }
      } else {
        // Both may switch: between 0 and dz.
        const double size = std::max(b, -a), small = std::max(0.0, std::min(b, -a));
        const double share = zu / (zu - zl), least = size > 0 ? small / (small + size) : 0.5;
        const double lambda = std::min(1 - least, std::max(least, share));
        const double top = std::max({b * (1 - lambda), -lambda * a, 0.0}) * (1 + 4 * kRounding);
        const double bottom = std::min({-lambda * b, a * (1 - lambda), 0.0}) * (1 + 4 * kRounding);
        moved.add(i, shrink_row(hd, i, lambda, bottom, top));
      }
    }
    f_box.push_back(features_between(f_range.low, f_range.high, unit_));
    g_box.push_back(features_between(g_range.low, g_range.high, unit_));
    // Units of f alone share the noise of f, with the other sign.
    hz.G = with_noise(hz.G, noise);
    hd.G = with_columns(hd.G, hz.G.cols());
    for (std::size_t j = 0; j < noise.unit.size(); ++j) {
      const Index i = noise.unit[j];
      if (alone[static_cast<std::size_t>(i)]) hd.G(i, columns + static_cast<Index>(j)) = -noise.size[j];
    }
    hd.H = with_noise(hd.H, moved);
    const auto origin = [&](Index i) {
      const Vector share = z.G.row(i).head(d).cwiseAbs() + both.G.row(i).head(d).cwiseAbs();
      const double total = share.sum();
      return total > 0 ? Vector(share / total) : Vector(Vector::Constant(d, 1.0 / static_cast<double>(d)));
    };
    for (const Index i : noise.unit) noise_origin.push_back(origin(i));
    for (const Index i : moved.unit) change_origin.push_back(origin(i));
    hz.H.resize(rows, 0);
    measure(hz);
    measure(hd);
    h.push_back(std::move(hz));
    dh.push_back(std::move(hd));
  }
}

UnitRanges unit_ranges(const BlockNetwork& network, const Vector& low, const Vector& high) {
  UnitRanges out;
  std::vector<Form> h = {inputs_of(low, high)};
  for (std::size_t l = 0; l < network.depth(); ++l) {
    Form z = pass(network.layers[l], h, l + 1, h.back().G.cols());
    const Vector half = reach(z);
    out.low.emplace_back(z.c - half);
    out.high.emplace_back(z.c + half);
    NewNoise noise;
    for (Index i = 0; i < half.size(); ++i) {
      const double zl = z.c(i) - half(i), zu = z.c(i) + half(i);
      if (zu <= 0) {
        clear_row(z, i);
      } else if (zl < 0) {
        const Kink at = kink(zl, zu);
        noise.add(i, shrink_row(z, i, at.lambda, 0, at.width));
      }
    }
    z.G = with_noise(z.G, noise);
    measure(z);
    h.push_back(std::move(z));
  }
  return out;
}

}  // namespace exhume
