#include "wrap.h"

#include <algorithm>
#include <vector>

namespace exhume::cli {
namespace {

constexpr std::string_view kContinued = " \\";

int letters(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a second byte
  }));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

// The words after the blanks that a line begins with; words in quotation marks are one.
std::vector<std::string_view> shell_words(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t from = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != ' ' || quoted)) continue;
    if (i > from) words.push_back(line.substr(from, i - from));
    from = i + 1;
  }
  return words;
}

std::string long_line(std::string_view line, int width) {
  const auto indent = static_cast<int>(std::min(line.find_first_not_of(' '), line.size()));
  const bool command = line.substr(static_cast<std::size_t>(indent)).starts_with("exhume ");
  if (letters(line) <= width || (!command && line.ends_with('\\'))) return std::string(line);
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  if (!command) return blanks + wrapped(line, width, indent + 4, indent);
  std::string out = blanks;
  int used = indent;
  bool first = true;
  for (const std::string_view word : shell_words(line)) {
    if (!first && used + 1 + letters(word) > width - letters(kContinued)) {
      out.append(kContinued).append("\n").append(blanks).append("    ");
      used = indent + 4;
      first = true;
    }
    out.append(first ? "" : " ").append(word);
    used += (first ? 0 : 1) + letters(word);
    first = false;
  }
  return out;
}

}  // namespace

std::string wrapped(std::string_view text, int width, int indent, int first) {
  std::string out;
  int used = first;
  bool begun = false;
  for (const std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (begun && used + 1 + letters(word) > width) {
      out += "\n" + std::string(static_cast<std::size_t>(indent), ' ');
      used = indent;
      begun = false;
    }
    out.append(begun ? " " : "").append(word);
    used += (begun ? 1 : 0) + letters(word);
    begun = true;
  }
  return out;
}

std::string wrapped_paragraphs(std::string_view text, int width) {
  std::string out, paragraph;
  const auto end_paragraph = [&] {
    if (!paragraph.empty()) out += wrapped(paragraph, width, 0, 0) + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || line.front() == ' ' || line.ends_with(':')) {
      // A line that introduces a list ends its paragraph.
      if (!line.empty() && line.front() != ' ') paragraph.append(paragraph.empty() ? "" : " ").append(line);
      end_paragraph();
      if (line.empty() || line.front() == ' ') out += long_line(line, width) + "\n";
    } else {
      paragraph.append(paragraph.empty() ? "" : " ").append(line);
    }
  }
  end_paragraph();
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace exhume::cli
