// A network as the judge sees it: what depends on the number of its hidden layers.
//
//     place       the network in the user's coordinates, canonical, into the result
//     predict     its outputs
//     measure     noise, standard errors, bound on the function's error, how far weights are determined
//     check       the checks of its verdict
//     conclude    what follows from the verdict, and from what that no sample can show
//
// The judge (judge/judge.h) calls them in this order.
#pragma once

#include <string>

#include "certify/certify.h"
#include "exhume/options.h"
#include "exhume/result.h"
#include "judge/found.h"
#include "judge/prepared.h"

namespace exhume {

// What a judge has before it: all of it outlives the judgement.
struct JudgeInput {
  Prepared& data;
  Found& found;
  const RecoverOptions& options;
  const Control& control;
  double spent = 0;        // seconds until the search ended
  bool as_stored = false;  // the network was read from a file and stays as it is, bit by bit
};

// The best status that the checks allow, and the reason that is stated with it.
struct Verdict {
  Status best = Status::kCertified;
  std::string reason;
};

class JudgedNetwork {
 public:
  virtual ~JudgedNetwork() = default;

  virtual void place(Result& result) = 0;
  [[nodiscard]] virtual RowMatrix predict(const Result& result,
                                          const Eigen::Ref<const RowMatrix>& x) const = 0;
  virtual void measure(HeldOutCheck& held_out, Result& result) = 0;
  [[nodiscard]] virtual Verdict check(const HeldOutCheck& held_out, Result& result, Checks& checks) = 0;
  // Checks that are made where those before them failed: they may explain it.
  virtual void explain_failure(Checks& /*checks*/) {}
  virtual void conclude(Result& result) = 0;
};

}  // namespace exhume
