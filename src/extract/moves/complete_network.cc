#include "extract/moves/complete_network.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/random.h"
#include "extract/climb.h"
#include "extract/form_fit.h"
#include "linalg/svd.h"

namespace exhume {
namespace {

// Chosen by experience on random and digit-trained networks; not derived.
struct CompleteNetworkLimits {
  int rounds = 12, quiet = 3;            // of queries, and of those in a row that were answered
  Index climbs = 200, most_pairs = 400;  // in one round
  double each = 4;                       // queries at which a weight acts, at least
  double wrong = 1e-9;                   // of the largest answer
  double idle = 1e-12;                   // the same, of a unit that does nothing
  int hope = 20;                         // steps of a polish
  Index most_unknowns = 3000;            // that are fitted together
  double wrong_share = 0.2;              // of all rows of a fit
  Index more_than_unknowns = 8, about = 6;
  double near_by = 0.15;  // of queries about a wrong one, over its own size
  int most_asked = 4;     // times
  Index most_changing = 1500,
        most_changes = 24;     // unknowns of the last hidden layer, and changes that are looked at
  double blind = 1e-5;         // singular value, columns of unit norm, of a change that no query shows
  std::size_t most_again = 3;  // units that are found once more
  int reweighted = 40;
  double beyond_rank = 3;  // equations that must hold beyond the unknowns
  double fewer = 0.95;     // share of the wrong answers that may stay wrong where another unit is missing too
  double fits = 1e-5, most_fit = 0.6;  // of what is left, and the share of the wrong answers that must fit so
};
constexpr CompleteNetworkLimits kComplete;

class Completion {
 public:
  Completion(const Space& whole, const QueryEvidence& evidence, const DeepForm& form, RowMatrix x,
             RowMatrix y, std::uint64_t seed)
      : space_(whole), evidence_(evidence), x_(std::move(x)), y_(std::move(y)), seed_(seed) {
    out_.form = form;
  }

  CompletedNetwork run() {
    for (int round = 0, quiet = 0; round < kComplete.rounds && !out_.right; ++round) {
      const std::uint64_t seed = sub_seed(seed_, "completion", round);
      const RowMatrix pairs =
          climbs_of_pairs(space_, evidence_, out_.form, x_, kComplete.each, seed, kComplete.most_pairs);
      // Once all are answered, only what is still not told.
      const RowMatrix others =
          climbs(space_, evidence_, out_.form, sub_seed(seed, "climbs"), quiet > 0 ? 0 : kComplete.climbs);
      ask(pairs);
      ask(others);
      const Index changes = ask_at_changes(seed);
      const std::vector<Index> wrong = wrong_rows();
      if (wrong.empty()) {
        out_.right = changes == 0 || (++quiet >= kComplete.quiet && !without_one());
      } else if (!fitted(out_.form, true) && !again_without_one(wrong) && !add_unit(wrong, wrong.size())) {
        break;
      } else {
        quiet = 0;
      }
    }
    if (out_.right) {
      leave_idle();
      sharpen();
    }
    return std::move(out_);
  }

 private:
  // Of two units that were one the other may be left with no part in any answer.
  void leave_idle() {
    const Matrix& V = out_.form.V.back();
    RowMatrix h(x_.rows(), V.cols());
    h << features_below(out_.form, x_), Vector::Ones(x_.rows());
    const Vector most = (h * V.transpose()).cwiseMax(0.0).colwise().maxCoeff().transpose();
    const double idle = kComplete.idle * y_.cwiseAbs().maxCoeff();
    const Vector part = most.cwiseProduct(out_.form.C.topRows(V.rows()).cwiseAbs().rowwise().maxCoeff());
    for (Index j = part.size(); j-- > 0 && out_.form.V.back().rows() > 1;)
      if (part(j) <= idle) out_.form = without(out_.form, j);
  }

  // The last digits of weights that act rarely: the climbs are where they do.
  void sharpen() {
    DeepForm form = out_.form;
    const std::size_t given = form.given;
    for (const std::size_t fixed : {form.depth() - 1, std::size_t{0}}) {
      form.given = fixed;
      if (form.unknowns() > kComplete.most_unknowns) continue;
      auto fit = fit_form(form, x_, y_, {kComplete.hope}, space_.meter->control());
      if (fit) form = std::move(fit->form);
    }
    form.given = given;
    out_.form = std::move(form);
  }

  void ask(const RowMatrix& u) {
    if (u.rows() == 0) return;
    append_rows(y_, space_.ask(QueryStage::kClimbs, u));
    append_rows(x_, u);
  }

  [[nodiscard]] std::vector<Index> wrong_rows() const {
    const RowMatrix off = y_ - evaluate(out_.form, x_);
    const double most = y_.cwiseAbs().maxCoeff();
    std::vector<Index> out;
    for (Index i = 0; i < off.rows(); ++i)
      if (off.row(i).cwiseAbs().maxCoeff() > kComplete.wrong * most) out.push_back(i);
    return out;
  }

  // The last hidden layer, and then all of them, on all queries; false where they do not answer them. Wrong
  // answers count more, as there are few.
  bool fitted(DeepForm form, bool all_layers) {
    const std::vector<Index> wrong = wrong_rows();
    const auto copies =
        static_cast<Index>(std::ceil(kComplete.wrong_share * static_cast<double>(x_.rows()) /
                                     static_cast<double>(std::max<std::size_t>(wrong.size(), 1))));
    const Index extra = copies * static_cast<Index>(wrong.size());
    RowMatrix x(x_.rows() + extra, x_.cols()), y(x.rows(), y_.cols());
    x.topRows(x_.rows()) = x_;
    y.topRows(y_.rows()) = y_;
    for (Index i = 0; i < extra; ++i) {
      x.row(x_.rows() + i) = x_.row(wrong[static_cast<std::size_t>(i / copies)]);
      y.row(y_.rows() + i) = y_.row(wrong[static_cast<std::size_t>(i / copies)]);
    }
    const std::size_t given = form.given;
    for (const std::size_t fixed : {form.depth() - 1, std::size_t{0}}) {
      form.given = fixed;
      if (form.unknowns() > kComplete.most_unknowns || (fixed == 0 && !all_layers)) continue;
      auto fit = fit_form(form, x, y, {kComplete.hope}, space_.meter->control());
      if (!fit) continue;
      out_.form = std::move(fit->form);
      out_.form.given = given;
      return true;
    }
    return false;
  }

  // Where the queries so far do not tell the last hidden layer from another: returns the number of such
  // changes.
  Index ask_at_changes(std::uint64_t seed) {
    const Matrix& V = out_.form.V.back();
    const Index k = V.cols(), units = V.rows(), unknowns = units * k;
    if (unknowns > kComplete.most_changing) return 0;
    RowMatrix h(x_.rows(), k);
    h << features_below(out_.form, x_), Vector::Ones(x_.rows());
    const Matrix on = ((h * V.transpose()).array() > 0).cast<double>();
    const Matrix outward = out_.form.C.topRows(units) * out_.form.C.topRows(units).transpose();
    Matrix gram(unknowns, unknowns);
    for (Index i = 0; i < units; ++i) {
      for (Index j = 0; j <= i; ++j) {
        const Vector both = outward(i, j) * on.col(i).cwiseProduct(on.col(j));
        gram.block(i * k, j * k, k, k) = h.transpose() * both.asDiagonal() * h;
        if (j < i) gram.block(j * k, i * k, k, k) = gram.block(i * k, j * k, k, k).transpose();
      }
    }
    const Vector norms = gram.diagonal().cwiseMax(kTiny).cwiseSqrt();
    const Matrix scaled = norms.cwiseInverse().asDiagonal() * gram * norms.cwiseInverse().asDiagonal();
    const Eigen::SelfAdjointEigenSolver<Matrix> eigen(scaled);
    Index asked = 0;
    for (Index q = 0; q < std::min(kComplete.most_changes, unknowns) &&
                      eigen.eigenvalues()(q) < kComplete.blind * kComplete.blind;
         ++q) {
      const Vector direction = norms.cwiseInverse().cwiseProduct(eigen.eigenvectors().col(q));
      const Matrix change =
          Eigen::Map<const RowMatrix>(direction.data(), units, k) / direction.cwiseAbs().maxCoeff();
      ask(climbs_of_change(space_, evidence_, out_.form, change, sub_seed(seed, "change", q)));
      ++asked;
    }
    return asked;
  }

  // What no query shows may be that two units are one: without one of them all is answered as well.
  bool without_one() {
    const DeepForm before = out_.form;
    const Index units = before.V.back().rows();
    for (Index j = 0; j < units && units > 1; ++j) {
      out_.form = without(before, j);
      if (fitted(out_.form, false)) {
        return true;
      }
    }
    out_.form = before;
    return false;
  }

  [[nodiscard]] static DeepForm without(const DeepForm& form, Index j) {
    DeepForm out = form;
    Matrix &V = out.V.back(), &C = out.C;
    const Index units = form.V.back().rows();
    for (Index i = j; i + 1 < units; ++i) {
      V.row(i) = form.V.back().row(i + 1);
      C.row(i) = form.C.row(i + 1);
    }
    C.row(units - 1) = form.C.row(units);
    V.conservativeResize(units - 1, Eigen::NoChange);
    C.conservativeResize(units, Eigen::NoChange);
    return out;
  }

  // A unit that acts rarely may have had open weights: it is found once more, on all that it leaves. Rarest
  // first.
  bool again_without_one(const std::vector<Index>& wrong) {
    const DeepForm before = out_.form;
    const Matrix& V = before.V.back();
    RowMatrix h(x_.rows(), V.cols());
    h << features_below(out_.form, x_), Vector::Ones(x_.rows());
    const Matrix on = ((h * V.transpose()).array() > 0).cast<double>();
    std::vector<std::pair<double, Index>> order;
    for (Index j = 0; j < V.rows() && V.rows() > 1; ++j)
      if (on(wrong, j).sum() > 0) order.emplace_back(on.col(j).sum(), j);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < std::min(kComplete.most_again, order.size()); ++i) {
      out_.form = without(before, order[i].second);
      if (add_unit(wrong_rows(), wrong.size())) {
        --out_.added;
        return true;
      }
    }
    out_.form = before;
    return false;
  }

  // A unit of the last hidden layer that answers the wrong ones. Where others stay wrong, these must be fewer
  // than `before`.
  bool add_unit(std::vector<Index> wrong, std::size_t before) {
    const Index k = out_.form.V.back().cols() - 1;
    const Stream random(seed_, "extract about wrong answers");
    for (int more = 0;
         more < kComplete.most_asked && static_cast<Index>(wrong.size()) < k + kComplete.more_than_unknowns;
         ++more) {
      RowMatrix u(static_cast<Index>(wrong.size()) * kComplete.about, x_.cols());
      random.fill_normal(static_cast<std::uint64_t>(x_.rows()), u);
      for (Index i = 0; i < u.rows(); ++i) {
        const auto from = x_.row(wrong[static_cast<std::size_t>(i / kComplete.about)]);
        u.row(i) = from + kComplete.near_by * static_cast<double>(more + 1) * from.norm() /
                              std::sqrt(static_cast<double>(x_.cols())) * u.row(i);
      }
      ask(u);
      wrong = wrong_rows();
    }
    const RowMatrix left = (y_ - evaluate(out_.form, x_))(wrong, Eigen::all);
    const Svd svd = thin_svd(Matrix(left));
    Vector along = svd.V.col(0);
    Vector r = left * along;
    // It has one sign; those of the other belong to another unit.
    if ((r.array() < 0).count() * 2 > r.size()) {
      r = -r;
      along = -along;
    }
    const RowMatrix h = features_below(out_.form, x_(wrong, Eigen::all));
    Matrix A(r.size(), k + 1);
    A << h, Vector::Ones(r.size());
    Vector weights = (r.array() > 0).cast<double>();
    const double most = r.cwiseAbs().maxCoeff();
    Vector theta = Vector::Zero(k + 1), off;
    for (int i = 0; i < kComplete.reweighted; ++i) {
      const Vector root = weights.cwiseSqrt();
      theta =
          Matrix(root.asDiagonal() * A).completeOrthogonalDecomposition().solve(Vector(root.cwiseProduct(r)));
      off = (A * theta - r).cwiseAbs();
      for (Index q = 0; q < r.size(); ++q) weights(q) = r(q) > 0 ? 1 / std::max(off(q), 1e-12 * most) : 0;
    }
    const double fit = static_cast<double>((off.array() <= kComplete.fits * most).count());
    const auto rank = static_cast<double>(A.completeOrthogonalDecomposition().rank());
    if (!(fit >= std::max(kComplete.most_fit * static_cast<double>((r.array() > 0).count()),
                          rank + kComplete.beyond_rank)))
      return false;
    DeepForm form = out_.form;
    Matrix& V = form.V.back();
    const Index units = V.rows();
    const double size = theta.head(k).norm();
    if (!(size > 0)) return false;
    V.conservativeResize(units + 1, Eigen::NoChange);
    V.bottomRows(1) = theta.transpose() / size;
    Matrix C(units + 2, form.C.cols());
    C << form.C.topRows(units), size * along.transpose(), form.C.bottomRows(1);
    form.C = C;
    if (!fitted(form, false)) {
      // Another one is missing too: the next round looks for it.
      std::swap(form, out_.form);
      if (!(kComplete.fewer * static_cast<double>(before) > static_cast<double>(wrong_rows().size()))) {
        out_.form = std::move(form);
        return false;
      }
    }
    ++out_.added;
    return true;
  }

  const Space& space_;
  const QueryEvidence& evidence_;
  RowMatrix x_, y_;
  std::uint64_t seed_;
  CompletedNetwork out_;
};

}  // namespace

CompletedNetwork complete_network(const Space& whole, const QueryEvidence& evidence, const DeepForm& form,
                                  RowMatrix x, RowMatrix y, std::uint64_t seed) {
  return Completion(whole, evidence, form, std::move(x), std::move(y), seed).run();
}

}  // namespace exhume
