// recover_file X Y: the network behind the samples of two files (.npy or .csv), and what is known about it.
#include <cstdio>
#include <exception>

#include "exhume/files.h"
#include "exhume/recover.h"

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: recover_file X Y\n");
    return 2;
  }
  exhume::Control control;
  control.threads = 0;  // one per core; results do not depend on it
  control.on_progress = [](const exhume::Progress& progress) {
    std::fprintf(stderr, "\r%-24.*s", static_cast<int>(progress.stage.size()), progress.stage.data());
  };

  const exhume::SamplePtr samples = exhume::open_samples(argv[1], argv[2], control);
  exhume::RecoverOptions options;
  options.budget_seconds = 60;
  const exhume::Result found = exhume::recover(samples, options, control);

  std::printf("\n%s: %s\n", to_string(found.certificate.status), found.certificate.reason.c_str());
  for (const exhume::Assumption& check : found.certificate.assumptions)
    std::printf("  %-40s %s\n", check.name.c_str(), check.holds ? "holds" : "does not hold");
  std::printf("%td hidden units, relative error on held-out rows %.1e\n", found.network.hidden(),
              found.errors.heldout_relative_mse);
  return exhume::stands(found.certificate.status) ? 0 : 3;
} catch (const std::exception& error) {
  std::fprintf(stderr, "recover_file: %s\n", error.what());
  return 1;
}
