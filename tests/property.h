// RapidCheck with a seed that does not come from the clock: a test that passes today passes tomorrow.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iostream>
#include <utility>

namespace exhume {

// True if the property holds for `cases` random inputs; prints the smallest counterexample, with its seed,
// otherwise.
template <class Property>
bool property_holds(Property&& property, int cases = 300, std::uint64_t seed = 1) {
  rc::detail::TestParams params;
  params.seed = seed;
  params.maxSuccess = cases;
  const auto result =
      rc::detail::checkTestable(std::forward<Property>(property), rc::detail::TestMetadata(), params);
  const bool good = result.template is<rc::detail::SuccessResult>();
  if (!good) {
    std::cerr << "seed " << seed << "\n";
    rc::detail::printResultMessage(result, std::cerr);
    std::cerr << std::endl;
  }
  return good;
}

}  // namespace exhume
