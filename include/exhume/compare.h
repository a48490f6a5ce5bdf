// Are two networks the same function, and if not, where do they differ and by which units?
//
//     D(x) = max_o |g_o(x) - f_o(x)|       over a domain: a box, low <= x <= high
//
// Each of the two is a network in a file or in memory, or an oracle. One verdict:
//
//     same network    units match one to one and weights agree to rounding; D is bounded over the domain
//     same function   D is at most the tolerance: proved over the box for two files; for a black box no
//                     difference in N queries, so that at the confidence c it is different on at most the
//                     share log(1/(1-c)) / N of the domain
//     rounding        the difference is what evaluation or storage in float32, float16 or int8 makes
//     different       an input with D above the tolerance, and units that are changed, missing or extra
//     undecided       lower <= max D <= upper, and the tolerance lies between
//
// Without a tolerance only rounding is accepted. docs/audit.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/oracle.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

enum class CompareVerdict { kSameNetwork, kSameFunction, kRounding, kDifferent, kUndecided };
// "same_network", "same_function", "rounding", "different", "undecided".
[[nodiscard]] const char* to_string(CompareVerdict verdict);

struct CompareOptions {
  bool free_signs = false;            // let units be turned around, at the price of a linear term
  std::optional<double> tolerance{};  // largest D to accept; none: what rounding explains
  // The domain: one number for all inputs or one per input. None: the range of `rows`, or -1 to 1.
  Vector low{}, high{};
  RowMatrix rows{};          // inputs that matter, rows x d; may be empty
  Index budget = 0;          // boxes of the proof, for two networks; without a tolerance a tenth of them once
                             // a difference is found. 0: ten seconds' worth, with a tolerance some minutes
  double ratio = 1.1;        // a proof ends where upper <= ratio * lower
  Index queries = 10'000;    // of a black box, at most
  bool inside = false;       // no query outside the domain
  double confidence = 0.95;  // of what is said of a black box
  std::uint64_t seed = 0;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// One of the two.
struct ComparedModel {
  std::string name{};                // of the file, or of the oracle
  std::optional<Network> network{};  // empty: only the oracle is known
  OraclePtr oracle{};                // empty: the network is what is asked
};

// A unit that is not the same in both, in the numbering of the files, from 0. layer = number of hidden
// layers: an output. A row of -1: that network has no such unit.
struct ComparedUnit {
  Index layer = 0;
  Index first_row = -1, second_row = -1;
  double change = 0;     // largest change of a weight on it, by its effect, over the size of the row
  std::string weight{};  // which weight that is: "weight on unit 3 of layer 1", "bias"
  double first_weight = 0, second_weight = 0;  // in the scale of the first
  bool acts = true;                            // on somewhere in the domain, as far as was found
  double share = 0;                            // of random inputs of the domain at which it is on
  Vector input{};                              // an input of the domain that sets it off
  Vector weights{};  // of a unit that only one of them has: its row, without skip terms, and its bias
};

// The worst difference of each kind of parameter of one matched pair of units, counted from 0 in canonical
// order.
struct UnitDifference {
  Index first = 0, second = 0;
  bool turned = false;  // the first had to be turned around
  double weights = 0, bias = 0, outputs = 0;
  [[nodiscard]] double worst() const { return std::max({weights, bias, outputs}); }
};

struct LayerDifference {
  Index units = 0;
  double worst_error = 0;
  std::vector<Index> match{};  // unit i of the first is match[i] of the second; empty for the outputs
};

// Parameters of two networks of the same shape after aligning their units, rows of hidden units of unit norm.
struct NetworkComparison {
  bool comparable = false;  // same inputs, outputs and widths, units that do nothing not counted
  double worst_error = 0;   // largest difference of a parameter
  double rms_error = 0;
  bool deep = false;  // one of them has several hidden layers: `layers` are filled in, otherwise `units`
  std::string first_shape{}, second_shape{};         // "10 → 20 → 1", without units that do nothing
  std::vector<Index> first_units{}, second_units{};  // of every layer, outputs last; of deep networks
  std::vector<UnitDifference> units{};               // those that differ most first
  std::vector<LayerDifference> layers{};
};

struct CompareResult {
  CompareVerdict verdict = CompareVerdict::kUndecided;
  std::string reason{};           // one sentence
  std::string first{}, second{};  // names
  bool black_box = false;         // one of them was only asked
  Vector low{}, high{};           // the domain
  bool domain_given = false;
  std::optional<double> tolerance{};
  double accepted = 0;  // the largest D that counts as the same

  double worst_difference = 0;  // the largest D found
  Vector worst_input{}, first_outputs{}, second_outputs{};
  // D is above what is accepted here too, with as few entries off the middle of the domain (or the first row
  // of data) as was found.
  Vector simple_input{};
  double simple_difference = 0;
  std::string simple_words{};  // "the middle of the domain but for inputs 2, 5"

  double lower = 0;  // proved: lower <= max D <= upper; infinite where nothing is proved
  double upper = std::numeric_limits<double>::infinity();
  Index boxes = 0, leaves = 0;
  std::string tree{};  // of the boxes (src/compare/split.h)

  Index matched = 0;                                        // units with a partner, outputs not counted
  std::vector<ComparedUnit> changed{}, missing{}, extra{};  // worst first; missing: in the first alone
  std::string arithmetic{};            // that explains the difference: "float32", "int8"; empty: none
  std::vector<std::string> remarks{};  // each a sentence

  Index queries = 0, random_queries = 0, kink_queries = 0, far_queries = 0;
  double confidence = 0;    // of a black box: at this confidence
  double unseen_share = 1;  // they differ on less than this share of the domain

  std::optional<NetworkComparison> parameters{};  // of two networks
  std::vector<Matrix> weight_changes{};  // of every layer: second less first, rows as matched, by source
  Vector random_differences{}, row_differences{};  // D at random inputs of the domain, and at the rows
  Certificate certificate{};

  [[nodiscard]] bool same() const {
    return verdict == CompareVerdict::kSameNetwork || verdict == CompareVerdict::kSameFunction ||
           verdict == CompareVerdict::kRounding;
  }
};

// Throws DataError where one cannot be asked, std::invalid_argument, Interrupted.
[[nodiscard]] CompareResult compare(const ComparedModel& first, const ComparedModel& second,
                                    const CompareOptions& options = {}, const Control& control = {});

// Two files (.safetensors, .npz, .onnx). Networks of other rectified units than ReLUs are compared by their
// parameters alone. Throws DataError where one is no network, or their activations differ.
[[nodiscard]] CompareResult compare(const std::string& first, const std::string& second,
                                    const CompareOptions& options = {}, const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
