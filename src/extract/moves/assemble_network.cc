#include "extract/moves/assemble_network.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "extract/form_fit.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct AssembleNetworkLimits {
  double off = 1e-9;    // a column below that share of the largest says nothing
  double agree = 1e-3;  // of two rows that are one, where both speak
  Index common = 4;     // entries in which they must both speak
  double least_error = 1e-15;
  double dependent = 1e-10;  // singular values below that share of the largest are zero
  double open_signs = 1e-8;  // singular value of the signs' system, over the largest, that is zero
  Index most_open = 10;
};
constexpr AssembleNetworkLimits kAssemble;

struct PlainRow {
  Vector w;                        // k + 1, bias last
  std::vector<bool> open;          // entries that nothing was said of, k + 1
  std::vector<std::size_t> parts;  // found units that it is made of
};

class Builder {
 public:
  Builder(const Matrix& first, const std::vector<std::vector<FoundUnit>>& above, const RowMatrix& u,
          const RowMatrix& y, Vector signs)
      : above_(above), u_(u), y_(y), first_signs_(std::move(signs)) {
    form_.plain = true;
    form_.inputs = first.cols() - 1;
    sign_free_.push_back(first);
    for (const auto& units : above) {
      Matrix rows(static_cast<Index>(units.size()), units.empty() ? 0 : units.front().row.size());
      for (std::size_t i = 0; i < units.size(); ++i)  // of those that only kinks show there is none
        if (units[i].row.size() == rows.cols()) rows.row(static_cast<Index>(i)) = units[i].row.transpose();
      sign_free_.push_back(std::move(rows));
    }
  }

  DeepForm run() {
    Matrix rows = sign_free_.front();
    for (std::size_t l = 0; l < above_.size(); ++l) {
      if (above_[l].empty()) return {};
      // Units of this layer that are one: signs are those of the first.
      const Vector s = l == 0 && first_signs_.size() == rows.rows() ? first_signs_ : signs_below(l);
      if (s.size() == 0) return {};
      form_.V.push_back(kept_signs(l, s).asDiagonal() * rows);
      rows = solve_layer(l);
    }
    form_.V.push_back(rows);
    if (!outputs()) return {};
    return form_;
  }

 private:
  // Signs of layer l from the rows above it that say all.
  [[nodiscard]] Vector signs_below(std::size_t l) const {
    const Matrix& V = sign_free_[l];
    const Index k = V.rows(), c = V.cols() - 1;
    Index complete = 0;
    Matrix U(static_cast<Index>(above_[l].size()), k), R(U.rows(), c);
    for (const FoundUnit& unit : above_[l]) {
      if (unit.open > 0) continue;
      U.row(complete) = unit.row.head(k).transpose();
      R.row(complete++) = unit.row.segment(k, c).transpose();
    }
    if (complete == 0) return {};
    const Vector s = signs_between(U.topRows(complete), V.leftCols(c), R.topRows(complete));
    return s.unaryExpr([](double value) { return value < 0 ? -1.0 : 1.0; });
  }

  // For the units of layer l that were kept when some were joined.
  [[nodiscard]] Vector kept_signs(std::size_t l, const Vector& s) const {
    if (l == 0) return s;
    Vector out(static_cast<Index>(kept_[l - 1].size()));
    for (std::size_t i = 0; i < kept_[l - 1].size(); ++i)
      out(static_cast<Index>(i)) = s(static_cast<Index>(kept_[l - 1][i]));
    return out;
  }

  struct Below {
    Vector h;  // k
    Matrix G;  // k x s, slopes
  };
  [[nodiscard]] Below below(const Vector& u) const {
    Below at{u, Matrix::Identity(u.size(), u.size())};
    for (const Matrix& V : form_.V) {
      const Index k = V.cols() - 1;
      const Vector z = V.leftCols(k) * at.h + V.col(k);
      const Vector on = (z.array() > 0).cast<double>();
      at = {z.cwiseMax(0), on.asDiagonal() * (V.leftCols(k) * at.G)};
    }
    return at;
  }

  // Equations of a found unit, each over its error: rows x (k + 1).
  [[nodiscard]] Matrix equations(const FoundUnit& unit) const {
    const Index k = form_.V.back().rows(), s = form_.inputs, n = static_cast<Index>(unit.met.size());
    Matrix A(n + static_cast<Index>(unit.kinks.size()) * (1 + s), k + 1);
    const auto place = [&](Index i, const Vector& u, double error) {
      A.row(i) << below(u).h.transpose(), 1;
      A.row(i) /= std::max(error, kAssemble.least_error * (1 + u.norm()));
    };
    for (Index i = 0; i < n; ++i)
      place(i, unit.met[static_cast<std::size_t>(i)].at, unit.met[static_cast<std::size_t>(i)].error);
    Index at = n;
    for (const Kink& kink : unit.kinks) {
      place(at++, kink.place, kAssemble.least_error);
      const Matrix G = below(kink.place).G;
      for (Index a = 0; a < s; ++a, ++at) {
        const Vector across = Vector::Unit(s, a) - kink.normal(a) * kink.normal;
        A.row(at) << (G * across).transpose(), 0;
        A.row(at) /= std::max(kink.error, 1e-13);
      }
    }
    return A;
  }

  // The row of one unit, or of several found ones that are one; `guess` gives scale and sign.
  [[nodiscard]] PlainRow solve(const Matrix& A, const Vector& guess) const {
    const Index k = A.cols() - 1;
    PlainRow out{Vector::Zero(k + 1), std::vector<bool>(static_cast<std::size_t>(k + 1), false), {}};
    const Vector norms = A.colwise().norm().transpose();
    const double least = kAssemble.off * norms.maxCoeff();
    std::vector<Index> told;
    for (Index j = 0; j <= k; ++j) {
      if (norms(j) > least) {
        told.push_back(j);
      } else {
        out.open[static_cast<std::size_t>(j)] = true;
      }
    }
    const Matrix some = A(Eigen::all, told) * norms(told).cwiseInverse().asDiagonal();
    const Svd svd = svd_with_null_space(some);
    // All that the equations leave open, and of it what is nearest to the guess.
    const Vector& values = svd.values;
    Index free = 1;
    while (free < static_cast<Index>(told.size()) && free < values.size() &&
           values(values.size() - 1 - free) < kAssemble.dependent * values(0))
      ++free;
    const Matrix null = norms(told).cwiseInverse().asDiagonal() * svd.V.rightCols(free);
    const Vector wanted = guess(told);
    const Vector w = null * null.colPivHouseholderQr().solve(wanted);
    for (std::size_t i = 0; i < told.size(); ++i) out.w(told[i]) = w(static_cast<Index>(i));
    return out;
  }

  [[nodiscard]] Vector guess_of(std::size_t l, const FoundUnit& unit) const {
    const Index k = form_.V.back().rows();
    Vector out = Vector::Zero(k + 1);
    if (unit.row.size() == 0) {
      const Kink& kink = unit.kinks.front();
      out.head(k) = below(kink.place).G.transpose().completeOrthogonalDecomposition().solve(kink.normal);
    }
    for (Index j = 0; j < k && unit.row.size() > 0; ++j) {
      const Index from = l == 0 ? j : static_cast<Index>(kept_[l - 1][static_cast<std::size_t>(j)]);
      out(j) = 2 * unit.row(from);
    }
    // The bias from the kink: w.h + b = 0 there.
    out(k) = -out.head(k).dot(below(unit.kinks.front().place).h);
    return out;
  }

  [[nodiscard]] static bool same(const PlainRow& a, const PlainRow& b) {
    Vector x(a.w.size()), y(a.w.size());
    Index n = 0;
    for (Index j = 0; j < a.w.size(); ++j) {
      if (a.open[static_cast<std::size_t>(j)] || b.open[static_cast<std::size_t>(j)]) continue;
      x(n) = a.w(j);
      y(n++) = b.w(j);
    }
    if (n < std::min<Index>(kAssemble.common, a.w.size())) return false;
    const double xx = x.head(n).norm(), yy = y.head(n).norm();
    if (!(xx > 1e-3 * a.w.norm() && yy > 1e-3 * b.w.norm())) return false;
    const double sign = x.head(n).dot(y.head(n)) < 0 ? -1 : 1;
    return (x.head(n) / xx - sign * y.head(n) / yy).norm() < kAssemble.agree;
  }

  // Plain rows of layer l + 1, on (h_l, 1).
  Matrix solve_layer(std::size_t l) {
    std::vector<PlainRow> rows;
    kept_.emplace_back();
    for (std::size_t i = 0; i < above_[l].size(); ++i) {
      const FoundUnit& unit = above_[l][i];
      PlainRow row = solve(equations(unit), guess_of(l, unit));
      row.parts = {i};
      const auto twin =
          std::find_if(rows.begin(), rows.end(), [&](const PlainRow& r) { return same(r, row); });
      if (twin == rows.end()) {
        rows.push_back(std::move(row));
        kept_.back().push_back(i);
        continue;
      }
      std::vector<std::size_t> parts = twin->parts;
      parts.push_back(i);
      Matrix all(0, row.w.size());
      for (const std::size_t part : parts) {
        const Matrix A = equations(above_[l][part]);
        all.conservativeResize(all.rows() + A.rows(), Eigen::NoChange);
        all.bottomRows(A.rows()) = A;
      }
      // Where one is open the other speaks: both on the scale of the first.
      Vector guess = twin->w;
      double xy = 0, yy = 0;
      for (Index j = 0; j < guess.size(); ++j) {
        if (twin->open[static_cast<std::size_t>(j)] || row.open[static_cast<std::size_t>(j)]) continue;
        xy += guess(j) * row.w(j);
        yy += row.w(j) * row.w(j);
      }
      for (Index j = 0; j < guess.size(); ++j)
        if (twin->open[static_cast<std::size_t>(j)]) guess(j) = row.w(j) * xy / yy;
      *twin = solve(all, guess);
      twin->parts = std::move(parts);
    }
    Matrix out(static_cast<Index>(rows.size()), form_.V.back().rows() + 1);
    open_.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      out.row(static_cast<Index>(i)) = rows[i].w.transpose();
      open_.push_back(rows[i].open);
    }
    return out;
  }

  // s in {-1, 1}^k with A s = right. Where that leaves some directions open, the signs of as many units are
  // tried.
  [[nodiscard]] static Vector signs_of(const Matrix& A, const Vector& right) {
    const Index k = A.cols();
    const auto sign = [](double value) { return value < 0 ? -1.0 : 1.0; };
    const Vector norms = A.colwise().norm().cwiseMax(kTiny).transpose();
    const Svd svd = svd_with_null_space(A * norms.cwiseInverse().asDiagonal());
    const Vector& values = svd.values;
    Index rank = 0;
    while (rank < values.size() && values(rank) > kAssemble.open_signs * values(0)) ++rank;
    const Vector inverse = values.head(rank).cwiseInverse();
    const Vector least =
        norms.cwiseInverse().asDiagonal() *
        (svd.V.leftCols(rank) * (inverse.asDiagonal() * (svd.U.leftCols(rank).transpose() * right)));
    const Index open = k - rank;
    if (open == 0 || open > kAssemble.most_open) return least.unaryExpr(sign);
    const Matrix N = norms.cwiseInverse().asDiagonal() * svd.V.rightCols(open);
    Eigen::ColPivHouseholderQR<Matrix> pivots(N.transpose());
    const Eigen::VectorXi order = pivots.colsPermutation().indices();
    Matrix P(open, open);
    Vector from(open);
    for (Index i = 0; i < open; ++i) {
      P.row(i) = N.row(order(i));
      from(i) = least(order(i));
    }
    const Eigen::PartialPivLU<Matrix> lu(P);
    Vector best = least;
    double off = std::numeric_limits<double>::infinity();
    for (Index choice = 0; choice < (Index{1} << open); ++choice) {
      Vector wanted(open);
      for (Index i = 0; i < open; ++i) wanted(i) = ((choice >> i) & 1) != 0 ? 1 : -1;
      const Vector s = least + N * lu.solve(wanted - from);
      const double now = (s.cwiseAbs().array() - 1).abs().maxCoeff();
      if (now < off) off = now, best = s;
    }
    return best.unaryExpr(sign);
  }

  // Signs of the last hidden layer, open weights and C, from the answers.
  bool outputs() {
    const Index n = u_.rows(), k = form_.V.back().rows(), m = y_.cols();
    const RowMatrix h = features_below(form_, u_);
    Matrix& W = form_.V.back();
    const Index below = h.cols();
    Matrix F(n, k + below + 1);
    F << layer_values(W, h).cwiseAbs(), h, Vector::Ones(n);
    const Matrix B = solve_by_columns(F, y_);
    const Matrix c = B.topRows(k), L = B.middleRows(k, below);  // k x m, below x m
    // L_j = sum_i s_i w_ij c_i where nothing is open.
    std::vector<Index> told;
    for (Index j = 0; j < below; ++j) {
      bool any = false;
      for (const auto& open : open_) any = any || open[static_cast<std::size_t>(j)];
      if (!any) told.push_back(j);
    }
    if (told.empty()) return false;
    const Matrix w = W.leftCols(below)(Eigen::all, told), Lt = L(told, Eigen::all);
    Matrix A(static_cast<Index>(told.size()) * m, k);  // of the signs
    Vector right(A.rows());
    for (Index j = 0; j < w.cols(); ++j) {
      A.middleRows(j * m, m) = (w.col(j).asDiagonal() * c).transpose();
      right.segment(j * m, m) = Lt.row(j).transpose();
    }
    const Vector s = signs_of(A, right);
    // Open weights that act: 2 s_i c_i w_ij for each is what L_j has beyond the others.
    for (Index j = 0; j < below; ++j) {
      std::vector<Index> open;
      Vector rest = L.row(j).transpose();
      for (Index i = 0; i < k; ++i) {
        if (open_[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]) {
          open.push_back(i);
        } else {
          rest -= s(i) * W(i, j) * c.row(i).transpose();
        }
      }
      if (open.empty()) continue;
      Matrix acting(m, static_cast<Index>(open.size()));
      for (std::size_t i = 0; i < open.size(); ++i)
        acting.col(static_cast<Index>(i)) = 2 * s(open[i]) * c.row(open[i]).transpose();
      const Vector found = acting.completeOrthogonalDecomposition().solve(rest);
      for (std::size_t i = 0; i < open.size(); ++i) W(open[i], j) = found(static_cast<Index>(i));
    }
    W = s.asDiagonal() * W;
    form_.C = Matrix::Zero(k + 1, m);
    form_.C.topRows(k) = 2 * c;
    form_.C.bottomRows(1) = B.bottomRows(1) - (W.col(below).transpose() * c);
    return form_.C.allFinite() && W.allFinite();
  }

  const std::vector<std::vector<FoundUnit>>& above_;
  const RowMatrix &u_, &y_;
  Vector first_signs_;
  std::vector<Matrix> sign_free_;
  DeepForm form_;
  std::vector<std::vector<std::size_t>>
      kept_;                             // of every layer above the first: found units that rows stand for
  std::vector<std::vector<bool>> open_;  // of the last layer's rows
};

}  // namespace

Vector signs_between(const Matrix& U, const Matrix& V, const Matrix& R) {
  const Matrix N = (U.transpose() * U).cwiseProduct(V * V.transpose());
  const Vector right = (U.transpose() * R * V.transpose()).diagonal();
  const Vector scale = N.diagonal().cwiseMax(kTiny).cwiseSqrt().cwiseInverse();
  return scale.asDiagonal() * Matrix(scale.asDiagonal() * N * scale.asDiagonal())
                                  .completeOrthogonalDecomposition()
                                  .solve(Vector(scale.asDiagonal() * right));
}

DeepForm assemble_network(const Matrix& first, const std::vector<std::vector<FoundUnit>>& above,
                          const RowMatrix& u, const RowMatrix& y, const Vector& signs) {
  if (above.empty()) return {};
  return Builder(first, above, u, y, signs).run();
}

}  // namespace exhume
