// What recover() is asked: one struct for every number of hidden layers and every route.
//
//     layers     1, 2, ...   kAnyDepth: find the number       kImplied: what the other fields imply
//     widths     units of every hidden layer, or none: find them
//     route      "auto", or one name of the table of routes ('exhume routes')
//
// depth() says which number of hidden layers the fields ask for; where it is left open, recover() finds it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

struct RecoverOptions {
  static constexpr Index kImplied = 0, kAnyDepth = -1, kMostLayers = 8;

  Index layers = kImplied;    // hidden ones: 1 to kMostLayers, or one of the two above
  std::vector<Index> widths;  // of every hidden layer; empty: find them
  Matrix first_layer;  // k x (d+1), rows (w, b) up to scale and sign, of two hidden layers; empty: find it
  std::string route = "auto";
  std::uint64_t seed = 0;       // of every random choice
  double budget_seconds = 300;  // searches end here, with their best so far
  // Read by some routes only; the table of routes says by which.
  std::optional<Matrix> units;  // depth2: a rough guess of the units, rows (w, b) in the user's coordinates
  double leak = 0;              // slope of the units below zero, in [0, 1)
  // Of the units: a name of the table of activations, or auto: ReLUs, or smooth units where the samples show
  // some.
  std::string activation = "auto";
  Index candidates = 400;           // halfspaces that arbitrary noise chooses from
  Index most_patterns = 2'000'000;  // sign patterns that are looked at

  // Number of hidden layers, or kAnyDepth: `layers` where it is a number, otherwise as many as there are
  // widths, two above a given first layer, and else one (or kAnyDepth, where that was asked for).
  [[nodiscard]] Index depth() const;
  // The activation that routes fit which are not told by the samples: ReLU for auto.
  [[nodiscard]] std::string unit_name() const;
  // Units of the only hidden layer, where they are given.
  [[nodiscard]] std::optional<Index> hidden() const;
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

// "auto" or a whole number; "auto", one whole number, or several with commas between them ("20,20"; none for
// "auto"). Throw std::invalid_argument with the text.
[[nodiscard]] Index parse_layers(std::string_view text);
[[nodiscard]] std::vector<Index> parse_widths(std::string_view text);

}  // namespace exhume
#pragma GCC visibility pop
