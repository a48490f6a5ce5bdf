// Moments of a site (moments/partial_moments.h), edited and sealed again, as `recover --moments` reads them.
#include "moments/partial_moments.h"

#include "edited.h"
#include "exhume/samples.h"
#include "io/sealed.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr std::string_view kTag = "EXPARTM1";

std::string honest(int order) {
  RowMatrix x(400, 3), y(400, 2);
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) x(i, j) = static_cast<double>((i * (2 * j + 3) + 5 * j) % 17) - 8;
    y.row(i) << x(i, 0) * x(i, 1) + x(i, 2), static_cast<double>(i % 5);
  }
  const SamplePtr rows = memory_samples(std::move(x), std::move(y));
  return partial_moments(rows, order, nullptr, {}).serialise();
}

void moments(std::string_view script) {
  static const std::string files[] = {honest(2), honest(3), honest(4)};
  if (script.empty()) return;
  const std::string& file = files[static_cast<std::uint8_t>(script[0]) % 3];
  const std::string bytes = sealed(kTag, edited(file.substr(kTag.size() + 64), script.substr(1)));
  accepted([&] {
    PartialMoments read = PartialMoments::deserialise(bytes, "edited.moments");
    expect(read.rows() >= 1, "moments of no rows");
    const PartialMoments again = PartialMoments::deserialise(read.serialise(), "again.moments");
    expect(again.rows() == read.rows(), "moments change when they are written");
    for (int p = 0; p <= read.hermite.order; ++p) (void)read.hermite.estimate(p);
    read.merge(again);
    read.merge(PartialMoments::deserialise(file, "honest.moments"));
  });
}

const Registration registration("moments", moments);

}  // namespace
}  // namespace exhume::fuzz
