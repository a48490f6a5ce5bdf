#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <zip.h>

#include <cmath>

#include "base/random.h"
#include "corruption.h"
#include "exhume/error.h"
#include "io/npz.h"
#include "npy_bytes.h"
#include "property.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_npz_test {
namespace {

struct Member {
  std::string name, bytes;
};

// A zip file in the shape NumPy gives it: sizes of the local header 0xFFFFFFFF, the truth in a ZIP64 field
// and in the central directory. Stored, not compressed.
std::string zip_file(const std::vector<Member>& members, std::uint16_t flags = 0) {
  std::string out, directory;
  const auto u16 = [](std::uint64_t v) { return raw<std::uint16_t>({static_cast<std::uint16_t>(v)}); };
  const auto u32 = [](std::uint64_t v) { return raw<std::uint32_t>({static_cast<std::uint32_t>(v)}); };
  const auto crc = [](const std::string& bytes) {
    std::uint32_t c = 0xffffffffu;
    for (const char byte : bytes) {
      c ^= static_cast<unsigned char>(byte);
      for (int i = 0; i < 8; ++i) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
    }
    return ~c;
  };
  for (const Member& m : members) {
    const std::uint64_t offset = out.size(), size = m.bytes.size();
    const std::string common = u16(flags) + u16(0) + u16(0) + u16(33) + u32(crc(m.bytes));
    out += "PK\x03\x04" + u16(45) + common + u32(0xffffffffu) + u32(0xffffffffu) + u16(m.name.size()) +
           u16(20) + m.name;
    out += u16(1) + u16(16) + raw<std::uint64_t>({size, size}) + m.bytes;
    directory += "PK\x01\x02" + u16(45) + u16(45) + common + u32(size) + u32(size) + u16(m.name.size()) +
                 u16(0) + u16(0) + u16(0) + u16(0) + u32(0) + u32(offset) + m.name;
  }
  const std::string end = "PK\x05\x06" + u16(0) + u16(0) + u16(members.size()) + u16(members.size()) +
                          u32(directory.size()) + u32(out.size()) + u16(0);
  return out + directory + end;
}

// The same by libzip, deflated.
void deflated(const std::filesystem::path& path, const std::vector<Member>& members) {
  zip_t* zip = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  ASSERT_NE(zip, nullptr);
  for (const Member& m : members) {
    zip_source_t* source = zip_source_buffer(zip, m.bytes.data(), m.bytes.size(), 0);
    const zip_int64_t index = zip_file_add(zip, m.name.c_str(), source, 0);
    ASSERT_GE(index, 0);
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_DEFLATE, 9);
  }
  ASSERT_EQ(zip_close(zip), 0);
}

Member doubles(const std::string& name, const std::string& shape, const std::vector<double>& values) {
  return {name + ".npy", npy_file(npy_dict("<f8", shape), raw(values))};
}

TEST(IoNpz, ArchivesInNumPysForm) {
  const TempDir dir;
  const auto path =
      dir.put("d.npz", zip_file({doubles("x", "(2, 2)", {1, 2, 3, 4}), doubles("y", "(2,)", {5, 6})}));
  const SamplePtr samples = read_samples_npz(path);
  ASSERT_EQ(samples->rows(), 2);
  ASSERT_EQ(samples->inputs(), 2);
  ASSERT_EQ(samples->outputs(), 1);
  SampleBlock block;
  samples->read(0, 2, block);
  EXPECT_EQ(RowMatrix(block.x()), (RowMatrix(2, 2) << 1, 2, 3, 4).finished());
  EXPECT_EQ(RowMatrix(block.y()), (RowMatrix(2, 1) << 5, 6).finished());
}

TEST(IoNpz, CapitalNamesCompressionTypesAndStrangers) {
  const TempDir dir;
  std::vector<std::int16_t> many(300000);  // several pieces of inflating
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::int16_t>(i % 30011);
  deflated(dir / "d.npz",
           {{"X.npy", npy_file(npy_dict(">i2", "(100000, 3)", true), raw(many, true))},
            {"Y.npy", npy_file(npy_dict("<f4", "(100000, 1)"), raw(std::vector<float>(100000, 0.5f)))},
            {"objects.npy", npy_file(npy_dict("|O", "(1,)"), "........")},
            {"README", "hello"}});
  const SamplePtr samples = read_samples_npz(dir / "d.npz");
  ASSERT_EQ(samples->rows(), 100000);
  SampleBlock block;
  samples->read(99999, 1, block);
  EXPECT_EQ(block.x()(0, 0), 99999 % 30011);
  EXPECT_EQ(block.x()(0, 2), 299999 % 30011);
  EXPECT_EQ(block.y()(0, 0), 0.5);
}

TEST(IoNpz, FortranOrderInThreeDimensions) {
  const TempDir dir;
  std::vector<double> values;  // a[i][j][k] = 100 i + 10 j + k, first index fastest
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) values.push_back(100 * i + 10 * j + k);
    }
  }
  const auto path =
      dir.put("d.npz", zip_file({{"a.npy", npy_file(npy_dict("<f8", "(2, 3, 4)", true), raw(values))}}));
  const Tensors tensors = read_npz(path);
  ASSERT_EQ(tensors.list.size(), 1u);
  const StoredTensor& a = tensors.list[0];
  std::size_t at = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) EXPECT_EQ(a.data[at++], 100 * i + 10 * j + k);
    }
  }
}

TEST(IoNpz, NetworksAndWriting) {
  const TempDir dir;
  Network network;
  network.W() = Stream(1, "W").normal_matrix(3, 2);
  network.b() = Stream(1, "b").normal_matrix(3, 1);
  network.A() = Stream(1, "A").normal_matrix(2, 3);
  network.c() = Stream(1, "c").normal_matrix(2, 1);
  write_npz(dir / "n.npz", to_tensors(network));
  const Network found = to_network(read_npz(dir / "n.npz"), "n.npz");
  EXPECT_EQ(found.W(), network.W());
  EXPECT_EQ(found.b(), network.b());
  EXPECT_EQ(found.A(), network.A());
  EXPECT_EQ(found.c(), network.c());
  EXPECT_FALSE(found.has_skip_terms());
  EXPECT_EQ(npz_bytes(to_tensors(network)), npz_bytes(to_tensors(network)));
  Tensors twice;
  twice.add("a", Vector(Vector::Ones(1)));
  twice.add("a", Vector(Vector::Ones(1)));
  EXPECT_THROW((void)npz_bytes(twice), std::invalid_argument);
  write_npz(dir / "none.npz", {});
  EXPECT_TRUE(read_npz(dir / "none.npz").list.empty());
}

class IoNpzRefusals : public ::testing::Test {
 protected:
  template <class Error = DataError>
  void refuse(const std::string& bytes, std::initializer_list<const char*> words,
              const NpzOptions& options = {}) {
    const auto path = dir.put("bad.npz", bytes);
    expect_refused<Error>([&] { (void)read_samples_npz(path, options); }, words);
  }
  const Member x = doubles("x", "(2, 1)", {1, 2}), y = doubles("y", "(2,)", {3, 4});
  TempDir dir;
};

TEST_F(IoNpzRefusals, NotAnArchive) {
  refuse("", {"bad.npz", "not a readable .npz"});
  refuse("hello", {"not a readable .npz"});
  const std::string good = zip_file({x, y});
  refuse(good.substr(0, good.size() - 10), {"not a readable .npz"});
}

TEST_F(IoNpzRefusals, NamesMissingDoubledOrAmbiguous) {
  refuse(zip_file({x}), {"no array 'y'", "it holds: x", "numpy.savez"});
  refuse(zip_file({{"a.txt", "1"}}), {"no array 'x'", "no arrays"});
  refuse(zip_file({x, doubles("X", "(2, 1)", {1, 2}), y}), {"both 'x' and 'X'"});
  refuse(zip_file({x, x, y}), {"'x.npy' twice"});
}

TEST_F(IoNpzRefusals, EncryptionAndOtherMethods) {
  refuse(zip_file({x, y}, 1), {"encrypted", "password"});
  std::string lzma = zip_file({x, y});
  for (std::size_t at = 0; (at = lzma.find("PK\x01\x02", at)) != std::string::npos; ++at) lzma[at + 10] = 14;
  refuse(lzma, {"method 14"});
}

TEST_F(IoNpzRefusals, Bombs) {
  // A directory that claims more than deflate can hold.
  deflated(dir / "claims.npz",
           {{"x.npy", npy_file(npy_dict("<f8", "(1000, 1)"), std::string(8000, '\0'))}, y});
  std::string claims = dir.get("claims.npz");
  const std::size_t at = claims.find("PK\x01\x02");
  ASSERT_NE(at, std::string::npos);
  claims.replace(at + 24, 4, raw<std::uint32_t>({0xfffffff0u}));
  refuse(claims, {"zip bomb"});
  // Honest sizes that are too much.
  deflated(dir / "zeros.npz",
           {{"x.npy", npy_file(npy_dict("|u1", "(1000, 1000)"), std::string(1000000, '\0'))}, y});
  refuse<ResourceError>(dir.get("zeros.npz"), {"bad.npz (array 'x')", "(1000, 1000)", "7 MiB", ".npy"},
                        {.memory_limit = 7 << 20});
  EXPECT_GT(1000000u, 100 * dir.get("zeros.npz").size());
  // An array inside that claims more than the directory gives it, or less.
  refuse(zip_file({{"x.npy", npy_file(npy_dict("<f8", "(1000000000, 1)"), "12345678")}, y}),
         {"cut off", "promises"});
  refuse(zip_file({{"x.npy", npy_file(npy_dict("<f8", "(1,)"), std::string(800, '\0'))}, y}),
         {"bytes after its end"});
}

TEST_F(IoNpzRefusals, LimitCountsBothArrays) {
  EXPECT_NO_THROW((void)read_samples_npz(dir.put("d.npz", zip_file({x, y})), {.memory_limit = 32}));
  refuse<ResourceError>(zip_file({x, y}), {"array 'y'"}, {.memory_limit = 31});
}

TEST_F(IoNpzRefusals, DamagedData) {
  std::string bytes = zip_file({x, y});
  bytes[bytes.find("PK\x01\x02") - 1] ^= 1;  // the last number of y; the checksum tells
  refuse(bytes, {"y.npy", "damaged"});
}

TEST_F(IoNpzRefusals, WhatNpyRefuses) {
  refuse(zip_file({{"x.npy", npy_file(npy_dict("|O", "(2,)"), std::string(16, '.'))}, y}),
         {"bad.npz (array 'x')", "pickled"});
  refuse(zip_file({{"x.npy", npy_file(npy_dict("<f8", "(-2,)"), "")}, y}), {"negative"});
  refuse(zip_file({x, doubles("y", "(3,)", {1, 2, 3})}), {"x has 2 rows but y has 3"});
  refuse(zip_file({x, doubles("y", "(2, 1, 1)", {1, 2})}), {"3 dimensions"});
  refuse(zip_file({x, doubles("y", "(0, 1)", {})}), {"empty", "0 rows"});
  refuse(zip_file({x, doubles("y", "(2,)", {1, std::nan("")})}), {"array 'y'", "row 1, column 0", "NaN"});
  refuse(
      zip_file(
          {{"x.npy", npy_file(npy_dict("<i8", "(2, 2)", true), raw<std::int64_t>({0, 0, INT64_MAX, 0}))}, y}),
      {"2^53 at [0, 1]"});
}

TEST(IoNpzProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const TempDir dir;
  const std::string stored = zip_file({doubles("x", "(2, 2)", {1, 2, 3, 4}), doubles("y", "(2,)", {5, 6})});
  deflated(dir / "d.npz", {doubles("x", "(2, 2)", {1, 2, 3, 4}), doubles("y", "(2,)", {5, 6})});
  const std::string packed = dir.get("d.npz");
  EXPECT_TRUE(property_holds([&] {
    const auto path = dir.put("m.npz", corrupted(*rc::gen::arbitrary<bool>() ? stored : packed));
    try {
      (void)read_npz(path);
      (void)read_samples_npz(path);
    } catch (const DataError&) {
    } catch (const ResourceError&) {
    }
  }));
}

}  // namespace
}  // namespace exhume::io_npz_test
