#include "decompose/span_vectors.h"

#include <fmt/format.h>

#include <stdexcept>

#include "decompose/joint_diagonalisation.h"
#include "decompose/random_pair.h"
#include "decompose/span_als.h"
#include "decompose/subspace.h"

namespace exhume {

const char* to_string(SpanMethod method) {
  switch (method) {
    case SpanMethod::kPower:
      return "power";
    case SpanMethod::kRandomPair:
      return "random-pair";
    case SpanMethod::kAls:
      return "als";
    case SpanMethod::kJointDiagonalisation:
      return "joint-diagonalisation";
  }
  return "";
}

SpanMethod parse_span_method(std::string_view name) {
  for (const SpanMethod method :
       {SpanMethod::kPower, SpanMethod::kRandomPair, SpanMethod::kAls, SpanMethod::kJointDiagonalisation}) {
    if (name == to_string(method)) return method;
  }
  throw std::invalid_argument(
      fmt::format("span method is '{}', but must be power, random-pair, als or joint-diagonalisation", name));
}

Matrix span_vectors(const Matrix& basis, SpanMethod method, std::uint64_t seed) {
  switch (method) {
    case SpanMethod::kRandomPair:
      return random_pair_vectors(basis, seed);
    case SpanMethod::kAls: {
      SpanAlsOptions options;
      options.seed = seed;
      return span_als_vectors(basis, options);
    }
    case SpanMethod::kJointDiagonalisation:
      return joint_diagonalisation_vectors(basis);
    case SpanMethod::kPower:
      break;
  }
  PowerOptions options;
  options.seed = seed;
  options.starts_per_unit = 60;
  options.tolerance = 1e-13;
  options.max_iterations = 2000;
  // Nearly parallel vectors look like repeats of each other, and a poor span has poor maxima: where vectors
  // are missing, first tell maxima apart more finely, then lower the bar.
  struct Try {
    double accept, repeat_cosine;
  };
  Matrix found;
  for (const Try t : {Try{0.8, 0.985}, Try{0.8, 0.99999}, Try{0.5, 0.985}, Try{0.2, 0.985}}) {
    options.accept = t.accept;
    options.repeat_cosine = t.repeat_cosine;
    found = rank_one_by_restarts(basis, basis.cols(), options).directions;
    if (found.cols() == basis.cols()) break;
  }
  return found;
}

}  // namespace exhume
