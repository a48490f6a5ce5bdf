// Stored precision, and entries against it.
#include "certify/stored_precision.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "certify/entry_check.h"
#include "data/planted.h"
#include "exhume/recover.h"
#include "planted_data.h"

namespace exhume::stored_precision_test {
namespace {

double with_digits(double y, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, y);
  return std::strtod(text, nullptr);
}

double with_decimals(double y, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, y);
  return std::strtod(text, nullptr);
}

// A double rounded to eleven bits.
double as_half(double y) {
  if (y == 0) return 0;
  const int unit = std::max(std::ilogb(y), -14) - 10;
  return std::ldexp(std::nearbyint(std::ldexp(y, -unit)), unit);
}

RowMatrix stored(const RowMatrix& y, const std::function<double(double)>& as) { return y.unaryExpr(as); }

StoredPrecision precision_of(const RowMatrix& y) {
  return stored_precision(*memory_samples(RowMatrix::Random(y.rows(), 2), y), {});
}

TEST(StoredPrecision, IsFoundByLookingAtTheEntries) {
  const RowMatrix y = planted_data(4, 3, 2, 700, 3).y;
  EXPECT_EQ(precision_of(y).storage, Storage::kDouble);
  EXPECT_EQ(precision_of(stored(y, [](double v) { return static_cast<float>(v); })).storage,
            Storage::kSingle);
  EXPECT_EQ(precision_of(stored(y, as_half)).storage, Storage::kHalf);
  for (const int p : {3, 6, 9}) {
    const StoredPrecision decimals = precision_of(stored(y, [p](double v) { return with_decimals(v, p); }));
    EXPECT_EQ(decimals.storage, Storage::kDecimals) << p;
    EXPECT_EQ(decimals.places, p);
    const StoredPrecision digits = precision_of(stored(y, [p](double v) { return with_digits(v, p); }));
    EXPECT_EQ(digits.storage, Storage::kDigits) << p;
    EXPECT_EQ(digits.places, p);
  }
  const StoredPrecision both =
      precision_of(stored(y, [](double v) { return static_cast<float>(with_decimals(v, 4)); }));
  EXPECT_EQ(both.storage, Storage::kDecimals);
  EXPECT_EQ(both.places, 4);
  EXPECT_TRUE(both.single_too);
}

TEST(StoredPrecision, OneEntryIsEnoughToTell) {
  RowMatrix y = stored(planted_data(4, 3, 1, 9001, 4).y, [](double v) { return static_cast<float>(v); });
  y(8999, 0) = 1.0 / 3.0;
  EXPECT_EQ(precision_of(y).storage, Storage::kDouble);
}

TEST(StoredPrecision, LabelsAreNoRoundedNumbers) {
  RowMatrix y = planted_data(4, 3, 1, 500, 5).y;
  EXPECT_FALSE(precision_of(stored(y, [](double v) { return v > 0 ? 1.0 : 0.0; })).coarse());
  EXPECT_TRUE(precision_of(stored(y, [](double v) { return std::nearbyint(1e4 * v); })).coarse());
}

TEST(StoredPrecision, HalfAUnitBoundsTheRounding) {
  const RowMatrix y = planted_data(4, 3, 2, 3000, 6).y * 37.0;
  const auto check = [&](const std::function<double(double)>& as) {
    const RowMatrix kept = stored(y, as);
    const StoredPrecision precision = precision_of(kept);
    ASSERT_TRUE(precision.coarse());
    double worst = 0;
    for (Index i = 0; i < y.size(); ++i)
      worst = std::max(worst, std::abs(y.data()[i] - kept.data()[i]) / precision.half_unit(kept.data()[i]));
    EXPECT_LE(worst, 1.0000001) << precision.words();
    EXPECT_GT(worst, 0.9) << precision.words();
  };
  check([](double v) { return static_cast<float>(v); });
  check(as_half);
  check([](double v) { return with_decimals(v, 5); });
  check([](double v) { return with_digits(v, 5); });
}

TEST(EntryCheck, OneHugeRowDoesNotExcuseTheOthers) {
  PlantedData data = planted_data(4, 3, 2, 2000, 7);
  for (Index i = 0; i < 2000; i += 10) data.x.row(i) *= 1e11;
  data.y = evaluate(data.network, data.x);
  const auto check = [&] {
    return check_entries({data.network, nullptr, nullptr}, *memory_samples(data.x, data.y), {}, false, {},
                         {});
  };
  EXPECT_TRUE(check().reproduced());
  data.y(17, 1) += 1e-3;
  const EntryCheck off = check();
  EXPECT_FALSE(off.reproduced());
  EXPECT_EQ(off.row, 17);
  EXPECT_EQ(off.output, 1);
  EXPECT_NEAR(off.gap, 1e-3, 1e-9);
}

// Their rounding errors are of size 1e-3, and their own terms would allow far more.
TEST(EntryCheck, TwoUnitsThatCancelExcuseNothing) {
  const PlantedData data = planted_data(4, 3, 1, 1000, 17);
  Network forged = data.network;
  forged.W().conservativeResize(5, 4);
  forged.W().bottomRows(2) = data.network.W().topRows(2).row(0).replicate(2, 1);
  forged.W().row(4) *= 1 + 1e-15;
  forged.b().conservativeResize(5);
  forged.b().tail(2).setConstant(1);
  forged.A().conservativeResize(1, 5);
  forged.A().rightCols(2) << 1e13, -1e13;
  const SamplePtr rows = memory_samples(data.x, data.y);
  EXPECT_TRUE(check_entries({data.network, nullptr, nullptr}, *rows, {}, false, {}, {}).reproduced());
  const EntryCheck check = check_entries({forged, nullptr, nullptr}, *rows, {}, false, {}, {});
  EXPECT_GT(check.gap, 1e-5);
  EXPECT_FALSE(check.reproduced());
}

// What no bit of the outputs needs is said: the precision that was checked, not that of the numbers.
TEST(EntryCheck, WordsSayWhatWasChecked) {
  PlantedData data = planted_data(4, 3, 1, 1000, 18);
  const auto words = [&] {
    return double_precision_words(
        check_entries({data.network, nullptr, nullptr}, *memory_samples(data.x, data.y), {}, false, {}, {})
            .share);
  };
  EXPECT_EQ(words(), "double precision");
  for (Index i = 0; i < 1000; ++i) data.y(i, 0) += 3e-11 * std::tanh(data.x(i, 0));
  EXPECT_TRUE(words().ends_with("of the outputs")) << words();
  EXPECT_TRUE(is_double_precision(words()));
}

TEST(EntryCheck, NoiseAmongHugeRowsIsNotCertified) {
  PlantedData data = planted_data(4, 3, 1, 3000, 8);
  for (Index i = 0; i < 3000; i += 10) data.x.row(i) *= 1e11;
  data.y = evaluate(data.network, data.x);
  for (Index i = 0; i < 3000; ++i) {
    if (i % 10 != 0) data.y(i, 0) += 0.05 * std::sin(static_cast<double>(i * i));
  }
  RecoverOptions options;
  options.budget_seconds = 5;
  EXPECT_NE(recover(memory_samples(data.x, data.y), options).certificate.status, Status::kCertified);
}

TEST(EntryCheck, ValuesComputedInSinglePrecisionAreRecognised) {
  PlantedData data = planted_data(6, 5, 3, 2000, 9);
  const Eigen::MatrixXf W = data.network.W().cast<float>(), A = data.network.A().cast<float>();
  const Eigen::VectorXf b = data.network.b().cast<float>(), c = data.network.c().cast<float>();
  data.x = data.x.cast<float>().cast<double>();
  const Eigen::MatrixXf z = (data.x.cast<float>() * W.transpose()).rowwise() + b.transpose();
  data.y = ((z.cwiseMax(0) * A.transpose()).rowwise() + c.transpose()).cast<double>();
  const Network network = {W.cast<double>(), b.cast<double>(), A.cast<double>(), c.cast<double>(), {}};
  const StoredPrecision single = precision_of(data.y);
  const auto check = [&](const RowMatrix& y) {
    return check_entries({network, nullptr, nullptr}, *memory_samples(data.x, y), single, false, {}, {});
  };
  const EntryCheck as_computed = check(data.y);
  EXPECT_TRUE(as_computed.reproduced());
  EXPECT_TRUE(as_computed.computed_in_single);
  // Noise of 20 roundings is within the worst case of every entry, but not of all together.
  RowMatrix noisy = data.y;
  for (Index i = 0; i < noisy.size(); ++i)
    noisy.data()[i] =
        static_cast<float>(noisy.data()[i] + 2e-6 * std::cos(static_cast<double>(7 * i)) * noisy.data()[i]);
  EXPECT_FALSE(check(noisy).reproduced());
}

TEST(Recover, RoundedOutputsAreCertifiedToTheirPrecision) {
  const PlantedData data = planted_data(5, 4, 2, 2000, 10);
  const std::function<double(double)> kinds[] = {[](double v) { return static_cast<float>(v); }, as_half,
                                                 [](double v) { return with_digits(v, 6); },
                                                 [](double v) { return with_decimals(v, 6); }};
  const char* words[] = {"single precision", "half precision", "6 digits", "6 decimals"};
  for (int i = 0; i < 4; ++i) {
    const Result result = recover(memory_samples(data.x, stored(data.y, kinds[i])), {});
    EXPECT_EQ(result.certificate.status, Status::kCertified) << words[i] << ": " << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 4) << words[i];
    EXPECT_EQ(result.precision.substr(0, std::string(words[i]).size()), words[i]);
    ASSERT_TRUE(result.errors.identifiability) << words[i];
    EXPECT_LE(align(result.network, data.network).worst_error, result.errors.identifiability->delta)
        << words[i];
  }
}

// One row in ten lets no unit act here, and their rounding errors are one; signs that a polish would only
// swap are no rivals.
TEST(StoredPrecision, SixDecimalsOfSixOutputsAreCertified) {
  for (std::uint64_t seed = 91; seed < 103; ++seed) {
    const PlantedData data = planted_data(6, 6, 6, 4000, seed);
    const Result result =
        recover(memory_samples(data.x, stored(data.y, [](double v) { return with_decimals(v, 6); })), {});
    EXPECT_EQ(result.certificate.status, Status::kCertified) << seed << ": " << result.certificate.reason;
    EXPECT_EQ(result.network.hidden(), 6) << seed;
  }
}

}  // namespace
}  // namespace exhume::stored_precision_test
