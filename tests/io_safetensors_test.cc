#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "corruption.h"
#include "exhume/error.h"
#include "io/safetensors.h"
#include "npy_bytes.h"
#include "property.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_safetensors_test {
namespace {

Network small_network(bool linear) {
  Network network;
  network.W() = (Matrix(3, 2) << 1, 2, 3, 4, 5, 6).finished();
  network.b() = (Vector(3) << 7, 8, 9).finished();
  network.A() = (Matrix(1, 3) << 10, 11, 12).finished();
  network.c() = (Vector(1) << 13).finished();
  if (linear) network.L() = (Matrix(1, 2) << 14, 15).finished();
  return network;
}

void expect_same(const Network& a, const Network& b) {
  EXPECT_EQ(a.W(), b.W());
  EXPECT_EQ(a.b(), b.b());
  EXPECT_EQ(a.A(), b.A());
  EXPECT_EQ(a.c(), b.c());
  ASSERT_EQ(a.has_skip_terms(), b.has_skip_terms());
  if (a.has_skip_terms()) {
    EXPECT_EQ(a.L(), b.L());
  }
}

Network read_network(const std::filesystem::path& path) {
  return to_network(read_safetensors(path), path.string());
}

// A file with this header (padded to 8 bytes) and this buffer.
std::string file(std::string json, std::string_view buffer) {
  while (json.size() % 8 != 0) json += ' ';
  return raw<std::uint64_t>({json.size()}) + json + std::string(buffer);
}

TEST(IoSafetensors, NetworksReadBackBitForBit) {
  const TempDir dir;
  for (const bool linear : {false, true}) {
    const Network network = small_network(linear);
    write_network(dir / "n.safetensors", network, {{"tool", "exhume"}});
    expect_same(read_network(dir / "n.safetensors"), network);
    EXPECT_EQ(read_safetensors(dir / "n.safetensors").metadata.at("tool"), "exhume");
  }
}

TEST(IoSafetensors, BytesAreTheDocumentedOnes) {
  Network network = small_network(false);
  const std::string json =
      R"({"__metadata__":{"a":"1","b":"\"two\""},"W":{"dtype":"F64","shape":[3,2],"data_offsets":[0,48]},)"
      R"("b":{"dtype":"F64","shape":[3],"data_offsets":[48,72]},"A":{"dtype":"F64","shape":[1,3],)"
      R"("data_offsets":[72,96]},"c":{"dtype":"F64","shape":[1],"data_offsets":[96,104]}})";
  const std::string wanted = file(json, raw<double>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(network_bytes(network, {{"b", "\"two\""}, {"a", "1"}}), wanted);
}

TEST(IoSafetensors, NetworkWithoutHiddenUnits) {
  const TempDir dir;
  Network network;
  network.W().resize(0, 3);
  network.A().resize(2, 0);
  network.c() = Vector::Ones(2);
  network.L() = Matrix::Constant(2, 3, 0.1);
  write_network(dir / "n.safetensors", network);
  const Network found = read_network(dir / "n.safetensors");
  expect_same(found, network);
  EXPECT_EQ(found.inputs(), 3);
}

TEST(IoSafetensors, SinglePrecisionAnyOrderAndGeneralShapes) {
  const TempDir dir;
  const std::string json = R"({"late":{"shape":[],"dtype":"F64","data_offsets":[8,16]},)"
                           R"("early":{"data_offsets":[0,8],"dtype":"F32","shape":[1,2,1]}})";
  const auto path = dir.put("t.safetensors", file(json, raw<float>({1.5f, -2}) + raw<double>({0.1})));
  const Tensors tensors = read_safetensors(path);
  ASSERT_EQ(tensors.list.size(), 2u);
  EXPECT_EQ(tensors.list[0].name, "early");
  EXPECT_EQ(tensors.list[0].shape, (std::vector<Index>{1, 2, 1}));
  EXPECT_EQ(tensors.list[0].data, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(tensors.find("late")->data, std::vector<double>{0.1});
  EXPECT_EQ(tensors.find("other"), nullptr);
}

TEST(IoSafetensors, SixteenBits) {
  const TempDir dir;
  const std::string json = R"({"W":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                           R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[4,8]}})";
  const auto path =
      dir.put("t.safetensors", file(json, raw<std::uint16_t>({0x3e00, 0xc000, 0x3fc0, 0xc000})));
  const Tensors tensors = read_safetensors(path);
  EXPECT_EQ(tensors.find("W")->data, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(tensors.find("b")->data, (std::vector<double>{1.5, -2}));
}

TEST(IoSafetensors, WriterRefusesWhatCannotBeRead) {
  Tensors tensors;
  tensors.add("a", Vector(Vector::Ones(2)));
  tensors.add("a", Vector(Vector::Ones(2)));
  expect_refused<std::invalid_argument>([&] { (void)safetensors_bytes(tensors); }, {"'a'", "twice"});
  tensors.list[1].name = "__metadata__";
  expect_refused<std::invalid_argument>([&] { (void)safetensors_bytes(tensors); }, {"reserved"});
  tensors.list[1].name = "\xff";
  expect_refused<std::invalid_argument>([&] { (void)safetensors_bytes(tensors); }, {"UTF-8"});
  tensors.list[1] = {"b", {3}, {1, 2}};
  expect_refused<std::invalid_argument>([&] { (void)safetensors_bytes(tensors); }, {"2 numbers", "(3,)"});
  Network bad = small_network(false);
  bad.b().resize(2);
  EXPECT_THROW((void)network_bytes(bad), std::invalid_argument);
}

class IoSafetensorsRefusals : public ::testing::Test {
 protected:
  void refuse(const std::string& bytes, std::initializer_list<const char*> words) {
    const auto path = dir.put("bad.safetensors", bytes);
    expect_refused<DataError>([&] { (void)read_network(path); }, words);
  }
  // One tensor entry, spelt out.
  void refuse_entry(const std::string& entry, std::initializer_list<const char*> words) {
    refuse(file("{\"W\":" + entry + "}", "12345678"), words);
  }
  TempDir dir;
};

TEST_F(IoSafetensorsRefusals, SizesThatCannotBe) {
  const std::string good = network_bytes(small_network(true));
  refuse(good.substr(0, 5), {"bad.safetensors", "cut off"});
  refuse(good.substr(0, 100), {"cut off inside its header"});
  refuse(good.substr(0, good.size() - 1), {"cut off", "copy or save"});
  refuse(good + "12345678", {"8 bytes that belong to no tensor"});
  refuse(raw<std::uint64_t>({100'000'001}) + "{}", {"header of 100000001 bytes", "100000000"});
  refuse(raw<std::uint64_t>({~std::uint64_t{0}}) + "{}", {"header of 18446744073709551615 bytes"});
  refuse(raw<std::uint64_t>({0}), {"brace"});
}

TEST_F(IoSafetensorsRefusals, DuplicatedKeys) {
  const std::string one = R"("W":{"dtype":"F64","shape":[1],"data_offsets":[0,8]})";
  refuse(file("{" + one + "," + one + "}", "12345678"), {"the key 'W' is given twice"});
  refuse_entry(R"({"dtype":"F64","dtype":"F64","shape":[1],"data_offsets":[0,8]})", {"'dtype' twice"});
  refuse(file(R"({"__metadata__":{"a":"1","a":"2"}})", ""), {"metadata key 'a' is given twice"});
  refuse(file(R"({"__metadata__":{},"__metadata__":{}})", ""), {"given twice"});
}

TEST_F(IoSafetensorsRefusals, NumbersThatAreNotExact) {
  refuse_entry(R"({"dtype":"F64","shape":[18446744073709551616],"data_offsets":[0,8]})", {"below 2^63"});
  refuse_entry(R"({"dtype":"F64","shape":[18446744073709551615],"data_offsets":[0,8]})", {"below 2^63"});
  refuse_entry(R"({"dtype":"F64","shape":[1.0],"data_offsets":[0,8]})", {"1.0", "whole number"});
  refuse_entry(R"({"dtype":"F64","shape":[-1],"data_offsets":[0,8]})", {"negative"});
  refuse_entry(R"({"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]})",
               {"no memory can hold"});
}

TEST_F(IoSafetensorsRefusals, OffsetsWithGapsOverlapsOrWrongLengths) {
  const auto two = [](const char* a, const char* b) {
    return file(std::string(R"({"W":{"dtype":"F64","shape":[1],"data_offsets":)") + a +
                    R"(},"b":{"dtype":"F64","shape":[1],"data_offsets":)" + b + "}}",
                std::string(24, '\0'));
  };
  refuse(two("[0,8]", "[16,24]"), {"'b'", "start at byte 16", "should at 8", "gap"});
  refuse(two("[0,8]", "[0,8]"), {"overlap"});
  refuse(two("[8,16]", "[16,24]"), {"start at byte 8", "should at 0"});
  refuse(two("[0,8]", "[8,24]"), {"needs 8 bytes", "[8, 24]"});
  refuse(two("[0,8]", "[8,0]"), {"data_offsets"});
  refuse_entry(R"({"dtype":"F64","shape":[2],"data_offsets":[0,16]})", {"cut off", "need 16 bytes"});
}

TEST_F(IoSafetensorsRefusals, EntriesOfTheWrongForm) {
  refuse_entry(R"({"dtype":"I64","shape":[1],"data_offsets":[0,8]})", {"'W' has dtype I64", "F16 or BF16"});
  refuse_entry(R"({"dtype":"F64","shape":[1]})", {"lacks"});
  refuse_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[0,8],"x":1})", {"unknown field 'x'"});
  refuse_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[0]})", {"two data_offsets"});
  refuse_entry(R"({"dtype":"F64","shape":[1],"data_offsets":[0,8,8]})", {"out of place"});
  refuse_entry(R"({"dtype":"F64","shape":[[1]],"data_offsets":[0,8]})", {"out of place"});
  refuse_entry(R"({"dtype":1,"shape":[1],"data_offsets":[0,8]})", {"out of place"});
  refuse_entry(R"({"dtype":null,"shape":[1],"data_offsets":[0,8]})", {"null"});
  refuse_entry("true", {"true or false"});
  refuse_entry("[1]", {"out of place"});
  refuse(file(R"({"__metadata__":{"a":{}}})", ""), {"out of place"});
  refuse(file(R"({"W":)", ""), {"not valid JSON"});
  refuse(file(R"({} {})", ""), {"not valid JSON"});
  refuse(file("[]", ""), {"brace"});
  refuse(file("{\"\xff\":1}", ""), {"not valid JSON"});
}

TEST_F(IoSafetensorsRefusals, NetworksThatDoNotFit) {
  const auto bytes = [](auto change) {
    Tensors tensors = to_tensors(small_network(true));
    change(tensors);
    return safetensors_bytes(tensors);
  };
  refuse(bytes([](Tensors& t) { t.list.pop_back(), t.list.pop_back(); }), {"no array 'c'"});
  refuse(bytes([](Tensors& t) { t.list[4].name = "Q"; }), {"'Q'", "two-layer network"});
  refuse(bytes([](Tensors& t) { t.list[1] = {"b", {2}, {1, 2}}; }), {"size of b is 2", "rows of W is 3"});
  refuse(bytes([](Tensors& t) {
           t.list[1] = {"b", {3, 1}, {1, 2, 3}};
         }),
         {"'b' has shape (3, 1)", "1 dimension"});
  refuse(bytes([](Tensors& t) { t.list[2] = {"A", {1, 2}, {1, 2}}; }), {"columns of A is 2"});
  refuse(bytes([](Tensors& t) { t.list[3] = {"c", {2}, {1, 2}}; }), {"size of c is 2"});
  refuse(bytes([](Tensors& t) { t.list[4] = {"L", {1, 1}, {1}}; }), {"columns of L is 1"});
  refuse(bytes([](Tensors& t) { t.list[0].data[3] = std::nan(""); }), {"'W' is NaN at [1, 1]"});
  refuse(bytes([](Tensors& t) { t.list[3].data[0] = -std::numeric_limits<double>::infinity(); }),
         {"'c' is -infinity at [0]"});
}

TEST(IoSafetensorsProperty, AnyTensorsSurvive) {
  const TempDir dir;
  EXPECT_TRUE(property_holds([&] {
    Tensors tensors;
    const int count = *rc::gen::inRange(0, 5);
    for (int t = 0; t < count; ++t) {
      StoredTensor tensor{
          fmt::format("t{}", t), *rc::gen::container<std::vector<Index>>(rc::gen::inRange<Index>(0, 4)), {}};
      tensor.shape.resize(std::min<std::size_t>(tensor.shape.size(), 4));
      std::size_t size = 1;
      for (const Index extent : tensor.shape) size *= static_cast<std::size_t>(extent);
      tensor.data = *rc::gen::container<std::vector<double>>(size, rc::gen::arbitrary<double>());
      tensors.list.push_back(tensor);
    }
    tensors.metadata = {
        {"k", *rc::gen::map(rc::gen::arbitrary<int>(), [](int i) { return std::to_string(i); })}};
    write_safetensors(dir / "t.safetensors", tensors);
    const Tensors found = read_safetensors(dir / "t.safetensors");
    RC_ASSERT(found.metadata == tensors.metadata);
    RC_ASSERT(found.list.size() == tensors.list.size());
    for (const StoredTensor& tensor : tensors.list) {
      RC_ASSERT(found.find(tensor.name)->shape == tensor.shape);
      RC_ASSERT(found.find(tensor.name)->data == tensor.data);
    }
  }));
}

TEST(IoSafetensorsProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const TempDir dir;
  const std::string good = network_bytes(small_network(true), {{"key", "value"}});
  EXPECT_TRUE(property_holds([&] {
    const auto path = dir.put("n.safetensors", corrupted(good));
    try {
      read_network(path).validate();
    } catch (const DataError&) {
    }
  }));
}

}  // namespace
}  // namespace exhume::io_safetensors_test
