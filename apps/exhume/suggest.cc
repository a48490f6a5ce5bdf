#include "suggest.h"

#include <algorithm>

namespace exhume::cli {

int typing_distance(std::string_view a, std::string_view b) {
  // distance[i][j]: of the first i letters of a to the first j of b.
  std::vector<std::vector<int>> distance(a.size() + 1, std::vector<int>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = static_cast<int>(i + j);
        continue;
      }
      int& here = distance[i][j];
      here = distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      here = std::min({here, distance[i - 1][j] + 1, distance[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        here = std::min(here, distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  // A third of the letters may be wrong; more is another word.
  int least = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : known) {
    // A word that was cut short counts as one typing error.
    const bool begun = word.size() >= 3 && candidate.starts_with(word);
    const int distance = begun ? 1 : typing_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known,
                         const std::string& otherwise) {
  const std::string meant = nearest(word, known);
  return meant.empty() ? otherwise : "did you mean " + meant + "?";
}

}  // namespace exhume::cli
