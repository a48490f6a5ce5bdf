// What was recovered from samples, and what is known about it: one type for every route and depth.
//
//     certificate     status, reason, what was assumed and tried      exhume/certificate.h
//     network         canonical form, in the user's coordinates
//     errors          how far its outputs and its weights may be off
//     diagnostics     how it was found, for pictures
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/network.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// How far the weights are determined by the function, to first order: a network of as many units near this
// one that differs from it by epsilon (root of E|f - f'|^2 over the samples' inputs) has weights within delta
// of these, because
//
//     |theta_p| <= epsilon sqrt(n [(J^T J)^-1]_pp)      for every parameter p (Cauchy-Schwarz),
//
// J the Jacobian in canonical coordinates (unit rows of W).
struct Identifiability {
  double smallest_singular = 0;  // of J's directions of W and b, over sqrt(rows) and the outputs' spread
  double epsilon = 0;            // root of the bound on E|f - fhat|^2
  double delta = 0;
};

// A number that a reader of noisy data asks for, in the data's own units: where a column is measured in
// another unit, the number and its interval change as that does, and value / error not at all.
//
//     bend       A_oi W_ij           by how much the slope of output o along input j changes where unit i
//     bends
//     before     slope of output o along input j beside that hinge where unit i is off, and
//     after      where it is on: at the point of the hinge that is nearest to the mean of the inputs, in the
//                metric of their covariance
//     hinge      where unit i bends along input j, the other inputs at their means
//     size       A_oi sd(W_i . x)    change of output o over a standard deviation of what the unit sees
//     offset     A_oi b_i
//     slope      L_oj                of a linear term, or of a linear regression where there is no unit
//     constant   c_o
struct Effect {
  std::string kind;
  Index unit = -1, input = -1, output = -1;  // from 0; -1 where there is none
  double value = 0;
  double error = 0;             // standard error; of a hinge 0: its interval is Fieller's
  double lower = 0, upper = 0;  // of the 95% interval; infinite where it is open
};

// How far outputs and weights may be off.
struct Errors {
  double heldout_relative_mse = 0;  // mean squared error on the held-out rows / variance of the outputs
  double heldout_mean_square = 0;   // of the held-out errors, summed over outputs
  double training_relative_mse = 0;
  double noise_sd = 0;      // estimated standard deviation of the noise, 0 where none is visible
  Matrix noise_covariance;  // of the outputs, m x m; empty where none is visible
  Network standard_errors;  // same shapes as `network`; empty where they were not computed
  double max_standard_error = 0;
  // Noisy data, one hidden layer or none. Standard errors hold where the size of the noise depends on the
  // inputs; `reach` of them on either side make a 95% interval (Student's t).
  std::vector<Effect> effects;    // empty where none are stated
  double degrees_of_freedom = 0;  // rows times outputs less what was fitted
  double reach = 1.96;
  double coverage = 0;  // share of such intervals that held the truth, measured at as many rows per weight
  std::string no_intervals;  // why no intervals are stated; empty where they are, or there is no noise
  // Share of the outputs' variance that a further unit may explain and stay unseen in the noise: the number
  // of units is a lower bound. 0 without noise.
  double unseen_unit = 0;
  double functional_error_bound = 0;  // on E|f - fhat|^2 (summed over outputs), at `confidence`
  double confidence = 0.999;
  std::string bound_from;                          // which residuals the bound rests on, in words
  std::optional<Identifiability> identifiability;  // of one hidden layer; empty where it was not computed
  // Several hidden layers: smallest singular value of the Jacobian, layer by layer, and how far other
  // networks of these widths may be, in standardised coordinates.
  std::vector<double> smallest_singular;
  double weights_within = 0;
};

// One accepted step of the polish.
struct PolishStep {
  std::string stage;  // "rounds on the residual", "sign-free" or "signed"
  int iteration = 0;
  double relative_mse = 0;  // mean squared residual / variance of the outputs
};

// A wide network trained by gradient steps, and what became of it.
struct StudentTrial {
  std::vector<Index> widths;
  double trained = 0;   // relative error of the student
  double polished = 0;  // and of what the polish made of it; 0 where it was not polished
};

// Rows along one unit of a single hidden layer, averaged at points along z = w.x + b: what the other units
// leave of the output on which this one acts most, and the unit itself. The two agree where the network is
// right.
struct HingeProfile {
  Index unit = 0, output = 0;
  Vector at, mean, own;  // z, the output less the other units, the unit
};

// How the network was found: for pictures.
struct Diagnostics {
  Vector singular_values;              // of the moment whose rank is the number of units
  double noise_floor = 0;              // singular values below it are sampling noise
  Index gap_units = 0;                 // number of singular values above the floor
  std::vector<PolishStep> descent;     // how the polish went
  std::vector<StudentTrial> students;  // of several hidden layers
  RowMatrix predicted, observed;       // at most 500 held-out rows x m
  Vector activity;                     // share of rows on which each unit is active
  std::vector<HingeProfile> profiles;  // of the first units
  Vector gaps;                         // exact finish: of every start
};

struct Result {
  Certificate certificate;
  Network network;                  // without units where refused
  std::string activation = "relu";  // of its units
  std::string precision;  // to what the rows are reproduced, where certified: "single precision, 2e-08"
  bool signs_identifiable = true;
  bool plain = true;    // several hidden layers: without skip terms
  bool minimal = true;  // several hidden layers: no unit can be removed, each was tried
  std::vector<std::pair<Index, Index>> support;  // sparse noise: entries (row, output) that were hit
  Errors errors;
  Diagnostics diagnostics;

  [[nodiscard]] bool is_deep() const { return network.depth() > 1; }
};

}  // namespace exhume
#pragma GCC visibility pop
