// replay TARGET FILE|FOLDER...: runs a target over stored inputs, with whatever compiler built it.
//
// Names the file before a finding ends the program; status 0 where there was none.
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "target.h"

namespace {

namespace fs = std::filesystem;

char current[4096];

extern "C" void name_the_file(int signal) {
  const char* words = "\nfinding in ";
  if (::write(2, words, std::strlen(words)) > 0 && ::write(2, current, std::strlen(current)) > 0 &&
      ::write(2, "\n", 1) > 0) {
    std::signal(signal, SIG_DFL);
  }
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

std::vector<fs::path> inputs(int argc, char** argv) {
  std::vector<fs::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  const auto& all = exhume::fuzz::targets();
  const auto target =
      std::find_if(all.begin(), all.end(), [&](const auto& t) { return argc > 2 && t.name == argv[1]; });
  if (target == all.end()) {
    std::fprintf(stderr, "usage: replay TARGET FILE|FOLDER...\n");
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, name_the_file);
  const std::vector<fs::path> files = inputs(argc, argv);
  for (const fs::path& file : files) {
    std::snprintf(current, sizeof current, "%s", file.c_str());
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (!in) {
      std::fprintf(stderr, "replay: %s cannot be read\n", current);
      return 2;
    }
    target->run(bytes);
  }
  std::printf("%s: %zu inputs, no finding\n", target->name.c_str(), files.size());
  return files.empty() ? 2 : 0;
}
