// One table with inputs and outputs: names of columns, targets, and messages that say them.
#include <gtest/gtest.h>

#include "exhume/error.h"
#include "io/column_names.h"
#include "io/csv.h"
#include "io/digest.h"
#include "io/npy.h"
#include "io/onnx.h"
#include "io/onnx_reader.h"
#include "io/open.h"
#include "io/target.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_target_test {
namespace {

using Names = std::vector<std::string>;

TEST(IoTarget, NamesAsTheyStandInTheFirstLine) {
  const TempDir dir;
  const auto names = [&](const std::string& text) { return open_csv(dir.put("t.csv", text))->names(); };
  EXPECT_EQ(names("1,2\n"), Names{});
  EXPECT_EQ(names("a,b\n1,2\n"), (Names{"a", "b"}));
  EXPECT_EQ(names("\xef\xbb\xbf"
                  "a,b\r\n1,2\r\n"),
            (Names{"a", "b"}));
  EXPECT_EQ(names("\"age, years\",\"say \"\"hi\"\"\"\n1,2\n"), (Names{"age, years", "say \"hi\""}));
  EXPECT_EQ(names("größe;  weight \n1;2\n"), (Names{"größe", "weight"}));
  EXPECT_EQ(names("# x y\n1 2\n"), (Names{"x", "y"}));
  EXPECT_EQ(names(",a\n0,2\n"), (Names{"column 1", "a"}));
  EXPECT_EQ(names("a,a\n1,2\n"), (Names{"a", "a"}));
  EXPECT_EQ(names("2019,total\n1,2\n"), (Names{"2019", "total"}));
}

TEST(IoTarget, ParsesNames) {
  EXPECT_EQ(parse_target("y").names, Names{"y"});
  EXPECT_EQ(parse_target("y1, y2").names, (Names{"y1", "y2"}));
  EXPECT_EQ(parse_target("\"a,b\",c").names, (Names{"a,b", "c"}));
  for (const char* bad : {"", ",", "y,", ",y", "\"\""}) {
    expect_refused<std::invalid_argument>([&] { (void)parse_target(bad); }, {"target is", "y1,y2"});
  }
}

TEST(IoTarget, TakesOneTableApart) {
  const TempDir dir;
  const std::string file = dir.put("t.csv", "y2,a,b,y1\n1,2,3,4\n5,6,7,8\n");
  const auto open = [&](const Target& target) {
    return open_sample_files(SampleFiles{{file}, target, {}}, {});
  };
  const OpenedSamples named = open(parse_target("y1,y2"));
  EXPECT_EQ(named.input_names, (Names{"a", "b"}));
  EXPECT_EQ(named.output_names, (Names{"y1", "y2"}));  // in the order of the target
  EXPECT_EQ(named.target, (std::vector<Index>{3, 0}));
  SampleBlock block;
  named.samples->read(1, 1, block);
  EXPECT_EQ(RowMatrix(block.x()), (RowMatrix(1, 2) << 6, 7).finished());
  EXPECT_EQ(RowMatrix(block.y()), (RowMatrix(1, 2) << 8, 5).finished());
  EXPECT_THROW(named.samples->read(1, 2, block), std::invalid_argument);
  EXPECT_EQ(named.digests({})[0].role, "samples");

  const OpenedSamples last = open({});
  EXPECT_EQ(last.output_names, Names{"y1"});
  EXPECT_EQ(last.samples->inputs(), 3);
  // What a certificate keeps opens the same samples again.
  EXPECT_EQ(open({{}, named.target}).output_names, named.output_names);
}

TEST(IoTarget, NumbersWhereThereAreNoNames) {
  const TempDir dir;
  const std::string file = dir.put("t.csv", "1,2,3\n4,5,6\n");
  const auto open = [&](const char* target) {
    return open_sample_files(SampleFiles{{file}, parse_target(target), {}}, {});
  };
  EXPECT_EQ(open("1").target, std::vector<Index>{0});
  EXPECT_TRUE(open("1").input_names.empty());
  for (const char* bad : {"0", "4", "y", "-1", "99999999999999999999"}) {
    expect_refused<DataError>([&] { (void)open(bad); }, {bad, "no header", "from 1 to 3"});
  }
  // A table of numbers too, where the target says so.
  write_npy(dir / "t.npy", (RowMatrix(2, 3) << 1, 2, 3, 4, 5, 6).finished());
  const std::string npy = (dir / "t.npy").string();
  EXPECT_EQ(open_sample_files(SampleFiles{{npy}, parse_target("2"), {}}, {}).target, std::vector<Index>{1});
  expect_refused<std::invalid_argument>([&] { check_sample_files(Names{npy}); },
                                        {"holds the inputs only", "target"});
}

TEST(IoTarget, RefusesInOneSentence) {
  const TempDir dir;
  const std::string file = dir.put("t.csv", "a,b,a\n1,2,3\n"), one = dir.put("one.csv", "y\n1\n2\n");
  const auto open = [&](const std::string& path, const char* target) {
    return open_sample_files(SampleFiles{{path}, parse_target(target), {}}, {});
  };
  expect_refused<DataError>([&] { (void)open(file, "z"); }, {"target 'z' is no column", "there are a, b, a"});
  expect_refused<DataError>([&] { (void)open(file, "A"); }, {"target 'A' is no column"});
  expect_refused<DataError>([&] { (void)open(file, "a"); }, {"target 'a'", "several columns"});
  expect_refused<DataError>([&] { (void)open(file, "b,b"); }, {"target twice"});
  expect_refused<DataError>([&] { (void)open(one, "y"); }, {"all of them outputs"});
  expect_refused<DataError>([&] { (void)open_sample_files(Names{one}, {}); }, {"all of them outputs"});
  expect_refused<DataError>(
      [&] {
        (void)open_sample_files(SampleFiles{{file}, {{}, {7}}, {}}, {});
      },
      {"column 8 is a target", "3 columns"});
  expect_refused<std::invalid_argument>(
      [&] {
        check_sample_files(SampleFiles{{file, one}, parse_target("y"), {}});
      },
      {"one table"});
  expect_refused<std::invalid_argument>(
      [&] {
        check_sample_files(SampleFiles{{"-", "-"}, {}, {}});
      },
      {"twice"});
  expect_refused<std::invalid_argument>(
      [&] {
        check_sample_files(SampleFiles{{"t.npz"}, parse_target("y"), {}});
      },
      {"arrays x and y"});
  expect_refused<DataError>([&] { (void)open_table(dir.put("t.parquet", "PAR1")); }, {"Parquet", "Python"});
}

TEST(IoTarget, StandardInputIsCalledThat) {
  const TempDir dir;
  const std::string copy = dir.put("copy", "a,b\n1,2\n3,x\n");
  expect_refused<DataError>(
      [&] {
        (void)open_sample_files(SampleFiles{{"-"}, {}, copy}, {});
      },
      {"standard input: line 3, column 2"});
  const std::string good = dir.put("good", "a,y\n1,2\n3,4\n");
  const OpenedSamples opened = open_sample_files(SampleFiles{{"-"}, {}, good}, {});
  EXPECT_EQ(opened.output_names, Names{"y"});
  EXPECT_EQ(opened.digests({})[0].path, "-");
  EXPECT_EQ(opened.digests({})[0].sha256, sha256("a,y\n1,2\n3,4\n"));
}

TEST(IoTarget, MessagesSayNames) {
  const Names in = {"age", "größe"}, out = {"y"};
  EXPECT_EQ(with_column_names("inputs: column 1 (counting from 0) is constant; remove it", in, out),
            "inputs: column 'größe' (1, counting from 0) is constant; remove it");
  EXPECT_EQ(with_column_names("inputs: columns 0 and 1 (counting from 0) are copies", in, out),
            "inputs: columns 'age' and 'größe' (0 and 1, counting from 0) are copies");
  EXPECT_EQ(with_column_names("outputs: row 3, column 0 (counting from 0) is nan", in, out),
            "outputs: row 3, column 'y' (0, counting from 0) is nan");
  EXPECT_EQ(with_column_names("input 1 counts the rows", in, out), "input 1 ('age') counts the rows");
  for (const char* same :
       {"inputs: column 2 (counting from 0) is constant", "input 3 counts the rows", "input 0 is",
        "outputs: column", "inputs: column 99999999999999999999999 (counting from 0)", "", "input ",
        "the inputs: few"}) {
    EXPECT_EQ(with_column_names(same, in, out), same);
  }
  EXPECT_EQ(with_column_names("inputs: column 0 (counting from 0) is", {}, {}),
            "inputs: column 0 (counting from 0) is");
}

TEST(IoTarget, OnnxCarriesNames) {
  const TempDir dir;
  Network network;
  network.W() = Matrix::Identity(2, 2);
  network.b() = Vector::Zero(2);
  network.A() = Matrix::Ones(1, 2);
  network.c() = Vector::Zero(1);
  const std::string plain = onnx_bytes(network);
  EXPECT_EQ(with_names(plain, {}, {}), plain);
  const std::string named = with_names(plain, {"age", "a \"b\""}, {"\xff"});
  EXPECT_NE(named.find(R"(["age","a \"b\""])"), std::string::npos);
  EXPECT_NE(named.find("output_names"), std::string::npos);
  EXPECT_EQ(read_onnx(dir.put("n.onnx", named)).W(), network.W());
}

}  // namespace
}  // namespace exhume::io_target_test
