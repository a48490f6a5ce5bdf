#include "exhume/inspect.h"

#include <algorithm>

#include "io/column_names.h"
#include "routes/outlook.h"

namespace exhume {

bool Outlook::fits() const {
  return obstacles.empty() &&
         std::any_of(routes.begin(), routes.end(), [](const RouteOutlook& r) { return r.applies; });
}

Outlook inspect(const SamplePtr& samples, const std::vector<std::string>& input_names,
                const std::vector<std::string>& output_names, const Control& control) {
  Outlook found = outlook(samples, control);
  for (std::vector<std::string>* list : {&found.advice, &found.obstacles}) {
    for (std::string& words : *list) words = with_column_names(words, input_names, output_names);
  }
  return found;
}

}  // namespace exhume
