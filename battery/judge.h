// What recover said of an instance, and whether it is true.
//
//     certified   true where the outputs are a network's as they were stored, its weights lie in the stated
//                 error (no less than 1e-7) of those recovered, and E|f - fhat|^2 on fresh inputs within the
//                 stated bound
//     estimated   true where E|f - fhat|^2 lies within the stated bound and, if the data are a network of no
//                 more units than were found plus independent noise, every weight within six standard errors
//
// Whatever else recover says claims nothing and cannot be false.
#pragma once

#include "exhume/certificate.h"
#include "kind.h"

namespace exhume {

struct Judgement {
  Status status = Status::kRefused;
  bool right_units = false;  // as many as the teacher
  std::string untrue;        // what is not true of a claim; empty where nothing is, or nothing was claimed
  std::string reason;
  std::string tried;  // routes and their outcomes, for those who look why
  double error = 0;   // E|f - fhat|^2 on fresh inputs
  double bound = 0;   // as stated
  double seconds = 0;

  // Certified or estimated, with the right number of units, and true.
  [[nodiscard]] bool recovered() const { return stands(status) && right_units && untrue.empty(); }
};

// Recovers the instance on one thread, then judges.
[[nodiscard]] Judgement judge(const Kind& kind, std::uint64_t seed);

}  // namespace exhume
