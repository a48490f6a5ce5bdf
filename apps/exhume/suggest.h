// Words that were mistyped: the one that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace exhume::cli {

// Letters to insert, to leave away, to exchange or to swap with their neighbour until `a` is `b`.
[[nodiscard]] int typing_distance(std::string_view a, std::string_view b);

// The known word nearest to `word`, or empty where none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

// "did you mean recover?", or `otherwise` where no known word is near.
[[nodiscard]] std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                                       const std::string& otherwise);

}  // namespace exhume::cli
