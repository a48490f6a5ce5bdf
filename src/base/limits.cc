#include "base/limits.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace exhume {

double normal_limit(double false_alarm, double tests) {
  const double tail = false_alarm / (2 * std::max(tests, 1.0));
  return boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
}

double chi_squared_limit(double freedom, double false_alarm, double tests) {
  if (!(freedom > 0)) return 0;  // a sum of nothing
  const double tail = false_alarm / std::max(tests, 1.0);
  return boost::math::quantile(boost::math::complement(boost::math::chi_squared(freedom), tail));
}

double student_limit(double false_alarm, double freedom) {
  const boost::math::students_t law(std::max(freedom, 1.0));
  return boost::math::quantile(boost::math::complement(law, false_alarm / 2));
}

double confidence_deviations() { return normal_limit(1 - kConfidence, 1); }

double unseen_share(double rows) { return std::min(1.0, -std::log(1 - kConfidence) / std::max(rows, 1.0)); }

}  // namespace exhume
