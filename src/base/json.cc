#include "base/json.h"

namespace exhume {

std::string to_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }
std::string to_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }
Json parsed(const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

void make_valid(Json& json) {
  if (json.is_string()) {
    try {
      (void)json.dump();
    } catch (const Json::type_error&) {
      json = parsed(to_line(json));
    }
  } else if (json.is_structured()) {
    for (Json& part : json) make_valid(part);
  }
}

}  // namespace exhume
