#include <fmt/format.h>

#include "certify/entry_check.h"

namespace exhume {
namespace {

// Share of the outputs up to which rows are reproduced to the last bits: some four thousand of them, which
// sums of many terms and a fit's own condition cost.
constexpr double kLastBits = 1e-12;

}  // namespace

std::string double_precision_words(double share) {
  return share <= kLastBits ? "double precision" : fmt::format("{:.0e} of the outputs", share);
}

bool is_double_precision(const std::string& words) {
  return words == "double precision" || words.ends_with(" of the outputs");
}

}  // namespace exhume
