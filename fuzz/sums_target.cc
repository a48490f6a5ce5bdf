// Sums of a site (fit/partial_sums.h), edited and sealed again, as `exhume step` reads them.
#include "edited.h"
#include "exhume/samples.h"
#include "fit/partial_sums.h"
#include "io/sealed.h"
#include "target.h"

namespace exhume::fuzz {
namespace {

constexpr std::string_view kTag = "EXPARTS1";

Network network_of_sums() {
  Network network;
  network.W() = Matrix{{1, 2}, {-1, 0.5}};
  network.b() = Vector{{0.25, 0}};
  network.A() = Matrix{{1, -2}};
  network.c() = Vector{{0.5}};
  return network;
}

std::string honest_sums() {
  RowMatrix x(200, 2);
  for (Index i = 0; i < x.rows(); ++i)
    x.row(i) << static_cast<double>(i % 13) / 3 - 2, static_cast<double>(i % 7) / 2 - 1.5;
  RowMatrix y = evaluate(network_of_sums(), x);
  for (Index i = 0; i < y.rows(); ++i) y(i, 0) += 1e-3 * static_cast<double>(i % 3);
  const SamplePtr rows = memory_samples(std::move(x), std::move(y));
  return partial_sums(network_of_sums(), rows, {}).serialise();
}

void sums(std::string_view script) {
  static const std::string file = honest_sums();
  const std::string bytes = sealed(kTag, edited(file.substr(kTag.size() + 64), script));
  accepted([&] {
    PartialSums read = PartialSums::deserialise(bytes, "edited.sums");
    (void)read.relative_mse();
    read.merge(PartialSums::deserialise(file, "honest.sums"));
    (void)stepped(network_of_sums(), read, 1e-3);
  });
}

const Registration registration("sums", sums);

}  // namespace
}  // namespace exhume::fuzz
