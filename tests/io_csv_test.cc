#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "corruption.h"
#include "exhume/error.h"
#include "io/csv.h"
#include "property.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_csv_test {
namespace {

RowMatrix read_text(const TempDir& dir, const std::string& text) {
  return read_all(*open_csv(dir.put("t.csv", text)));
}

TEST(IoCsv, FormsThatMeanTheSame) {
  const TempDir dir;
  const RowMatrix wanted = (RowMatrix(2, 2) << 1, 2.5, -3, 1e-3).finished();
  for (const std::string text : {
           "1,2.5\n-3,1e-3\n",
           "1,2.5\n-3,1e-3",
           "1,2.5\r\n-3,1e-3\r\n",
           "1,2.5\n-3,1e-3\n\n  \n\r\n",
           "\xef\xbb\xbf\x31,2.5\n-3,1e-3\n",  // a byte order mark; \x31 is a 1
           "a,b\n1,2.5\n-3,1e-3\n",
           "\xef\xbb\xbfx0;x1\r\n+1;+2.5\r\n-3;.001\r\n",
           "\"a, first\",\"b\"\n1,2.5\n-3,1e-3\n",
           "\"1\",\"2.5\"\n\"-3\",\"1e-3\"\n",
           " 1 ;\t2.50 \n -3 ; 1E-3\n",
           "1\t2.5\n-3\t1e-3\n",
           "1 2.5\n-3 1e-3\n",
           "  1    2.5 \n -3 \t 1e-3\n",
           "# x y\n1 2.5\n-3 1e-3\n",
           "#x,y\n1.,2.5\n-3,0.001\n",
       }) {
    EXPECT_EQ(read_text(dir, text), wanted) << text;
  }
}

TEST(IoCsv, OneColumn) {
  const TempDir dir;
  const RowMatrix wanted = (RowMatrix(3, 1) << 1, 2, 3).finished();
  EXPECT_EQ(read_text(dir, "1\n2\n3\n"), wanted);
  EXPECT_EQ(read_text(dir, "target\n1\n2\n3"), wanted);
}

TEST(IoCsv, RandomAccessPastTheIndexInterval) {
  const TempDir dir;
  constexpr Index kRows = 2 * 4096 + 3;
  std::string text = "row,square\n";
  for (Index i = 0; i < kRows; ++i) text += std::to_string(i) + "," + std::to_string(i * i) + "\n";
  const TablePtr table = open_csv(dir.put("t.csv", text));
  ASSERT_EQ(table->rows(), kRows);
  ASSERT_EQ(table->cols(), 2);
  for (const Index first : {Index{0}, Index{1}, Index{4095}, Index{4096}, Index{8190}, kRows - 1}) {
    const Index count = std::min<Index>(5, kRows - first);
    RowMatrix block(count, 2);
    table->read(first, count, block.data());
    for (Index i = 0; i < count; ++i) {
      EXPECT_EQ(block(i, 0), static_cast<double>(first + i));
      EXPECT_EQ(block(i, 1), static_cast<double>((first + i) * (first + i)));
    }
  }
  EXPECT_EQ(read_all(*table)(kRows - 1, 0), static_cast<double>(kRows - 1));
  EXPECT_THROW(table->read(kRows, 1, nullptr), std::invalid_argument);
}

TEST(IoCsv, LinesLongerThanTheBuffer) {
  const TempDir dir;
  std::string text;
  for (int line = 0; line < 3; ++line) {
    for (int j = 0; j < 100000; ++j) text += std::to_string(j + line) + (j < 99999 ? ',' : '\n');
  }
  const RowMatrix found = read_text(dir, text);
  ASSERT_EQ(found.rows(), 3);
  ASSERT_EQ(found.cols(), 100000);
  EXPECT_EQ(found(2, 99999), 100001);
}

TEST(IoCsv, WritingReadsBackBitForBit) {
  const TempDir dir;
  const RowMatrix m = (RowMatrix(2, 3) << 0.1, -1.0 / 3, 5e-324, std::numeric_limits<double>::max(),
                       -2.2250738585072014e-308, 0)
                          .finished();
  write_csv(dir / "m.csv", m);
  EXPECT_EQ(read_all(*open_csv(dir / "m.csv")), m);
  write_csv(dir / "m.csv", m, {"a", "b", "c"});
  EXPECT_EQ(dir.get("m.csv").substr(0, 6), "a,b,c\n");
  EXPECT_EQ(read_all(*open_csv(dir / "m.csv")), m);
  EXPECT_THROW(write_csv(dir / "m.csv", m, {"a"}), std::invalid_argument);
}

TEST(IoCsv, OpeningCanBeInterrupted) {
  const TempDir dir;
  Control control;
  control.should_stop = [] { return true; };
  EXPECT_THROW((void)open_csv(dir.put("t.csv", "1,2\n"), control), Interrupted);
}

class IoCsvRefusals : public ::testing::Test {
 protected:
  void refuse(const std::string& text, std::initializer_list<const char*> words) {
    const auto path = dir.put("bad.csv", text);
    expect_refused<DataError>([&] { (void)open_csv(path); }, words);
  }
  TempDir dir;
};

TEST_F(IoCsvRefusals, CellsThatAreNotFiniteNumbers) {
  refuse("a,b\n1,2\n3,abc\n", {"bad.csv: line 3, column 2 is 'abc', which is not a number"});
  refuse("1,2\n3,1.5x\n", {"line 2, column 2 is '1.5x'"});
  refuse("1;2\n3;1,5\n", {"line 2, column 2 is '1,5'", "point"});
  refuse("1,2\n+-3,1\n", {"line 2, column 1"});
  refuse("1,2\n-,1\n", {"line 2, column 1"});
  refuse("1,2\n1e400,1\n", {"line 2, column 1 is '1e400'", "range"});
  refuse("1,2\n0x1p3,1\n", {"line 2, column 1 is '0x1p3'", "hexadecimal"});
  for (const char* word : {"nan", "NaN", "-inf", "+Inf", "INFINITY"}) {
    refuse(std::string("1,2\n3,") + word + "\n", {"line 2, column 2", word, "finite"});
  }
}

TEST_F(IoCsvRefusals, FirstLineWithAHoleIsNotMistakenForAHeader) {
  refuse("nan,2\n3,4\n", {"line 1, column 1 is 'nan'"});
  refuse("1,,3\n4,5,6\n", {"line 1, column 2 is empty"});
  refuse("1e400,2\n3,4\n", {"line 1, column 1", "range"});
}

TEST_F(IoCsvRefusals, EmptyCellsRaggedRowsAndBlankLines) {
  refuse("1,2\n3,4\n5,6\n7,8\n9,1\n2,3\n4,\n", {"line 7, column 2 is empty"});
  refuse("1,2\n\"\",4\n", {"line 2, column 1 is empty"});
  refuse("1,2\n3,4,5\n", {"line 2 has 3 cells but line 1 has 2"});
  refuse("a,b,c\n3,4\n", {"line 2 has 2 cells but line 1 has 3"});
  refuse("1 2\n3\n", {"line 2 has 1 cells"});
  refuse("1,2\n\n3,4\n", {"line 2 is empty"});
  refuse("\n1,2\n", {"line 1 is empty"});
}

TEST_F(IoCsvRefusals, NoRowsAndOtherEncodings) {
  refuse("", {"bad.csv is empty"});
  refuse("\n\n", {"is empty"});
  refuse("a,b\n", {"is empty", "no rows"});
  refuse("a,b\r1,2\r3,4\r", {"carriage return"});
  refuse(std::string("\xff\xfe"
                     "1\0,\0",
                     6),
         {"UTF-16", "UTF-8"});
  refuse(std::string("1,2\n3,\0\n", 8), {"line 2, column 2"});
}

TEST(IoCsvProperty, AnyFiniteMatrixSurvives) {
  const TempDir dir;
  EXPECT_TRUE(property_holds(
      [&] {
        RowMatrix m(*rc::gen::inRange<Index>(1, 20), *rc::gen::inRange<Index>(1, 9));
        for (Index i = 0; i < m.size(); ++i) m.data()[i] = *rc::gen::arbitrary<double>();
        write_csv(dir / "m.csv", m);
        RC_ASSERT(read_all(*open_csv(dir / "m.csv")) == m);
      },
      100));
}

TEST(IoCsvProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const TempDir dir;
  const std::string good = "a,\"b c\"\r\n1, 2.5\r\n-3e5,4\r\n\"5\",6\r\n\r\n";
  EXPECT_TRUE(property_holds([&] {
    const auto path = dir.put("m.csv", corrupted(good));
    try {
      const RowMatrix m = read_all(*open_csv(path));
      RC_ASSERT(m.allFinite());
    } catch (const DataError&) {
    }
  }));
}

}  // namespace
}  // namespace exhume::io_csv_test
