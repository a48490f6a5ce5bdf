// JSON as the library writes and reads it: keys in order, numbers that are not finite as null.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace exhume {

using Json = nlohmann::ordered_json;

// A number, or null where it is not finite.
[[nodiscard]] inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// Whatever is not UTF-8 (file names, say) is replaced, never thrown over. to_line: without blanks and breaks.
[[nodiscard]] std::string to_text(const Json& json);
[[nodiscard]] std::string to_line(const Json& json);
// Every string as reading what to_text wrote would bring it back: what is not UTF-8 is replaced.
void make_valid(Json& json);
// What is not JSON is a value with is_discarded().
[[nodiscard]] Json parsed(const std::string& text);

// Reading what may have been edited by hand: what is missing or of another type is simply absent.
[[nodiscard]] inline const Json& at(const Json& json, const char* key) {
  static const Json kNothing;
  const auto found = json.is_object() ? json.find(key) : json.end();
  return found == json.end() ? kNothing : *found;
}
[[nodiscard]] inline std::string words(const Json& value) {
  return value.is_string() ? value.get<std::string>() : "";
}
[[nodiscard]] inline double number_of(const Json& value) {
  return value.is_number() ? value.get<double>() : std::nan("");
}
[[nodiscard]] inline bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

}  // namespace exhume
