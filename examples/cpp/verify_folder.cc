// verify_folder DIR: an independent check of a result that `exhume recover` or `exhume extract` wrote.
#include <cstdio>
#include <exception>

#include "exhume/verify.h"

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: verify_folder DIR\n");
    return 2;
  }
  const exhume::VerifyResult checked = exhume::verify({.model = argv[1]});
  for (const exhume::Finding& finding : checked.findings) {
    const char* outcome = finding.outcome == exhume::Outcome::kGood  ? "good"
                          : finding.outcome == exhume::Outcome::kBad ? "BAD"
                                                                     : "unchecked";
    std::printf("%-10s %-14s %s\n", outcome, finding.part.c_str(), finding.words.c_str());
  }
  if (checked.rows) {
    std::printf("relative error over all %td rows: %.1e\n", checked.rows->rows, checked.rows->relative_mse);
  }
  std::printf("%s\n", checked.verified ? "verified" : "not verified");
  return checked.verified ? 0 : 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "verify_folder: %s\n", error.what());
  return 1;
}
