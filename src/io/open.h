// Files opened by name: what they are is told by their ending.
//
//   .npy          one array                        io/npy.h    read block by block
//   .csv .tsv .txt  a table as text                io/csv.h    read block by block
//   .npz          arrays x and y, or a network     io/npz.h    in memory
//   .safetensors  a network                        io/safetensors.h
//   .onnx         a network                        io/onnx_reader.h
//   .nnet         a network                        io/nnet.h
//
// Whatever is wrong with a file is a DataError of one sentence: the file, the place, the remedy.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "exhume/control.h"
#include "exhume/files.h"
#include "exhume/network.h"
#include "exhume/papers/memorize.h"
#include "exhume/samples.h"
#include "io/digest.h"
#include "io/table.h"
#include "io/target.h"

namespace exhume {

// Where samples are: inputs and outputs in two tables, both in one .npz, or both in one table.
struct SampleFiles {
  std::vector<std::string> paths;  // "-" is standard input, a table as text
  Target target;                   // of one table
  std::string standard_input;      // the file that "-" was copied to
};

// Samples and the files behind them.
class OpenedSamples {
 public:
  SamplePtr samples;
  std::vector<std::string> input_names, output_names;  // where the files have some
  std::vector<Index> target;                           // of one table: the columns that are outputs, from 0
  // The files with their SHA-256: of the bytes that were read, hashed while they were. Reads what nobody has
  // asked for yet; throws DataError where a file was changed meanwhile.
  [[nodiscard]] std::vector<FileDigest> digests(const Control& control) const;
  // The outputs at -x from one more file (data/views.h).
  void mirror(const std::filesystem::path& labels, const Control& control);

 private:
  friend OpenedSamples open_sample_files(const SampleFiles& files, const Control& control);
  struct File {
    FileDigest about;
    TablePtr table;  // empty where it was read whole
  };
  std::vector<File> files_;
};
// Throws std::invalid_argument for other numbers of files, and DataError where the target does not fit them.
[[nodiscard]] OpenedSamples open_sample_files(const SampleFiles& files, const Control& control);
[[nodiscard]] inline OpenedSamples open_sample_files(const std::vector<std::string>& paths,
                                                     const Control& control) {
  return open_sample_files(SampleFiles{paths, {}, {}}, control);
}
// Throws std::invalid_argument unless there are two files, or a single one that can hold inputs and outputs:
// an archive, a table as text, or any table where the target says which columns are outputs.
void check_sample_files(const SampleFiles& files);
inline void check_sample_files(const std::vector<std::string>& paths) {
  check_sample_files(SampleFiles{paths, {}, {}});
}

// One table: .npy, .csv, .tsv or .txt; or several as one (io/joined_table.h): x-*.npy, a folder, or a list
// with commas.
[[nodiscard]] TablePtr open_table(const std::filesystem::path& path, const Control& control = {});

// Whether the file's name ends so (".onnx"), in letters of either case. Throws DataError where there is no
// such file.
[[nodiscard]] bool has_ending(const std::filesystem::path& path, std::string_view wanted);

// A network whose units are rectified by another function than the ReLU.
struct RectifiedNetwork {
  Network network;
  std::string activation;  // as parse_rectifier has it
};
// A lowest layer: W, t and the activation.
struct StoredLayer {
  Matrix W;                // k x d
  Vector t;                // k
  std::string activation;  // relu, sign or sigmoid
};
// Whatever Exhume writes, told by the tensors and the activation that the file names. A Network has at least
// one hidden layer here.
using StoredModel = std::variant<Network, RectifiedNetwork, QuadraticNetwork, StoredLayer>;
[[nodiscard]] StoredModel open_model(const std::filesystem::path& path);

}  // namespace exhume
