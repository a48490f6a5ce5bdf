#include "judge/prepared.h"

#include <algorithm>

#include "data/reduce.h"
#include "data/resident.h"

namespace exhume {
namespace {

// Standardised samples of up to this many numbers (160 MB) are kept in memory instead of made anew every
// pass; with many inputs, which cost as many products for every number, up to 2 GB.
constexpr Index kKeptNumbers = 20'000'000, kKeptWide = 250'000'000, kWide = 256;
// Those that go to a device are kept here too, up to 16 GB.
constexpr Index kKeptSent = 2'000'000'000;

constexpr Index kSearchRows = 65'536, kSearchRowsPerSquare = 128, kPlenty = 8;

}  // namespace

Index rows_for_search(Index rows, Index inputs) {
  const Index enough = std::max(kSearchRows, kSearchRowsPerSquare * inputs * inputs);
  return rows / kPlenty >= enough ? enough : 0;
}

Index held_out_period(HoldOut rule, Index rows) {
  switch (rule) {
    case HoldOut::kFitted:
      return std::clamp<Index>(rows / std::max<Index>(250, rows / 50), 10, 50);
    case HoldOut::kExact:
      return rows < 60 ? 0 : rows < 4000 ? 10 : 20;
    case HoldOut::kTwentieth:
      return 20;
  }
  return 0;
}

Prepared::Prepared(const SamplePtr& samples, HoldOut rule, std::uint64_t seed, Certificate& certificate,
                   const Control& control)
    : control_(control), inspection_(inspect(*samples)) {
  if (!inspection_.repeated_rows) inspection_.repeated_rows = has_repeated_rows(*samples, control);
  rows_ = inspection_.repeated_rows ? distinct_rows(samples, control) : samples;
  const Index period = held_out_period(rule, rows_->rows());
  if (period == 0) {
    split_ = {rows_, memory_samples(RowMatrix(0, rows_->inputs()), RowMatrix(0, rows_->outputs()))};
  } else {
    split_ = split(rows_, period, seed);
  }
  certificate.rows = samples->rows();
  certificate.samples = rows_->rows();
  certificate.held_out = split_.held_out->rows();
  certificate.held_out_period = period;
  certificate.seed = seed;
}

Index Prepared::search_some(std::uint64_t seed) {
  const Index count = rows_for_search(split_.training->rows(), split_.training->inputs());
  if (count > 0) searched_ = random_subset(*split_.training, count, seed);
  return count;
}

const SecondMoments& Prepared::moments() {
  if (!moments_) moments_ = second_moments(searched_ ? *searched_ : *split_.training, control_);
  return *moments_;
}

const Standardisation& Prepared::coordinates() {
  if (!coordinates_) coordinates_ = standardise(moments());
  return *coordinates_;
}

const SamplePtr& Prepared::standard() {
  if (!standard_) {
    standard_ = affine(searched_ ? searched_ : split_.training, coordinates().map);
    const Index numbers = standard_->rows() * (standard_->inputs() + standard_->outputs());
    const bool sent =
        control_.device && worth_a_device(standard_->rows(), standard_->inputs(), standard_->outputs());
    const Index most = sent ? kKeptSent : standard_->inputs() >= kWide ? kKeptWide : kKeptNumbers;
    if (!standard_->distant() && numbers <= most) standard_ = load(*standard_, control_);
    standard_ = resident(standard_, control_);
  }
  return standard_;
}

const StoredPrecision& Prepared::precision() {
  if (precision_) return *precision_;
  // No rows are rounded as a whole that are not in part.
  if (searched_) precision_ = stored_precision(*searched_, control_);
  if (!searched_ || precision_->coarse()) precision_ = stored_precision(*split_.training, control_);
  return *precision_;
}

std::optional<RoundingNoise> Prepared::rounding() {
  if (!precision().coarse()) return std::nullopt;
  return precision().noise(coordinates().map.D.cwiseInverse());
}

}  // namespace exhume
