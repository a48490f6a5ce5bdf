#include "papers/rectified/rectified_route.h"

#include <fmt/format.h>

#include <utility>

#include "base/limits.h"
#include "exhume/error.h"
#include "model/rectified_network.h"

namespace exhume::rectified {

SamplePtr Rows::view() const { return memory_view(x.data(), y.data(), x.rows(), x.cols(), y.cols()); }

Rows rows_of(const SampleSource& samples) {
  SampleBlock block;
  const SamplePtr loaded = load(samples);
  loaded->read(0, loaded->rows(), block);
  return {block.x(), block.y()};
}

void demand_two_rows(const SampleSource& samples, const RecoverOptions& /*options*/) {
  const Index n = samples.rows(), d = samples.inputs(), m = samples.outputs();
  if (n < 2 || d == 0 || m == 0) {
    throw DataError(fmt::format(
        "the samples are too few ({} rows, {} inputs, {} outputs); give at least two rows", n, d, m));
  }
}

Found refused(std::string why) {
  Found found;
  found.refusal = found.said = std::move(why);
  return found;
}

Found refused_rank(Index rank, Index hidden) {
  Found found = refused(
      rank < hidden
          ? fmt::format("the outputs span {} dimensions, fewer than the {} units asked for: below that the "
                        "problem is NP-hard in general (rank(A) < k); ask for fewer units, or take the route "
                        "rectified-few-outputs",
                        rank, hidden)
          : fmt::format("the outputs span {} dimensions, more than the {} units asked for: they carry noise "
                        "(routes rectified-noise and rectified-sparse-noise) or come from more units",
                        rank, hidden));
  found.checks.note("rank of the outputs is the number of units", static_cast<double>(rank),
                    static_cast<double>(hidden), false);
  return found;
}

Found exact_network(Job& job, const Rows& training, Network network, std::string otherwise) {
  Found found;
  found.exact_only = true;
  found.fit.relative_mse = relative_error(network, job.rectifier, training.x, training.y);
  found.fit.signs.outcome = SignOutcome::kUnique;
  const bool exact = found.fit.relative_mse <= kReproduced;
  found.outcome = exact ? SearchOutcome::kExact : SearchOutcome::kStuck;
  if (otherwise.empty())
    otherwise = fmt::format("the network leaves {:.2g} of the variance", found.fit.relative_mse);
  found.said = exact ? fmt::format("exact with {} units", network.hidden()) : otherwise;
  found.checks.require("training rows reproduced to rounding", found.fit.relative_mse, kReproduced, exact,
                       std::move(otherwise));
  found.network = std::move(network);
  return found;
}

}  // namespace exhume::rectified
