// What is wrong with this markup? A small check for tests and fuzzers: every tag is closed in order,
// attributes are quoted, no bare < or & in text, no number in a tag that is not one. Understands the doctype,
// HTML's void elements and the raw text of <style>.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace exhume {

// "nan" or "inf" where a number belongs: as a word of an attribute's value, unless that is text for people.
inline bool holds_no_number(std::string_view tag) {
  constexpr std::string_view kText = "aria-label=\"";
  if (const std::size_t from = tag.find(kText); from != std::string_view::npos) {
    const std::size_t to = tag.find('"', from + kText.size());
    return holds_no_number(tag.substr(0, from)) ||
           (to != std::string_view::npos && holds_no_number(tag.substr(to + 1)));
  }
  for (const std::string_view word : {"nan", "inf"}) {
    for (std::size_t at = tag.find(word); at != std::string_view::npos; at = tag.find(word, at + 1)) {
      const auto letter = [&](std::size_t i) {
        return i < tag.size() && (std::isalpha(static_cast<unsigned char>(tag[i])) != 0);
      };
      if (at > 0 && !letter(at - 1) && !letter(at + word.size())) return true;
    }
  }
  return false;
}

// Empty where nothing is.
inline std::string markup_fault(std::string_view text) {
  constexpr std::array<std::string_view, 3> kVoid = {"meta", "br", "hr"};
  std::vector<std::string> open;
  std::size_t i = 0;
  const auto fail = [&](std::string_view why) {
    return std::string(why) + " near: " + std::string(text.substr(i > 60 ? i - 60 : 0, 160));
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
      if (holds_no_number(text.substr(i, at - i))) return fail("no number in a tag");
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
  if (!open.empty()) return "<" + open.back() + "> is never closed";
  return "";
}

}  // namespace exhume
