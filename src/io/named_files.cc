#include "io/named_files.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "exhume/error.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kTables = {".npy", ".csv", ".tsv", ".txt"};

// Runs of digits as the numbers that they are, everything else letter by letter.
bool before(const std::string& a, const std::string& b) {
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!digit(a[i]) || !digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      std::size_t from = at;
      while (at < text.size() && digit(text[at])) ++at;
      while (from + 1 < at && text[from] == '0') ++from;
      return text.substr(from, at - from);
    };
    const std::string p = number(a, i), q = number(b, j);
    if (p.size() != q.size()) return p.size() < q.size();
    if (p != q) return p < q;
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // 01 and 1: some order, always the same
}

std::vector<fs::path> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<fs::path> out;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) out.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  return out;
}

}  // namespace

std::vector<fs::path> files_named(const fs::path& name) {
  const std::string text = name.string();
  std::error_code ignored;
  std::vector<fs::path> files;
  if (fs::is_directory(name, ignored)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(name)) {
      const std::string kind = entry.path().extension().string();
      if (std::find(kTables.begin(), kTables.end(), kind) != kTables.end()) files.push_back(entry.path());
    }
    if (files.empty())
      throw DataError(
          fmt::format("{} is a folder without tables; give a file, or a folder of .npy or .csv files", text));
  } else if (fs::exists(name, ignored)) {
    return {name};
  } else if (text.find_first_of("*?[") != std::string::npos) {
    files = matching(text);
    if (files.empty()) throw DataError(fmt::format("no file matches {}; check the pattern", text));
  } else if (text.find(',') != std::string::npos) {
    std::size_t from = 0;
    while (from <= text.size()) {
      const std::size_t to = std::min(text.find(',', from), text.size());
      files.emplace_back(text.substr(from, to - from));
      from = to + 1;
    }
    return files;  // in the order in which they were named
  } else {
    return {name};
  }
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return before(a.string(), b.string()); });
  return files;
}

}  // namespace exhume
