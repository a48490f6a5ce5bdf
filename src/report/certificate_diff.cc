#include "report/certificate_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/limits.h"

namespace exhume {
namespace {

// Of singular values, which Lanczos' iteration finds to a thousandth.
constexpr double kSameSingular = 5e-3;
// Factor between two numbers that are rounding errors, and the size below which they say nothing (of the
// outputs' standard deviation).
constexpr double kSameRounding = 100, kRoundingSize = 1e-16;
constexpr double kNextToNothing = 1e-9;  // of outputs of size 1, what rounding errors may come to
// Numbers within sentences have two digits or three.
constexpr double kSameDigits = 0.06;
// Numbers in pictures are rounded to seven digits of the largest.
constexpr double kDrawn = 1e-9;
constexpr std::size_t kMostSaid = 20;
constexpr const char* kToRounding = "training rows reproduced to rounding";

// What a number is, hence how two of them may differ.
enum class Like {
  kSum,        // of many terms
  kSingular,   // a singular value
  kShare,      // of the outputs' variance; this and those below may be rounding errors
  kConverted,  // the same, of weights that went through other coordinates: at most kReproduced
  kLeft,       // of what a fit leaves, which may be much: rounding errors where it is next to nothing
  kRoot,       // in the outputs' units
  kSquare,     // in their squares
};
struct Kind {
  const char* path;
  Like like;
};
constexpr Kind kKinds[] = {{"heldout_relative_mse", Like::kShare},
                           {"training_relative_mse", Like::kConverted},
                           {"heldout_mean_square", Like::kSquare},
                           {"functional_error_bound", Like::kSquare},
                           {"identifiability.smallest_singular", Like::kSingular},
                           {"identifiability.epsilon", Like::kRoot},
                           {"identifiability.delta", Like::kRoot},
                           {"smallest_singular", Like::kSingular},
                           {"weights_within", Like::kShare},
                           {"logged_worst", Like::kShare},
                           {"fresh_worst", Like::kShare},
                           {"relative_error", Like::kLeft},
                           {"given_relative_error", Like::kLeft},
                           {"worst_error", Like::kLeft},
                           {"general_position.sigma", Like::kSingular},
                           {"general_position.sigma_max", Like::kSingular},
                           {"general_position.condition", Like::kSingular}};
// Sentences, and whatever else has numbers between words.
constexpr const char* kSentences[] = {"reason",  "verdict",   "bound_from", "conclusion",
                                      "assumed", "precision", "moves.why"};

template <class List>
bool has(const List& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list), [&](const auto& one) { return name == one; });
}

std::string shown(const Json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_string()) return fmt::format("'{}'", words(value).substr(0, 200));
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return to_line(value).substr(0, 80);
}

bool is_whole(const char* from, const char* to) {
  return std::none_of(from, to, [](char c) { return c == '.' || c == 'e' || c == 'E'; });
}

// The same words with the same numbers between them, as far as their digits go.
bool same_sentence(const std::string& a, const std::string& b, bool rounding) {
  const char *p = a.c_str(), *q = b.c_str();
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  while (*p != '\0' && *q != '\0') {
    if (digit(*p) && digit(*q)) {
      char *p_end = nullptr, *q_end = nullptr;
      const double u = std::strtod(p, &p_end), v = std::strtod(q, &q_end);
      const double larger = std::max(u, v), smaller = std::min(u, v);
      const bool both_rounding = rounding && larger < 1e-10;
      const double allowed = is_whole(p, p_end) && is_whole(q, q_end) ? 0 : kSameDigits;
      if (larger - smaller > allowed * larger && !(both_rounding && larger <= kSameRounding * smaller))
        return false;
      p = p_end;
      q = q_end;
    } else if (*p++ != *q++) {
      return false;
    }
  }
  return *p == *q;
}

class Diff {
 public:
  explicit Diff(const DiffRules& rules) : rules_(rules) {}

  std::vector<std::string> run(const Json& stated, const Json& again) {
    walk("", stated, again);
    if (said_.size() > kMostSaid) {
      const std::size_t more = said_.size() - kMostSaid;
      said_.resize(kMostSaid);
      said_.push_back(fmt::format("{} more of what it states is not so", more));
    }
    return std::move(said_);
  }

 private:
  void say(std::string what) {
    if (!has(said_, what)) said_.push_back(std::move(what));
  }
  [[nodiscard]] bool open(const std::string& path) const {
    return has(open_fields(), path) || has(rules_.open, path);
  }

  void walk(const std::string& path, const Json& stated, const Json& again) {
    if (open(path)) return;
    if (path == "assumptions") {
      compare_checks(stated, again);
    } else if (path.starts_with("pictures.") || path == "sections") {
      compare_drawn(path, stated, again);
    } else if (stated.is_object() && again.is_object()) {
      compare_keys(path, stated, again);
    } else if (stated.is_array() && again.is_array()) {
      if (stated.size() != again.size()) {
        say(fmt::format("it states {} entries of {}, but there are {}", stated.size(), path, again.size()));
        return;
      }
      for (std::size_t i = 0; i < stated.size(); ++i) walk(path, stated[i], again[i]);
    } else {
      compare_value(path, stated, again);
    }
  }

  void compare_keys(const std::string& path, const Json& stated, const Json& again) {
    const auto below = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
    const auto asked = [&](const std::string& key) {
      return !path.empty() || rules_.only.empty() || has(rules_.only, key);
    };
    for (const auto& [key, value] : again.items()) {
      const auto other = stated.find(key);
      if (!asked(key)) continue;
      if (other != stated.end()) {
        walk(below(key), *other, value);
      } else if (rules_.same_version && !open(below(key))) {
        say(fmt::format("it leaves out {}, which its files give", below(key)));
      }
    }
    for (const auto& [key, value] : stated.items()) {
      if (again.contains(key) || !asked(key) || value.is_null() || open(below(key))) continue;
      if (rules_.same_version && rules_.only.empty())
        say(fmt::format("it states {}, which no certificate of such a result does", below(key)));
    }
  }

  void compare_value(const std::string& path, const Json& stated, const Json& again) {
    Like like = Like::kSum;
    for (const Kind& kind : kKinds) {
      if (path == kind.path) like = kind.like;
    }
    if (stated.is_string() && again.is_string() && has(kSentences, path)) {
      if ((rules_.same_version || path == "precision") &&
          !same_sentence(words(stated), words(again), rules_.rounding))
        say(fmt::format("its {} is not what follows from its files: {}", path, shown(again)));
    } else if (!same(stated, again, like)) {
      say(fmt::format("it states {} for {}, but its files give {}", shown(stated), path, shown(again)));
    }
  }

  [[nodiscard]] bool same(const Json& a, const Json& b, Like like) const {
    if (!a.is_number() || !b.is_number()) return a == b;
    if (a.is_number_integer() && b.is_number_integer()) return a == b;
    return same_number(a.get<double>(), b.get<double>(), like);
  }

  [[nodiscard]] bool same_number(double a, double b, Like like) const {
    if (a == b || (std::isnan(a) && std::isnan(b))) return true;
    const double larger = std::max(std::abs(a), std::abs(b)), smaller = std::min(std::abs(a), std::abs(b));
    const double allowed =
        like == Like::kSingular ? std::max(rules_.tolerance, kSameSingular) : rules_.tolerance;
    if (std::abs(a - b) <= allowed * larger) return true;
    if (!rules_.rounding || like == Like::kSum || like == Like::kSingular || a * b < 0) return false;
    if (like == Like::kConverted && larger <= kReproduced) return true;
    if (like == Like::kLeft && larger > kNextToNothing) return false;
    const double root = kRoundingSize * (like == Like::kRoot || like == Like::kSquare ? rules_.deviation : 1);
    return larger <= (like == Like::kRoot ? root : root * root) || larger <= kSameRounding * smaller;
  }

  void compare_checks(const Json& stated, const Json& again) {
    if (!stated.is_array() || !again.is_array()) {
      if (stated != again) say("it lists no checks");
      return;
    }
    const auto named = [](const Json& list, const std::string& name) {
      return std::count_if(list.begin(), list.end(),
                           [&](const Json& c) { return words(at(c, "name")) == name; });
    };
    for (const Json& check : again) {
      const std::string name = words(at(check, "name"));
      if (rules_.same_version && rules_.only.empty() && named(stated, name) == 0)
        say(fmt::format("it leaves out the check '{}'", name));
    }
    for (auto at_check = stated.begin(); at_check != stated.end(); ++at_check) {
      const Json& check = *at_check;
      const std::string name = words(at(check, "name"));
      // Of several of one name each with its own.
      auto before = std::count_if(stated.begin(), at_check,
                                  [&](const Json& c) { return words(at(c, "name")) == name; });
      const auto same = std::find_if(again.begin(), again.end(), [&](const Json& c) {
        return words(at(c, "name")) == name && before-- == 0;
      });
      if (same != again.end()) {
        compare_check(name, check, *same);
      } else if (named(again, name) > 0) {
        say(fmt::format("it lists the check '{}' too often", name));
      } else if (rules_.same_version && rules_.only.empty() && is_true(at(check, "required")) &&
                 !has(rules_.checks, name)) {
        say(fmt::format("its check '{}' is none that such a result has", name));
      }
    }
  }

  void compare_check(const std::string& name, const Json& stated, const Json& again) {
    // Of entries that are reproduced the value is a rounding error, but never the threshold.
    const auto contains = [&](const char* part) { return name.find(part) != std::string::npos; };
    const Like of_value = name == kToRounding                                       ? Like::kConverted
                          : contains("reproduced") || contains("answers ")          ? Like::kShare
                          : contains("labels met")                                  ? Like::kLeft
                          : contains("smallest singular") || contains("determined") ? Like::kSingular
                                                                                    : Like::kSum;
    for (const char* key : {"holds", "required", "threshold", "value"}) {
      if (open(fmt::format("assumptions[{}].{}", name, key))) continue;
      const bool value = std::string_view(key) == "value";
      if (same(at(stated, key), at(again, key), value ? of_value : Like::kSum)) continue;
      say(fmt::format("its check '{}' has {} for {}, but its files give {}", name, shown(at(stated, key)),
                      key, shown(at(again, key))));
    }
  }

  // What the page draws: one sentence for a picture, whatever differs in it.
  void compare_drawn(const std::string& path, const Json& stated, const Json& again) {
    if (rules_.rounding && path == "pictures.residuals") return;
    if (path == "sections" && !rules_.same_version) return;
    if (same_parts(stated, again, size_of(again))) return;
    say(path == "sections" ? std::string("the sections of its page are not those that its files give")
                           : fmt::format("its picture '{}' is not that of its files",
                                         path.substr(std::string_view("pictures.").size())));
  }

  [[nodiscard]] static double size_of(const Json& value) {
    double size = std::abs(value.is_number() ? value.get<double>() : 0.0);
    if (value.is_structured()) {
      for (const Json& part : value) size = std::max(size, size_of(part));
    }
    return size;
  }
  [[nodiscard]] bool same_parts(const Json& a, const Json& b, double size) const {
    if (a.is_number() && b.is_number()) {
      const double u = a.get<double>(), v = b.get<double>();
      return u == v || std::abs(u - v) <= rules_.tolerance * std::abs(v) + kDrawn * size;
    }
    if (a.is_string() && b.is_string()) return same_sentence(words(a), words(b), rules_.rounding);
    if (a.is_array() && b.is_array()) {
      return a.size() == b.size() &&
             std::equal(a.begin(), a.end(), b.begin(),
                        [&](const Json& u, const Json& v) { return same_parts(u, v, size); });
    }
    if (a.is_object() && b.is_object()) {
      if (a.size() != b.size()) return false;
      for (const auto& [key, value] : b.items()) {
        const auto other = a.find(key);
        if (other == a.end() || !same_parts(*other, value, size_of(value))) return false;
      }
      return true;
    }
    return a == b;
  }

  const DiffRules& rules_;
  std::vector<std::string> said_;
};

}  // namespace

const std::vector<std::string>& open_fields() {
  static const std::vector<std::string> kFields = {
      // When, where, how it was asked for, and what was tried before it was found.
      "date", "host", "command", "timings", "tried", "version", "options", "input_shape",
      // Moments of a search that is over.
      "pictures.singular_values", "pictures.singular_value_count", "pictures.noise_floor",
      "pictures.gap_units", "pictures.descent",
      // Compared by session/verify.cc.
      "files", "written", "digest", "target", "input_names", "output_names", "remarks", "truth",
      "pictures.truth"};
  return kFields;
}

std::vector<std::string> differences(const Json& stated, const Json& again, const DiffRules& rules) {
  return Diff(rules).run(stated, again);
}

}  // namespace exhume
