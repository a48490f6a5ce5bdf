#include "engine/ritz.h"

#include "base/random.h"
#include "engine/transfer.h"
#include "exhume/error.h"

namespace exhume {
namespace {

using Doubles = DeviceMatrix<double>;
using View = DeviceView<double>;

// Rows of W (b x p) made orthonormal, by Cholesky factors of their Gram matrix.
void orthonormalise(Device& device, const View& W, const Doubles& gram) {
  device.product(1, W, false, W, true, 0, gram.view());
  if (!device.cholesky(gram.view()))
    throw ResourceError("the device found no basis of its Krylov space; compute on the processor");
  device.solve_lower(gram.view(), W);
}

}  // namespace

RitzPairs ritz_pairs(Device& device, const DeviceView<double>& A, Index block, Index blocks,
                     std::uint64_t seed) {
  const Index p = A.rows, size = block * blocks;
  const Doubles Q(device, size, p), gram(device, block, block), overlap(device, block, size);
  const Matrix start = Stream(seed, "Krylov").normal_matrix(block, p);
  upload(device, start.data(), block, Q.view().block(0, 0, block, p));
  for (Index j = 0; j < blocks; ++j) {
    const View W = Q.view().block(j * block, 0, block, p), before = Q.view().block(0, 0, j * block, p),
               part = overlap.view().block(0, 0, block, j * block);
    if (j > 0) device.product(1, Q.view().block((j - 1) * block, 0, block, p), false, A, false, 0, W);
    for (int pass = 0; pass < 2; ++pass) {
      if (j > 0) {
        device.product(1, W, false, before, true, 0, part);
        device.product(-1, part, false, before, false, 1, W);
      }
      orthonormalise(device, W, gram);
    }
  }
  const Doubles T(device, size, size), values(device, size, 1);
  {
    const Doubles QA(device, size, p);
    device.product(1, Q.view(), false, A, false, 0, QA.view());
    device.product(1, QA.view(), false, Q.view(), true, 0, T.view());
  }
  if (!device.eigen(T.view(), true, values.view()))
    throw ResourceError("the device found no eigenvalues; compute on the processor");
  Doubles vectors(device, size, p);
  device.product(1, T.view(), true, Q.view(), false, 0, vectors.view());
  return {fetched(device, values.view()), std::move(vectors)};
}

}  // namespace exhume
