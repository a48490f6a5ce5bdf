// An independent re-check of a result: of its network against samples, and of all that its certificate
// states.
//
// A folder that `recover`, `extract`, `memorize` or a threshold learner wrote holds a certificate. Checked
// are its digest and signature, the files it names, the model's bytes, the page, and every number that model
// and samples give again. A model alone is checked against samples alone:
//
//     relative mse = sum_i |y_i - f(x_i)|^2 / sum_i |y_i - mean(y)|^2
//
// The model is evaluated by naive loops in long double that share no code with the solvers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exhume/control.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// How well a network meets samples.
struct Verification {
  Index rows = 0;           // rows checked: all of them
  double relative_mse = 0;  // 0 / 0, constant outputs that are met exactly, counts as 0
  double rms_error = 0;     // sqrt of the mean over rows and outputs of (y - f)^2
  double worst_error = 0;   // largest |y - f| over rows and outputs
  Index worst_row = -1;     // where it is, counted from 0; -1 where there are no rows
  Index worst_output = -1;
};

enum class Outcome {
  kGood,
  kBad,
  kUnchecked,  // samples cannot show it
};

// One thing that was looked at.
struct Finding {
  std::string part;  // "certificate", "network", or the role of a file: what is to blame where it is bad
  Outcome outcome = Outcome::kGood;
  std::string words;
  [[nodiscard]] bool bad() const { return outcome == Outcome::kBad; }
};

struct VerifyOptions {
  std::string model;  // a folder with a certificate, or a model (.safetensors, .npz, .onnx)
  std::vector<std::string>
      samples{};  // inputs and outputs, one table or one .npz; none: those of the certificate
  // Of one table: the columns that are outputs, "y" or "y1,y2"; absent: what the certificate says, or the
  // last.
  std::optional<std::string> target{};
  std::optional<double> tolerance{};  // largest relative mse to accept; empty: 1e-12 without a certificate
  bool network_only = false;          // leave the certificate beside the network alone
  std::string key{};  // file of a public key: the certificate must be signed with its private one
};

struct VerifyResult {
  bool agrees = false;                 // everything that was checked is as stated, or within the tolerance
  bool verified = false;               // and the certificate, where there is one, says certified or estimated
  std::string status{}, reason{};      // of the certificate; empty where there is none
  std::optional<Verification> rows{};  // over all rows; empty where rows say nothing of the model
  std::optional<double> accepted{};  // the largest relative mse to accept, where the rows were judged by one
  std::vector<Finding> findings{};
};

// Throws DataError where the files cannot be read or do not belong together, std::invalid_argument for
// options that do not go together, Interrupted.
[[nodiscard]] VerifyResult verify(const VerifyOptions& options, const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
