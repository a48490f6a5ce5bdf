#include <string_view>

#include "base/packed.h"
#include "linalg/symmetric_matrix.h"
#include "moments/moments.h"
#include "moments/whole_moments.h"

namespace exhume {
namespace {

constexpr std::string_view kSecondTag = "EXSECND2", kHermiteTag = "EXHERMT3";

void require(bool fits) {
  if (!fits) throw DataError("the saved moments have shapes that do not fit together; compute them again");
}

constexpr Index kMostColumns = 1 << 20, kMostRows = Index{1} << 50;

bool is_whole(const SecondMoments& moments) {
  const Index d = moments.inputs, m = moments.outputs;
  return d >= 0 && d < kMostColumns && m >= 0 && m < kMostColumns && moments.count >= 0 &&
         moments.count < kMostRows && moments.centred.rows() == d + m && moments.centred.cols() == d + m &&
         moments.mean.size() == d + m;
}

bool is_whole(const HermiteMoments& moments) {
  const Index d = moments.inputs, m = moments.outputs;
  if (d < 0 || d >= kMostColumns || m < 0 || m >= kMostColumns || moments.order < 0 || moments.order > 4)
    return false;
  const Index p = symmetric_size(d);
  for (int h = 0; h < 2; ++h) {
    const RawSums& sums = moments.sums[h];
    const Matrix* const orders[4] = {&sums.order1, &sums.order2, &sums.order3, &sums.order4};
    const Index rows[4] = {d, p, p, p}, columns[4] = {m, m, d * m, p * m};
    if (moments.count[h] < 0 || moments.count[h] >= kMostRows || sums.order0.size() != m) return false;
    for (int i = 0; i < 4; ++i) {
      const Matrix& sum = *orders[i];
      if (i >= moments.order ? sum.rows() != 0 || sum.cols() != 0
                             : sum.rows() != rows[i] || sum.cols() != columns[i])
        return false;
    }
  }
  return true;
}

[[noreturn]] void refuse_sum() {
  throw DataError(
      "a sum has other shapes than these samples give; it was changed, or made by another program");
}

template <class Moments>
Moments behind(std::string_view tag, std::string_view bytes) {
  if (!bytes.starts_with(tag)) throw DataError("these are no moments of this version; compute them again");
  return unpacked<Moments>(bytes.substr(tag.size()));
}

}  // namespace

std::string SecondMoments::serialise() const { return std::string(kSecondTag) + packed(*this); }

SecondMoments SecondMoments::deserialise(const std::string& bytes) {
  auto result = behind<SecondMoments>(kSecondTag, bytes);
  require(is_whole(result));
  return result;
}

void require_fit(const SecondMoments& moments, const SecondMoments& like) {
  if (moments.inputs != like.inputs || moments.outputs != like.outputs || !is_whole(moments)) refuse_sum();
}

std::string HermiteMoments::serialise() const { return std::string(kHermiteTag) + packed(*this); }

HermiteMoments HermiteMoments::deserialise(const std::string& bytes) {
  auto result = behind<HermiteMoments>(kHermiteTag, bytes);
  require(is_whole(result));
  return result;
}

void require_fit(const HermiteMoments& moments, const HermiteMoments& like) {
  if (moments.inputs != like.inputs || moments.outputs != like.outputs || moments.order != like.order ||
      !is_whole(moments))
    refuse_sum();
}

}  // namespace exhume
