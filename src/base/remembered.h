// Memoises an expensive computation with a small result: a journal of passes (passes/journal.h) keeps the
// result, and the work that it took (Control::spend), which counts again where the result is only read.
//
//     const Student student = remembered(control, "student", [&] { return train(...); });
//
// Without a journal this is a call of `make`.
#pragma once

#include <string_view>
#include <utility>

#include "base/inside_parallel.h"
#include "base/packed.h"
#include "base/passes.h"
#include "exhume/control.h"

namespace exhume {

template <class Make>
[[nodiscard]] auto remembered(const Control& control, std::string_view name, const Make& make) {
  if (!control.passes || inside_parallel_for()) return make();
  using Kept = std::pair<decltype(make()), double>;
  const double before = control.spent();
  auto [made, work] = unpacked<Kept>(control.passes->once(name, [&] {
    return packed(Kept{make(), control.spent() - before});
  }));
  control.spend(before + work - control.spent());  // nothing where it was made here
  return std::move(made);
}

}  // namespace exhume
