#include "extract/open_weights.h"

#include <algorithm>
#include <cmath>

#include "extract/pairs.h"
#include "fit/errors.h"
#include "model/form.h"
#include "fit/polish.h"

namespace exhume {
namespace {

constexpr double kMostFlops = 2e12;  // of the Jacobian's Gram matrix: beyond, not all questions are looked at
constexpr double kFewForWeight[] = {1.5, 6};  // equations for every weight that are looked at first

constexpr double kTogether = 4;  // at which two units are on together

std::vector<double> seen_by(const DeepForm& form, const RowMatrix& x, RowMatrix y, const Control& control) {
  y.rowwise() -= y.colwise().mean().eval();
  const double spread = std::sqrt(y.squaredNorm() / static_cast<double>(std::max<Index>(y.rows(), 1)));
  y /= std::max(spread, kTiny);
  return how_determined(form, DeepData(x, std::move(y)), control).smallest;
}

std::vector<double> seen_by(const DeepForm& form, const SampleSource& some, const Control& control) {
  SampleBlock block;
  some.read(0, some.rows(), block);
  return seen_by(form, block.x(), block.y(), control);
}

// By some of all questions, and those at which weights act that hardly do at these.
std::vector<double> seen_by_few(const DeepForm& form, const SampleSource& questions, Index few,
                                const Control& control) {
  SampleBlock some, every;
  const SamplePtr spread = spread_subset(questions, few);
  spread->read(0, spread->rows(), some);
  questions.read(0, questions.rows(), every);
  // The last ones first: they are random, those of lines lie side by side.
  const RowMatrix last_x = every.x().colwise().reverse(), last_y = every.y().colwise().reverse();
  const std::vector<Index> rare = where_pairs_act(form, last_x, some.x(), kTogether);
  RowMatrix x(spread->rows() + static_cast<Index>(rare.size()), questions.inputs()),
      y(x.rows(), questions.outputs());
  x << some.x(), RowMatrix(last_x(rare, Eigen::all));
  y << some.y(), RowMatrix(last_y(rare, Eigen::all));
  return seen_by(form, x, std::move(y), control);
}

}  // namespace

std::vector<double> seen_by_questions(const Network& network, const SampleSource& questions, double enough,
                                      const Control& control) {
  const DeepForm form = to_plain_form(network);
  const auto p = static_cast<double>(std::max<Index>(form.unknowns(), 1));
  const auto m = static_cast<double>(questions.outputs());
  const auto most = static_cast<Index>(kMostFlops / (p * p * m));
  const Index all = std::min(questions.rows(), most);
  // Questions only add to what is seen: a few may be enough, with those at which rare weights act.
  for (const double share : kFewForWeight) {
    const Index few = static_cast<Index>(share * p / m) + 1;
    if (few >= all) break;
    const std::vector<double> seen = seen_by_few(form, questions, few, control);
    if (std::all_of(seen.begin(), seen.end(), [&](double value) { return value >= enough; })) return seen;
  }
  return seen_by(form, *(all < questions.rows() ? spread_subset(questions, all) : load(questions)), control);
}

}  // namespace exhume
