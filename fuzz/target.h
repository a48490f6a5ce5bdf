// A fuzz target: the bytes of a file in, a value or a refusal out.
//
//   bytes --> reader --> value                  what the target asks of it holds
//                    \-> DataError, ResourceError   one sentence, on one line
//
// Anything else is a finding: a crash, a sanitizer's report, another exception, a value that breaks its
// promise. Every file fuzz/<name>_target.cc is one target. fuzzer.cc makes it a fuzzer of its own
// (libFuzzer); replay.cc runs all of them over the files of fuzz/corpus/<name>, which is what `make test`
// does.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace exhume::fuzz {

struct Target {
  std::string name;
  void (*run)(std::string_view bytes) = nullptr;
};
// Those that are linked in, in no order.
[[nodiscard]] std::vector<Target>& targets();
// A variable of this type at the end of a target's file adds it.
struct Registration {
  Registration(std::string name, void (*run)(std::string_view)) {
    targets().push_back({std::move(name), run});
  }
};

// Says what is wrong and ends the program, as a crash does.
[[noreturn]] void finding(std::string_view what);
void expect(bool holds, std::string_view otherwise);

// True where `call` returns, false where it refuses in one sentence.
bool accepted(const std::function<void()>& call);

// A file of this process with these bytes and this ending; the next call with the same ending replaces it.
[[nodiscard]] std::filesystem::path file_with(std::string_view bytes, std::string_view ending);

}  // namespace exhume::fuzz
