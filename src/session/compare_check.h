// The certificate of a comparison, checked again from the two files and the tree of boxes.
//
//   boxes     the leaves cover the domain (cuts at the middle, whole tree), and the bound of every leaf is at
//             most the upper end that is stated
//   inputs    at the worst input plain loops in long double give the outputs that are stated, and their
//             difference is at least the lower end; random inputs stay below the upper end
//   verdict   the one that these numbers give
//
// Of a black box only the file is at hand: its outputs are checked, and that the rest is not is said.
#pragma once

#include <filesystem>
#include <vector>

#include "certify/certificate_json.h"
#include "exhume/control.h"
#include "exhume/verify.h"

namespace exhume {

inline constexpr const char* kComparisonKind = "comparison";

[[nodiscard]] std::vector<Finding> check_comparison(const Document& document,
                                                    const std::filesystem::path& folder,
                                                    const Control& control);

}  // namespace exhume
