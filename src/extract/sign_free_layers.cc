#include "extract/sign_free_layers.h"

#include <utility>

namespace exhume {

SignFreeLayers::SignFreeLayers(Index inputs, std::vector<Matrix> V) : inputs_(inputs), V_(std::move(V)) {
  for (const Matrix& v : V_) units_ += v.rows();
}

Vector SignFreeLayers::parts(const Vector& row) const {
  Vector out(units_);
  Index at = units_, from = 0;
  for (std::size_t l = V_.size(); l-- > 0; from += V_[l].rows()) {
    at -= V_[l].rows();
    out.segment(at, V_[l].rows()) = row.segment(from, V_[l].rows());
  }
  return out;
}

Vector SignFreeLayers::row(const Vector& U, const Vector& r, double beta) const {
  Vector out(units_ + inputs_ + 1);
  Index at = units_, to = 0;
  for (std::size_t l = V_.size(); l-- > 0; to += V_[l].rows()) {
    at -= V_[l].rows();
    out.segment(to, V_[l].rows()) = U.segment(at, V_[l].rows());
  }
  out.segment(units_, inputs_) = r;
  out(units_ + inputs_) = beta;
  return out;
}

Piece SignFreeLayers::with_sides(const Vector& sides) const {
  Piece out{sides, Matrix(units_, inputs_), Vector(units_)};
  Index done = 0;
  for (std::size_t l = 0; l < V_.size(); ++l) {
    const Matrix& v = V_[l];
    const Index k = v.rows();
    out.G.middleRows(done, k) = v.middleCols(v.cols() - 1 - inputs_, inputs_);
    out.c.segment(done, k) = v.rightCols(1);
    Index below = done, column = 0;  // |Q_{l-1}| first
    for (std::size_t i = l; i-- > 0;) {
      const Index width = V_[i].rows();
      below -= width;
      const Matrix turned = v.middleCols(column, width) * sides.segment(below, width).asDiagonal();
      out.G.middleRows(done, k) += turned * out.G.middleRows(below, width);
      out.c.segment(done, k) += turned * out.c.segment(below, width);
      column += width;
    }
    done += k;
  }
  return out;
}

Vector SignFreeLayers::values(const Vector& u) const {
  Vector P(inputs_ + 1), out(units_);
  P << u, 1;
  Index done = 0;
  for (const Matrix& v : V_) {
    const Vector q = v * P;
    out.segment(done, v.rows()) = q;
    done += v.rows();
    Vector next(q.size() + P.size());
    next << q.cwiseAbs(), P;
    P = std::move(next);
  }
  return out;
}

Vector SignFreeLayers::sides_at(const Vector& u) const {
  return values(u).unaryExpr([](double q) { return q < 0 ? -1.0 : 1.0; });
}

SignFreeLayers::Value SignFreeLayers::value(const Vector& row, const Vector& u) const {
  // Without layers it is a plane, and BLAS complains of products with empty matrices.
  if (units_ == 0) return {row.head(inputs_).dot(u) + row(inputs_), row.head(inputs_)};
  const Piece piece = at(u);
  const Vector U = parts(row).cwiseProduct(piece.sides);
  Value out;
  out.slope = row.segment(units_, inputs_) + piece.G.transpose() * U;
  out.z = row.segment(units_, inputs_).dot(u) + row(units_ + inputs_) + U.dot(piece.G * u + piece.c);
  return out;
}

}  // namespace exhume
