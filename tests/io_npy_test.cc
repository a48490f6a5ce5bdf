#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <thread>

#include "corruption.h"
#include "exhume/error.h"
#include "io/npy.h"
#include "npy_bytes.h"
#include "property.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_npy_test {
namespace {

RowMatrix counting(Index rows, Index cols) {
  RowMatrix m(rows, cols);
  for (Index i = 0; i < m.size(); ++i) m.data()[i] = static_cast<double>(i);
  return m;
}

TEST(IoNpy, WhatIsWrittenReadsBackBitForBit) {
  const TempDir dir;
  for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {2, 3}, {4097, 5}, {7, 1}}) {
    RowMatrix m = counting(rows, cols);
    m(0, 0) = -0.1;
    m(rows - 1, cols - 1) = 5e-324;
    write_npy(dir / "m.npy", m);
    EXPECT_EQ(dir.get("m.npy").size() % 64, static_cast<std::size_t>(rows * cols * 8 % 64));
    const TablePtr table = open_npy(dir / "m.npy");
    ASSERT_EQ(table->rows(), rows);
    ASSERT_EQ(table->cols(), cols);
    EXPECT_EQ(read_all(*table), m);
  }
  EXPECT_EQ(dir.entries(), 1u);  // no temporaries stay
}

TEST(IoNpy, HeaderIsTheOneNumPyWrites) {
  EXPECT_EQ(npy_header({3, 4}), npy_file(npy_dict("<f8", "(3, 4)"), ""));
  EXPECT_EQ(npy_header({3}), npy_file(npy_dict("<f8", "(3,)"), ""));
}

TEST(IoNpy, StridedRowsAreWrittenWithoutTheirGaps) {
  const TempDir dir;
  const RowMatrix wide = counting(5, 6);
  const Eigen::Ref<const RowMatrix, 0, Eigen::OuterStride<>> part = wide.middleCols(1, 2);
  write_npy(dir / "m.npy", part);
  EXPECT_EQ(read_all(*open_npy(dir / "m.npy")), RowMatrix(wide.middleCols(1, 2)));
}

template <class T>
void expect_type(const std::string& code, const std::vector<T>& values) {
  const TempDir dir;
  RowMatrix wanted(3, 2);
  for (Index i = 0; i < 6; ++i) wanted.data()[i] = static_cast<double>(values[static_cast<std::size_t>(i)]);
  for (const char order : {'<', '>', '=', '|'}) {
    const std::string descr = order + code;
    dir.put("a.npy", npy_file(npy_dict(descr, "(3, 2)"), raw(values, order == '>')));
    EXPECT_EQ(read_all(*open_npy(dir / "a.npy")), wanted) << descr;
    const std::vector<T> columns{values[0], values[2], values[4], values[1], values[3], values[5]};
    dir.put("f.npy", npy_file(npy_dict(descr, "(3, 2)", true), raw(columns, order == '>'), 2));
    EXPECT_EQ(read_all(*open_npy(dir / "f.npy")), wanted) << descr << " in Fortran order";
  }
}

TEST(IoNpy, EveryTypeByteOrderAndArrayOrder) {
  expect_type<double>("f8", {1, -2.5, 1e300, 0, 5e-324, 6});
  expect_type<float>("f4", {1, -2.5f, 1e30f, 0, 1e-45f, 6});
  expect_type<std::int8_t>("i1", {1, -128, 127, 0, 5, 6});
  expect_type<std::int16_t>("i2", {1, -32768, 32767, 0, 5, 6});
  expect_type<std::int32_t>("i4", {1, std::numeric_limits<std::int32_t>::min(), 3, 0, 5, 6});
  expect_type<std::int64_t>("i8", {1, -(std::int64_t{1} << 53), std::int64_t{1} << 53, 0, 5, 6});
  expect_type<std::uint8_t>("u1", {1, 255, 3, 0, 5, 6});
  expect_type<std::uint16_t>("u2", {1, 65535, 3, 0, 5, 6});
  expect_type<std::uint32_t>("u4", {1, 4294967295u, 3, 0, 5, 6});
  expect_type<std::uint64_t>("u8", {1, std::uint64_t{1} << 53, 3, 0, 5, 6});
}

TEST(IoNpy, HalfPrecisionAndTruthValues) {
  const TempDir dir;
  // 1, -2, 65504 (the largest), 2^-24 (the smallest), 2^-14 (the smallest normal), -0
  const std::vector<std::uint16_t> halves{0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x8000};
  RowMatrix wanted(6, 1);
  wanted << 1, -2, 65504, std::ldexp(1, -24), std::ldexp(1, -14), 0;
  dir.put("h.npy", npy_file(npy_dict("<f2", "(6,)"), raw(halves)));
  const RowMatrix found = read_all(*open_npy(dir / "h.npy"));
  EXPECT_EQ(found, wanted);
  EXPECT_TRUE(std::signbit(found(5, 0)));
  dir.put("b.npy", npy_file(npy_dict("|b1", "(2, 2)"), std::string("\x00\x01\x01\x00", 4), 3));
  EXPECT_EQ(read_all(*open_npy(dir / "b.npy")), (RowMatrix(2, 2) << 0, 1, 1, 0).finished());
  dir.put("inf.npy", npy_file(npy_dict("<f2", "(2,)"), raw<std::uint16_t>({0, 0xfc00})));
  expect_refused<DataError>([&] { (void)read_all(*open_npy(dir / "inf.npy")); },
                            {"inf.npy", "row 1, column 0", "-infinity"});
}

TEST(IoNpy, HeaderFormsThatOtherVersionsWrote) {
  const TempDir dir;
  const std::string data = raw<double>({1, 2, 3, 4, 5, 6});
  for (const std::string dict : {
           "{'shape': (2L, 3L), 'fortran_order': False, 'descr': '<f8'}",
           "{\"descr\":\"<f8\",\"fortran_order\":False,\"shape\":(2,3)}",
           "{ 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , 'descr' : '<f8' , }",
       }) {
    dir.put("a.npy", npy_file(dict, data));
    EXPECT_EQ(read_all(*open_npy(dir / "a.npy")), counting(2, 3).array().operator+(1).matrix()) << dict;
  }
}

TEST(IoNpy, BlocksFromSeveralThreads) {
  const TempDir dir;
  const RowMatrix m = counting(1003, 7);
  write_npy(dir / "c.npy", m);
  const Matrix columns = m;
  dir.put("f.npy", npy_file(npy_dict("<f8", "(1003, 7)", true),
                            raw(std::vector<double>(columns.data(), columns.data() + columns.size()))));
  for (const char* name : {"c.npy", "f.npy"}) {
    const TablePtr table = open_npy(dir / name);
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::vector<char> good(4, 0);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        bool all = true;
        for (Index first = t; first < 1003; first += 40) {
          const Index count = std::min<Index>(100, 1003 - first);
          RowMatrix block(count, 7);
          table->read(first, count, block.data());
          all = all && block == m.middleRows(first, count);
        }
        good[static_cast<std::size_t>(t)] = all;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, std::vector<char>(4, 1)) << name;
    EXPECT_THROW(table->read(1000, 4, nullptr), std::invalid_argument);
    EXPECT_THROW(table->read(-1, 1, nullptr), std::invalid_argument);
  }
}

TEST(IoNpy, WriterTakesRowsPieceByPiece) {
  const TempDir dir;
  const RowMatrix m = counting(10, 3);
  {
    AtomicFile file(dir / "m.npy");
    NpyWriter writer(file, 10, 3);
    writer.append(m.topRows(4));
    EXPECT_THROW(writer.finish(), std::logic_error);
    EXPECT_THROW(writer.append(m), std::invalid_argument);
    writer.append(m.bottomRows(6));
    writer.finish();
    file.commit();
  }
  EXPECT_EQ(read_all(*open_npy(dir / "m.npy")), m);
}

class IoNpyRefusals : public ::testing::Test {
 protected:
  void refuse(const std::string& bytes, std::initializer_list<const char*> words) {
    const auto path = dir.put("bad.npy", bytes);
    expect_refused<DataError>([&] { (void)read_all(*open_npy(path)); }, words);
  }
  TempDir dir;
};

TEST_F(IoNpyRefusals, NotFiniteNamesFileRowAndColumn) {
  RowMatrix m = counting(5000, 4);
  m(4500, 3) = std::nan("");
  write_npy(dir / "bad.npy", m);
  const TablePtr table = open_npy(dir / "bad.npy");
  RowMatrix block(4096, 4);
  EXPECT_NO_THROW(table->read(0, 4096, block.data()));
  expect_refused<DataError>([&] { table->read(4096, 904, block.data()); },
                            {"bad.npy: row 4500, column 3 (counting from 0) is NaN"});
  refuse(npy_file(npy_dict("<f4", "(1, 2)", true), raw<float>({0, std::numeric_limits<float>::infinity()})),
         {"row 0, column 1", "infinity"});
}

TEST_F(IoNpyRefusals, TypesThatAreNotNumbers) {
  refuse(npy_file(npy_dict("|O", "(1,)"), "........"), {"bad.npy", "pickled Python objects", "astype"});
  refuse(npy_file(npy_dict("|V8", "(1,)"), "........"), {"structured records"});
  refuse(npy_file("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "........"),
         {"structured records", "plain array"});
  refuse(npy_file(npy_dict("<c16", "(1,)"), std::string(16, 0)), {"complex"});
  refuse(npy_file(npy_dict("<U2", "(1,)"), "........"), {"text"});
  refuse(npy_file(npy_dict("<M8[ns]", "(1,)"), "........"), {"dates"});
  refuse(npy_file(npy_dict("<f3", "(1,)"), "..."), {"not supported", "<f3"});
  refuse(npy_file(npy_dict("<f16", "(1,)"), std::string(16, 0)), {"not supported"});
  refuse(npy_file(npy_dict("", "(1,)"), "........"), {"not supported"});
}

TEST_F(IoNpyRefusals, TruncatedAndPadded) {
  const std::string good = npy_file(npy_dict("<f8", "(2, 3)"), raw<double>({1, 2, 3, 4, 5, 6}));
  refuse(good.substr(0, good.size() - 1), {"cut off", "175 bytes", "promises 176"});
  refuse(good + "x", {"1 bytes after its array"});
  refuse(good.substr(0, 9), {"cut off inside its header"});
  refuse(good.substr(0, 40), {"cut off inside its header"});
  refuse("", {"not a .npy file"});
  refuse("PK\x03\x04", {"not a .npy file", "numpy.save"});
  std::string other = good;
  other[6] = 9;
  refuse(other, {"version 9"});
}

TEST_F(IoNpyRefusals, HeaderOfFourGigabytes) {
  refuse(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'", 20),
         {"header of 4294967295 bytes", "65536"});
}

TEST_F(IoNpyRefusals, ImpossibleShapes) {
  refuse(npy_file(npy_dict("<f8", "(-1, 3)"), ""), {"negative"});
  refuse(npy_file(npy_dict("<f8", "(4294967296, 4294967296)"), ""), {"no memory can hold"});
  refuse(npy_file(npy_dict("<f8", "(0, 1152921504606846976, 16)"), ""), {"no memory can hold"});
  refuse(npy_file(npy_dict("<f8", "(99999999999999999999999,)"), ""), {"no memory can hold"});
  refuse(npy_file(npy_dict("<f8", "(1000000000000,)"), "12345678"), {"cut off"});
  refuse(npy_file(npy_dict("<f8", "()"), "12345678"), {"0 dimensions", "reshape"});
  refuse(npy_file(npy_dict("<f8", "(1, 1, 1)"), "12345678"), {"3 dimensions", "(1, 1, 1)"});
}

TEST_F(IoNpyRefusals, DamagedHeaders) {
  const std::string data = "12345678";
  refuse(npy_file("{'descr': '<f8', 'fortran_order': False, }", data), {"damaged", "missing"});
  refuse(npy_file("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}", data),
         {"given twice"});
  refuse(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}", data),
         {"unknown", "more"});
  refuse(npy_file("{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}", data), {"neither True nor False"});
  refuse(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': [1]}", data), {"expected"});
  refuse(npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} __import__", data), {"follows"});
  refuse(npy_file("{'descr", data), {"quote is not closed"});
  refuse(npy_file("", data), {"damaged"});
}

TEST_F(IoNpyRefusals, WholeNumbersThatDoublesCannotHold) {
  const std::int64_t past = (std::int64_t{1} << 53) + 1;
  refuse(npy_file(npy_dict("<i8", "(2, 2)"), raw<std::int64_t>({0, 1, -past, past})),
         {"row 1, column 0", "2^53"});
  refuse(npy_file(npy_dict(">u8", "(2, 2)", true), raw<std::uint64_t>({0, 1, ~std::uint64_t{0}, 2}, true)),
         {"row 0, column 1", "2^53"});
}

TEST(IoNpyProperty, AnyFiniteMatrixSurvives) {
  const TempDir dir;
  EXPECT_TRUE(property_holds(
      [&] {
        const Index rows = *rc::gen::inRange<Index>(1, 20), cols = *rc::gen::inRange<Index>(1, 9);
        RowMatrix m(rows, cols);
        for (Index i = 0; i < m.size(); ++i) m.data()[i] = *rc::gen::arbitrary<double>();
        write_npy(dir / "m.npy", m);
        RC_ASSERT(read_all(*open_npy(dir / "m.npy")) == m);
      },
      100));
}

TEST(IoNpyProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const TempDir dir;
  const std::string good = npy_file(npy_dict("<i2", "(5, 3)", true), std::string(30, 'a'));
  EXPECT_TRUE(property_holds([&] {
    const auto path = dir.put("m.npy", corrupted(good));
    try {
      const TablePtr table = open_npy(path);
      RC_ASSERT(table->rows() * table->cols() <= 200);
      (void)read_all(*table);
    } catch (const DataError&) {
    } catch (const ResourceError&) {
    }
  }));
}

}  // namespace
}  // namespace exhume::io_npy_test
