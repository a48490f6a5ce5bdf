// A kind of data: how it is made, and what may be said of it.
//
//     exact     a network of one hidden layer of ReLUs, outputs to double precision or as they were stored
//     noise     such a network plus independent noise
//     outside   anything else
//
// An instance holds its own truth: f at fresh inputs of the same distribution, and the network where there is
// one. docs/battery-table.md has the kinds by name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exhume/network.h"
#include "exhume/types.h"

namespace exhume {

enum class Truth { kExact, kNoise, kOutside };

struct Instance {
  RowMatrix x, y;
  RowMatrix fresh_x, fresh_f;     // inputs of the same distribution, and f there without noise
  Network teacher;                // empty where there is none
  std::optional<Index> hidden{};  // the number of units, where it is told
};

struct Kind {
  std::string name;
  Truth truth;
  bool recoverable;
  std::function<Instance(std::uint64_t seed)> make;
};

// Each in the file of its name.
[[nodiscard]] std::vector<Kind> exact_kinds();
[[nodiscard]] std::vector<Kind> stored_kinds();
[[nodiscard]] std::vector<Kind> noise_kinds();
[[nodiscard]] std::vector<Kind> outside_kinds();

}  // namespace exhume
