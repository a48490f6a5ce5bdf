#include "base/serialise.h"
#include "exhume/linalg/symmetric_matrix.h"
#include "exhume/moments/moments.h"

namespace exhume {
namespace {
constexpr const char* kSecondTag = "EXSECND1";
constexpr const char* kHermiteTag = "EXHERMT2";

void require(bool fits) {
  if (!fits) throw DataError("the saved moments have shapes that do not fit together; compute them again");
}
}  // namespace

std::string SecondMoments::serialise() const {
  ByteWriter out(kSecondTag);
  out.put(inputs);
  out.put(outputs);
  out.put(count);
  out.put_matrix(mean);
  out.put_matrix(centred);
  return out.take();
}

SecondMoments SecondMoments::deserialise(const std::string& bytes) {
  ByteReader in(bytes, kSecondTag);
  SecondMoments result;
  result.inputs = in.get();
  result.outputs = in.get();
  result.count = in.get();
  const Matrix mean = in.get_matrix();
  result.centred = in.get_matrix();
  in.finish();
  const Index size = result.centred.rows();
  require(result.inputs >= 0 && result.outputs >= 0 && result.count >= 0 &&
          size == result.inputs + result.outputs && result.centred.cols() == size && mean.rows() == size &&
          mean.cols() == 1);
  result.mean = mean.col(0);
  return result;
}

std::string HermiteMoments::serialise() const {
  ByteWriter out(kHermiteTag);
  out.put(inputs);
  out.put(outputs);
  out.put(order);
  for (int h = 0; h < 2; ++h) {
    out.put(count[h]);
    out.put_matrix(sums[h].order0);
    for (const Matrix* each : {&sums[h].order1, &sums[h].order2, &sums[h].order3, &sums[h].order4})
      out.put_matrix(*each);
  }
  return out.take();
}

HermiteMoments HermiteMoments::deserialise(const std::string& bytes) {
  ByteReader in(bytes, kHermiteTag);
  const Index d = in.get(), m = in.get(), order = in.get();
  constexpr Index kMost = 1 << 20;
  require(d >= 0 && d < kMost && m >= 0 && m < kMost && order >= 0 && order <= 4);
  HermiteMoments result;
  result.inputs = d;
  result.outputs = m;
  result.order = static_cast<int>(order);
  const Index p = symmetric_size(d);
  const Index columns[5] = {1, m, m, d * m, p * m};
  const Index rows[5] = {m, d, p, p, p};
  for (int h = 0; h < 2; ++h) {
    result.count[h] = in.get();
    Matrix read[5];
    for (int i = 0; i <= 4; ++i) {
      read[i] = in.get_matrix();
      require(i > order ? read[i].size() == 0 : read[i].rows() == rows[i] && read[i].cols() == columns[i]);
    }
    RawSums& to = result.sums[h];
    to.order0 = read[0].col(0);
    to.order1 = read[1];
    to.order2 = read[2];
    to.order3 = read[3];
    to.order4 = read[4];
  }
  in.finish();
  return result;
}

}  // namespace exhume
