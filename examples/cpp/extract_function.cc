// extract_function: the weights of a function that can only be called.
#include <cmath>
#include <cstdio>

#include "exhume/extract.h"

namespace {

// Pretend that this is a service: f(x) = |x_0 + 2 x_1 - 1| - 3 max(x_1 - x_2, 0) + x_2.
exhume::RowMatrix service(const Eigen::Ref<const exhume::RowMatrix>& x) {
  exhume::RowMatrix y(x.rows(), 1);
  for (exhume::Index i = 0; i < x.rows(); ++i) {
    y(i, 0) = std::abs(x(i, 0) + 2 * x(i, 1) - 1) - 3 * std::fmax(x(i, 1) - x(i, 2), 0) + x(i, 2);
  }
  return y;
}

}  // namespace

int main() {
  exhume::ExtractOptions options;
  options.queries = 5000;  // at most
  const exhume::ExtractResult found =
      exhume::extract(exhume::function_oracle(service, 3, "the service"), options);

  std::printf("%s after %td queries: %s\n", to_string(found.certificate.status), found.queries,
              found.certificate.reason.c_str());
  const exhume::Network& network = found.network;
  for (exhume::Index unit = 0; unit < network.hidden(); ++unit) {
    std::printf("unit %td:", unit);
    for (exhume::Index input = 0; input < network.inputs(); ++input)
      std::printf(" %+.6f", network.W()(unit, input));
    std::printf(", bias %+.6f, times %+.6f\n", network.b()(unit), network.A()(0, unit));
  }
  return found.certificate.status == exhume::Status::kCertified ? 0 : 3;
}
