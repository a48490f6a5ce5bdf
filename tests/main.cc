#include <gtest/gtest.h>

#include "../apps/fast_blas.h"

int main(int argc, char** argv) {
  exhume::restart_with_fast_blas(argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
