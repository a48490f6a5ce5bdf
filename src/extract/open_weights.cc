#include "extract/open_weights.h"

#include <algorithm>
#include <cmath>

#include "exhume/fit/deep/determined.h"
#include "exhume/fit/deep/form.h"
#include "exhume/fit/deep/polish.h"

namespace exhume {
namespace {

constexpr double kMostFlops = 2e12;  // of the Jacobian's Gram matrix: beyond, not all questions are looked at

}  // namespace

std::vector<double> seen_by_questions(const DeepNetwork& network, const SampleSource& questions,
                                      const Control& control) {
  const DeepForm form = to_plain_form(network);
  const auto p = static_cast<double>(std::max<Index>(form.unknowns(), 1));
  const auto most = static_cast<Index>(kMostFlops / (p * p * static_cast<double>(questions.outputs())));
  const SamplePtr some = questions.rows() > most ? spread_subset(questions, most) : load(questions);
  SampleBlock block;
  some->read(0, some->rows(), block);
  RowMatrix y = block.y();
  y.rowwise() -= y.colwise().mean().eval();
  const double spread = std::sqrt(y.squaredNorm() / static_cast<double>(std::max<Index>(y.rows(), 1)));
  y /= std::max(spread, kTiny);
  return how_determined(form, DeepData(block.x(), std::move(y)), control).smallest;
}

}  // namespace exhume
