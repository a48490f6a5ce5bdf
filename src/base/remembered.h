// Memoises an expensive computation with a small result: a journal of passes (passes/journal.h) keeps the
// result, so that a resumed run does not compute it again.
//
//     const Student student = remembered(control, "student", [&] { return train(...); });
//
// Without a journal this is a call of `make`.
#pragma once

#include <string_view>

#include "base/inside_parallel.h"
#include "base/packed.h"
#include "base/passes.h"
#include "exhume/control.h"

namespace exhume {

template <class Make>
[[nodiscard]] auto remembered(const Control& control, std::string_view name, const Make& make) {
  if (!control.passes || inside_parallel_for()) return make();
  return unpacked<decltype(make())>(control.passes->once(name, [&] { return packed(make()); }));
}

}  // namespace exhume
