#include <string_view>

#include "base/packed.h"
#include "linalg/symmetric_matrix.h"
#include "moments/moments.h"

namespace exhume {
namespace {

constexpr std::string_view kSecondTag = "EXSECND2", kHermiteTag = "EXHERMT3";

void require(bool fits) {
  if (!fits) throw DataError("the saved moments have shapes that do not fit together; compute them again");
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
  const Index size = result.centred.rows();
  require(result.inputs >= 0 && result.outputs >= 0 && result.count >= 0 &&
          size == result.inputs + result.outputs && result.centred.cols() == size &&
          result.mean.size() == size);
  return result;
}

std::string HermiteMoments::serialise() const { return std::string(kHermiteTag) + packed(*this); }

HermiteMoments HermiteMoments::deserialise(const std::string& bytes) {
  auto result = behind<HermiteMoments>(kHermiteTag, bytes);
  const Index d = result.inputs, m = result.outputs;
  constexpr Index kMost = 1 << 20;
  require(d >= 0 && d < kMost && m >= 0 && m < kMost && result.order >= 0 && result.order <= 4);
  const Index p = symmetric_size(d);
  for (int h = 0; h < 2; ++h) {
    const RawSums& sums = result.sums[h];
    const Matrix* const orders[4] = {&sums.order1, &sums.order2, &sums.order3, &sums.order4};
    const Index rows[4] = {d, p, p, p}, columns[4] = {m, m, d * m, p * m};
    require(result.count[h] >= 0 && sums.order0.size() == m);
    for (int i = 0; i < 4; ++i) {
      const bool there = i < result.order;
      require(there ? orders[i]->rows() == rows[i] && orders[i]->cols() == columns[i]
                    : orders[i]->size() == 0);
    }
  }
  return result;
}

}  // namespace exhume
