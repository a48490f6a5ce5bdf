#include <string>

#include "../apps/fast_blas.h"
#include "exhume/version.h"
#include "rate.h"

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("exhume", exhume::kVersion);
  benchmark::AddCustomContext("threads", std::to_string(exhume::bench::kBenchThreads));
  benchmark::AddCustomContext("blas_kernels", exhume::blas_kernels());
  benchmark::AddCustomContext("cpu", exhume::bench::cpu_model());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
