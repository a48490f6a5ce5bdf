#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/parallel.h"
#include "base/random.h"
#include "exhume/error.h"
#include "io/csv.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/open.h"
#include "io/output_folder.h"
#include "io/safetensors.h"
#include "npy_bytes.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_open_test {
namespace {

TEST(IoOpen, PairsOfAnyFormat) {
  const TempDir dir;
  const RowMatrix x = (RowMatrix(3, 2) << 1, 2, 3, 4, 5, 6).finished();
  const RowMatrix y = (RowMatrix(3, 1) << 7, 8, 9).finished();
  write_npy(dir / "x.NPY", x);
  write_csv(dir / "x.csv", x, {"a", "b"});
  dir.put("x.tsv", "1\t2\n3\t4\n5\t6\n");
  dir.put("y.txt", "7\n8\n9\n");
  dir.put("y.npy", npy_file(npy_dict("<f8", "(3,)"), raw<double>({7, 8, 9})));
  for (const char* inputs : {"x.NPY", "x.csv", "x.tsv"}) {
    for (const char* outputs : {"y.npy", "y.txt"}) {
      const SamplePtr samples = open_samples(dir / inputs, dir / outputs);
      ASSERT_EQ(samples->rows(), 3);
      SampleBlock block;
      samples->read(1, 2, block);
      EXPECT_EQ(block.first_row(), 1);
      EXPECT_EQ(RowMatrix(block.x()), RowMatrix(x.bottomRows(2)));
      EXPECT_EQ(RowMatrix(block.y()), RowMatrix(y.bottomRows(2)));
      EXPECT_THROW(samples->read(2, 2, block), std::invalid_argument);
    }
  }
  Tensors tensors;
  tensors.add("x", Matrix(x));
  tensors.add("y", Vector(y.col(0)));
  write_npz(dir / "d.npz", tensors);
  const SamplePtr both = open_samples(dir / "d.npz");
  ASSERT_EQ(both->rows(), 3);
  SampleBlock block;
  both->read(0, 3, block);
  EXPECT_EQ(RowMatrix(block.x()), x);
  EXPECT_EQ(RowMatrix(block.y()), y);
}

TEST(IoOpen, Networks) {
  const TempDir dir;
  Network network;
  network.W() = Stream(1, "W").normal_matrix(2, 3);
  network.b() = Stream(1, "b").normal_matrix(2, 1);
  network.A() = Stream(1, "A").normal_matrix(1, 2);
  network.c() = Stream(1, "c").normal_matrix(1, 1);
  write_network(dir / "n.safetensors", network);
  write_npz(dir / "n.npz", to_tensors(network));
  for (const char* name : {"n.safetensors", "n.npz"}) {
    const Network found = open_network(dir / name);
    EXPECT_EQ(found.W(), network.W()) << name;
    EXPECT_EQ(found.b(), network.b()) << name;
    EXPECT_EQ(found.A(), network.A()) << name;
    EXPECT_EQ(found.c(), network.c()) << name;
    EXPECT_FALSE(found.has_skip_terms()) << name;
  }
  expect_refused<DataError>([&] { (void)open_network(dir.put("n.pt", "x")); },
                            {"n.pt", ".pt", ".safetensors"});
  expect_refused<DataError>([&] { (void)open_network(dir / "no.safetensors"); }, {"does not exist"});
}

class IoOpenRefusals : public ::testing::Test {
 protected:
  void SetUp() override { write_npy(dir / "x.npy", RowMatrix::Ones(100, 2)); }
  void refuse(const char* x, const char* y, std::initializer_list<const char*> words) {
    expect_refused<DataError>([&] { (void)open_samples(dir / x, dir / y); }, words);
  }
  TempDir dir;
};

TEST_F(IoOpenRefusals, DifferentRowCounts) {
  write_npy(dir / "y.npy", RowMatrix::Ones(90, 1));
  refuse("x.npy", "y.npy", {"x.npy has 100 rows but", "y.npy has 90", "row i"});
}

TEST_F(IoOpenRefusals, MissingFoldersAndEndings) {
  refuse("x.npy", "y.npy", {"y.npy does not exist", "check the path"});
  refuse("x.npy/deeper.npy", "x.npy", {"does not exist"});
  std::filesystem::create_directory(dir / "folder.npy");
  refuse("folder.npy", "x.npy", {"folder.npy is a folder", "give a file"});
  dir.put("x.xlsx", "x");
  refuse("x.xlsx", "x.npy", {"x.xlsx has the ending .xlsx", ".npy or .csv"});
  dir.put("plain", "x");
  refuse("plain", "x.npy", {"no file ending"});
  dir.put("d.npz", "x");
  refuse("d.npz", "x.npy", {"several arrays", "alone"});
  expect_refused<DataError>([&] { (void)open_samples(dir / "x.npy"); }, {"one table", "outputs"});
  expect_refused<DataError>([&] { (void)open_samples(dir / "x.xlsx"); }, {".xlsx", ".npz"});
  ASSERT_EQ(mkfifo((dir / "pipe.csv").c_str(), 0600), 0);
  refuse("pipe.csv", "x.npy", {"not a regular file", "save the data to disk"});
}

TEST_F(IoOpenRefusals, EmptyArrays) {
  dir.put("e.npy", npy_file(npy_dict("<f8", "(0, 3)"), ""));
  refuse("e.npy", "x.npy", {"e.npy is empty", "0 rows and 3 columns"});
  dir.put("e.npy", npy_file(npy_dict("<f8", "(100, 0)"), ""));
  refuse("x.npy", "e.npy", {"e.npy is empty", "0 columns"});
}

TEST_F(IoOpenRefusals, NotFiniteIsFoundWhereItIsRead) {
  RowMatrix y = RowMatrix::Ones(100, 1);
  y(17, 0) = std::nan("");
  write_npy(dir / "y.npy", y);
  const SamplePtr samples = open_samples(dir / "x.npy", dir / "y.npy");
  SampleBlock block;
  EXPECT_NO_THROW(samples->read(18, 82, block));
  expect_refused<DataError>([&] { samples->read(10, 50, block); },
                            {"y.npy: row 17, column 0 (counting from 0) is NaN"});
}

TEST_F(IoOpenRefusals, FileThatShrinksUnderARun) {
  write_npy(dir / "y.npy", RowMatrix::Ones(100, 1));
  const SamplePtr samples = open_samples(dir / "x.npy", dir / "y.npy");
  std::filesystem::resize_file(dir / "x.npy", 500);
  SampleBlock block;
  expect_refused<DataError>([&] { samples->read(0, 100, block); },
                            {"x.npy ended at byte 500", "do not change"});
}

// Resident memory now, in KiB: not its peak, which other tests of the process may have set.
long resident() {
  long pages = 0, shared = 0;
  std::ifstream("/proc/self/statm") >> shared >> pages;
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// Resident memory must not grow with n: 256 MiB pass through blocks of 4096 rows.
TEST(IoOpen, StreamingKeepsMemoryFlat) {
  const TempDir dir;
  constexpr Index kRows = 1 << 19, kCols = 64;
  const std::string header = npy_header({kRows, kCols});
  const auto path = dir.put("x.npy", header);
  std::filesystem::resize_file(path, header.size() + kRows * kCols * 8);  // a sparse file of zeros
  const TablePtr table = open_npy(path);
  RowMatrix block(kBlockRows, kCols);
  table->read(0, kBlockRows, block.data());
  const long before = resident();
  ASSERT_GT(before, 0);
  long most = before;
  for (Index first = 0; first < kRows; first += kBlockRows) {
    table->read(first, kBlockRows, block.data());
    most = std::max(most, resident());
  }
  EXPECT_LT(most - before, 32 * 1024) << "KiB of growth";
}

TEST(IoAtomicFile, NothingIsSeenBeforeCommit) {
  const TempDir dir;
  dir.put("a", "old");
  {
    AtomicFile file(dir / "a");
    file.write("new");
    EXPECT_EQ(dir.get("a"), "old");
  }
  EXPECT_EQ(dir.get("a"), "old");
  EXPECT_EQ(dir.entries(), 1u);
  const std::string large(3 << 20, 'x');
  AtomicFile file(dir / "a");
  file.write("head");
  file.write(large);
  file.write("tail");
  file.commit();
  EXPECT_EQ(dir.get("a"), "head" + large + "tail");
  EXPECT_EQ(dir.entries(), 1u);
  EXPECT_THROW(file.write("more"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
}

TEST(IoAtomicFile, FoldersThatCannotBeWritten) {
  const TempDir dir;
  expect_refused<DataError>([&] { write_file(dir / "no/such/a", "x"); },
                            {"the folder", "no/such cannot be written to", "choose a folder"});
  dir.put("plain", "");
  expect_refused<DataError>([&] { write_file(dir / "plain/a", "x"); }, {"plain cannot be written to"});
  expect_refused<DataError>([&] { write_file("/proc/exhume-test", "x"); },
                            {"the folder /proc", "cannot be written to"});
  std::filesystem::create_directory(dir / "folder");
  expect_refused<DataError>([&] { write_file(dir / "folder", "x"); }, {"is a folder"});
  if (geteuid() == 0) return;  // permissions do not bind root
  std::filesystem::permissions(dir / "folder",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_refused<DataError>([&] { write_file(dir / "folder/a", "x"); },
                            {"folder cannot be written to", "Permission"});
}

// A write that fails half-way, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST(IoAtomicFile, FailedWriteLeavesNothingBehind) {
  const TempDir dir;
  const FileSizeLimit limit(1 << 20);
  expect_refused<ResourceError>([&] { write_file(dir / "a", std::string(3 << 20, 'x')); },
                                {"a cannot be written", "free"});
  EXPECT_EQ(dir.entries(), 0u);
}

TEST(IoOutputFolder, AllOrNothing) {
  const TempDir dir;
  {
    OutputFolder out(dir / "deep/er");
    out.add("a", "1");
    out.open("b").write("2");
  }
  EXPECT_EQ(dir.entries(), 0u) << "folders that were made are removed again";
  {
    OutputFolder out(dir / "deep/er/");
    out.add("a", "1");
    out.open("b").write("2");
    out.commit();
  }
  EXPECT_EQ(dir.get("deep/er/a"), "1");
  EXPECT_EQ(dir.get("deep/er/b"), "2");
  try {
    OutputFolder out(dir / "deep/er");
    out.add("a", "new");
    const FileSizeLimit limit(1 << 20);
    out.add("b", std::string(3 << 20, 'x'));
    out.commit();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ResourceError&) {
  }
  EXPECT_EQ(dir.get("deep/er/a"), "1");
  EXPECT_EQ(dir.get("deep/er/b"), "2");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir / "deep/er"), {}), 2);
}

TEST(IoOutputFolder, Refusals) {
  const TempDir dir;
  dir.put("plain", "");
  expect_refused<DataError>([&] { OutputFolder out(dir / "plain"); }, {"plain is a file, not a folder"});
  expect_refused<DataError>([&] { OutputFolder out(dir / "plain/deeper"); }, {"plain/deeper cannot be made"});
  expect_refused<DataError>([&] { OutputFolder out("/proc/exhume-test"); },
                            {"/proc/exhume-test cannot be made"});
  std::filesystem::create_directories(dir / "out/b");
  expect_refused<DataError>(
      [&] {
        OutputFolder out(dir / "out");
        out.add("a", "1");
        out.add("b", "2");
      },
      {"b is a folder"});
  EXPECT_FALSE(std::filesystem::exists(dir / "out/a"));
}

}  // namespace
}  // namespace exhume::io_open_test
