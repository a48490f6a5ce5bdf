// replay TARGET FILE|FOLDER...: runs a target over stored inputs, with whatever compiler built it.
// replay TARGET --changed COUNT SEED FILE|FOLDER...: over COUNT inputs that are changed from these.
//
// Names the file before a finding ends the program, and leaves a changed input in finding-TARGET; status 0
// where there was none. Changes are those of a fuzzer without a view of the program: bytes set, turned,
// inserted, left out, parts of two inputs joined. For targets behind which stand the solvers, which take long
// to build with all checks; clang's libFuzzer looks further (fuzzer.cc).
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string changed_input;

extern "C" void keep_the_input(int signal) {
  // Not safe after every crash, but a finding is worth the try.
  std::ofstream(std::string("finding-") + current, std::ios::binary) << changed_input;
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

class Changes {
 public:
  Changes(std::vector<std::string> inputs, unsigned long seed) : inputs_(std::move(inputs)), random_(seed) {}

  std::string next() {
    std::string bytes = inputs_[below(inputs_.size())];
    for (std::size_t i = 1 + below(8); i > 0; --i) change(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  void change(std::string& bytes) {
    const std::size_t at = below(bytes.size() + 1), length = below(17);
    switch (below(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random_());
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        for (std::size_t i = 0; i < length; ++i) bytes.insert(at, 1, static_cast<char>(random_()));
        break;
      case 4:
        bytes.insert(at, bytes.substr(below(bytes.size() + 1), length));
        break;
      default: {
        const std::string& other = inputs_[below(inputs_.size())];
        bytes = bytes.substr(0, at) + other.substr(std::min(at, other.size()));
      }
    }
  }

  std::vector<std::string> inputs_;
  std::mt19937_64 random_;
};

int run_changed(const exhume::fuzz::Target& target, int argc, char** argv) {
  const long count = std::atol(argv[3]);
  std::vector<std::string> stored;
  for (const fs::path& file : inputs(argc - 3, argv + 3)) stored.push_back(bytes_of(file));
  if (stored.empty() || count < 1) return 2;
  std::snprintf(current, sizeof current, "%s", target.name.c_str());
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, keep_the_input);
  Changes changes(std::move(stored), std::strtoul(argv[4], nullptr, 10));
  for (long i = 0; i < count; ++i) {
    changed_input = changes.next();
    target.run(changed_input);
  }
  std::printf("%s: %ld changed inputs, no finding\n", target.name.c_str(), count);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto& all = exhume::fuzz::targets();
  const auto target =
      std::find_if(all.begin(), all.end(), [&](const auto& t) { return argc > 2 && t.name == argv[1]; });
  if (target == all.end()) {
    std::fprintf(stderr, "usage: replay TARGET [--changed COUNT SEED] FILE|FOLDER...\n");
    return 2;
  }
  if (argc > 5 && std::string(argv[2]) == "--changed") return run_changed(*target, argc, argv);
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
