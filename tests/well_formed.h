// Is this markup well-formed? As an assertion of gtest.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "markup.h"

namespace exhume {

inline ::testing::AssertionResult well_formed(std::string_view text) {
  const std::string fault = markup_fault(text);
  return fault.empty() ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << fault;
}

}  // namespace exhume
