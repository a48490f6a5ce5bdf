#include "extract/open_weights.h"

#include <algorithm>
#include <cmath>

#include "exhume/fit/deep/determined.h"
#include "exhume/fit/deep/form.h"
#include "exhume/fit/deep/polish.h"

namespace exhume {
namespace {

constexpr double kMostFlops = 2e12;  // of the Jacobian's Gram matrix: beyond, not all questions are looked at
constexpr double kFewForWeight = 4;  // equations for every weight that are looked at first

std::vector<double> seen_by(const DeepForm& form, const SampleSource& some, const Control& control) {
  SampleBlock block;
  some.read(0, some.rows(), block);
  RowMatrix y = block.y();
  y.rowwise() -= y.colwise().mean().eval();
  const double spread = std::sqrt(y.squaredNorm() / static_cast<double>(std::max<Index>(y.rows(), 1)));
  y /= std::max(spread, kTiny);
  return how_determined(form, DeepData(block.x(), std::move(y)), control).smallest;
}

}  // namespace

std::vector<double> seen_by_questions(const DeepNetwork& network, const SampleSource& questions,
                                      double enough, const Control& control) {
  const DeepForm form = to_plain_form(network);
  const auto p = static_cast<double>(std::max<Index>(form.unknowns(), 1));
  const auto m = static_cast<double>(questions.outputs());
  const auto most = static_cast<Index>(kMostFlops / (p * p * m));
  const Index all = std::min(questions.rows(), most);
  // Questions only add to what is seen: a few may be enough.
  const Index few = static_cast<Index>(kFewForWeight * p / m) + 1;
  if (few < all) {
    const std::vector<double> seen = seen_by(form, *spread_subset(questions, few), control);
    if (std::all_of(seen.begin(), seen.end(), [&](double value) { return value >= enough; })) return seen;
  }
  return seen_by(form, *(all < questions.rows() ? spread_subset(questions, all) : load(questions)), control);
}

}  // namespace exhume
