// Numbers of 16 bits as files store them: IEEE half precision and bfloat16. Both are exact as doubles.
#pragma once

#include <Eigen/Core>
#include <cstdint>

namespace exhume {

inline double from_half(std::uint16_t bits) {
  return static_cast<double>(static_cast<float>(Eigen::numext::bit_cast<Eigen::half>(bits)));
}
inline double from_bfloat(std::uint16_t bits) {
  return static_cast<double>(static_cast<float>(Eigen::numext::bit_cast<Eigen::bfloat16>(bits)));
}

}  // namespace exhume
