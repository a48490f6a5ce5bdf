// Is this markup well-formed? A small check for tests: every tag is closed in order, attributes are quoted,
// no bare < or & in text. Understands the doctype, HTML's void elements and the raw text of <style>.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace exhume {

inline testing::AssertionResult well_formed(std::string_view text) {
  constexpr std::array<std::string_view, 3> kVoid = {"meta", "br", "hr"};
  std::vector<std::string> open;
  std::size_t i = 0;
  const auto fail = [&](std::string_view why) {
    return testing::AssertionFailure() << why << " near: " << text.substr(i > 60 ? i - 60 : 0, 160);
  };
  while (i < text.size()) {
    if (text[i] == '&') {
      const std::size_t end = text.find(';', i);
      if (end == std::string_view::npos || end - i > 8) return fail("bare &");
      i = end;
    } else if (text[i] == '>') {
      return fail("bare >");
    } else if (text[i] == '<') {
      if (text.substr(i, 9) == "<!DOCTYPE") {
        i = text.find('>', i) + 1;
        continue;
      }
      const bool closing = text.substr(i, 2) == "</";
      std::size_t at = i + (closing ? 2 : 1);
      std::string name;
      while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) name += text[at++];
      if (name.empty()) return fail("bare <");
      bool quoted = false;
      while (at < text.size() && (quoted || text[at] != '>')) {
        if (text[at] == '<') return fail("< inside a tag");
        if (text[at] == '"') quoted = !quoted;
        ++at;
      }
      if (at == text.size()) return fail("tag without end");
      const bool empty = text[at - 1] == '/' || std::find(kVoid.begin(), kVoid.end(), name) != kVoid.end();
      if (closing) {
        if (open.empty() || open.back() != name) return fail("</" + name + "> closes nothing");
        open.pop_back();
      } else if (!empty) {
        open.push_back(name);
        if (name == "style") at = text.find("</style>", at) - 1;
      }
      i = at;
    }
    ++i;
  }
  if (!open.empty()) return testing::AssertionFailure() << "<" << open.back() << "> is never closed";
  return testing::AssertionSuccess();
}

}  // namespace exhume
