#include "io/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "data/views.h"
#include "exhume/activation.h"
#include "exhume/error.h"
#include "io/csv.h"
#include "io/joined_table.h"
#include "io/named_files.h"
#include "io/nnet.h"
#include "io/npy.h"
#include "io/npz.h"
#include "io/onnx_reader.h"
#include "io/quadratic_files.h"
#include "io/random_access_file.h"
#include "io/safetensors.h"
#include "io/tensors.h"
#include "io/weight_names.h"

namespace exhume {
namespace {

constexpr const char* kStandardInput = "-";

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

bool is_text(const std::string& ending) { return ending == ".csv" || ending == ".tsv" || ending == ".txt"; }

// The ending in lower case, with its dot. A missing file or a folder is worth saying before the ending is.
std::string ending(const std::filesystem::path& path) {
  const RandomAccessFile exists(path);
  return lower(path.extension().string());
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& found,
                         std::string_view remedy) {
  const std::string what = found.empty() ? "no file ending" : fmt::format("the ending {}", found);
  throw DataError(fmt::format("{} has {}, so its format is not known; {}", path.string(), what, remedy));
}

// A network of ReLUs from arrays in Exhume's names or in those of other programs.
Network network_of(const Tensors& tensors, const std::string& file) {
  if (!is_deep(tensors) && has_weight_names(tensors)) return network_of_weights(tensors, file);
  return to_network(tensors, file);
}

StoredModel as_model(const Network& network) {
  return network.depth() == 0 ? to_one_layer(network) : network;
}

TablePtr open_one_table(const std::filesystem::path& path, const Control& control) {
  const std::string kind = ending(path);
  if (kind == ".npy") return open_npy(path);
  if (is_text(kind)) return open_csv(path, control);
  if (kind == ".parquet") {
    throw DataError(
        fmt::format("{} is a Parquet file, which the Python package reads: exhume.recover takes the table "
                    "that pandas, polars or pyarrow make of it; or save it as .csv",
                    path.string()));
  }
  if (kind == ".npz") {
    throw DataError(
        fmt::format("{} is an archive of several arrays; give it alone, with arrays x and y in it, or give "
                    "two .npy or .csv files",
                    path.string()));
  }
  refuse(path, kind, "give a .npy or .csv file");
}

}  // namespace

TablePtr open_table(const std::filesystem::path& path, const Control& control) {
  const std::vector<std::filesystem::path> files = files_named(path);
  if (files.size() == 1) return open_one_table(files[0], control);
  std::vector<TablePtr> tables;
  tables.reserve(files.size());
  for (const std::filesystem::path& file : files) tables.push_back(open_one_table(file, control));
  return joined_tables(std::move(tables), path.string());
}

SamplePtr open_samples(const std::filesystem::path& x, const std::filesystem::path& y,
                       const Control& control) {
  TablePtr inputs = open_table(x, control);
  return table_samples(std::move(inputs), open_table(y, control));
}

SamplePtr open_samples(const std::filesystem::path& npz, const Control& control) {
  control.check();
  const std::string kind = ending(npz);
  if (kind == ".npz") return read_samples_npz(npz);
  if (kind == ".npy" || kind == ".csv" || kind == ".tsv" || kind == ".txt") {
    throw DataError(fmt::format(
        "{} holds one table; give a second file with the outputs, or one .npz with arrays x and y",
        npz.string()));
  }
  refuse(npz, kind, "give one .npz with arrays x and y, or two .npy or .csv files");
}

void check_sample_files(const SampleFiles& files) {
  const std::vector<std::string>& paths = files.paths;
  if (std::count(paths.begin(), paths.end(), kStandardInput) > 1) {
    throw std::invalid_argument(
        "standard input (-) is given twice; give inputs and outputs in one table, or a file");
  }
  if (paths.size() == 2 && files.target.given()) {
    throw std::invalid_argument(
        "a target names columns of one table; give one file, or two without a target");
  }
  if (paths.size() == 2) return;
  if (paths.size() != 1) {
    throw std::invalid_argument(
        fmt::format("{} files are given; give inputs and outputs, or one file with both", paths.size()));
  }
  const std::string kind = lower(std::filesystem::path(paths[0]).extension().string());
  if (kind == ".npz" && files.target.given()) {
    throw std::invalid_argument(
        fmt::format("{} holds arrays x and y; a target names columns of one table", paths[0]));
  }
  if (kind == ".npz" || paths[0] == kStandardInput || is_text(kind) || files.target.given()) return;
  throw std::invalid_argument(fmt::format(
      "{} holds the inputs only; give the outputs too, both in one .npz, or say which of its columns "
      "are outputs (target)",
      paths[0]));
}

OpenedSamples open_sample_files(const SampleFiles& files, const Control& control) {
  check_sample_files(files);
  const std::vector<std::string>& paths = files.paths;
  OpenedSamples opened;
  const auto table = [&](const std::string& path) {
    if (path != kStandardInput) return open_table(path, control);
    return open_csv(files.standard_input, control, "standard input");
  };
  if (paths.size() == 2) {
    TablePtr x = table(paths[0]), y = table(paths[1]);
    opened.files_ = {{{"inputs", paths[0]}, x}, {{"outputs", paths[1]}, y}};
    opened.input_names = x->names();
    opened.output_names = y->names();
    opened.samples = table_samples(std::move(x), std::move(y));
    return opened;
  }
  if (paths[0] != kStandardInput && ending(paths[0]) == ".npz") {
    std::string digest;
    control.check();
    opened.samples = read_samples_npz(paths[0], {}, &digest);
    opened.files_.push_back({{"samples", paths[0], digest}, nullptr});
    return opened;
  }
  TablePtr both = table(paths[0]);
  opened.files_.push_back({{"samples", paths[0]}, both});
  opened.target = target_columns(files.target, *both);
  const std::vector<std::string> names = both->names();
  for (Index j = 0; j < static_cast<Index>(names.size()); ++j) {
    if (std::find(opened.target.begin(), opened.target.end(), j) == opened.target.end())
      opened.input_names.push_back(names[static_cast<std::size_t>(j)]);
  }
  if (!names.empty()) {
    for (const Index j : opened.target) opened.output_names.push_back(names[static_cast<std::size_t>(j)]);
  }
  opened.samples = split_samples(std::move(both), opened.target);
  return opened;
}

void OpenedSamples::mirror(const std::filesystem::path& labels, const Control& control) {
  const TablePtr table = open_table(labels, control);
  samples = mirrored_view(samples, table_samples(table, table));
  files_.push_back({{"mirrored outputs", labels.string()}, table});
}

std::vector<FileDigest> OpenedSamples::digests(const Control& control) const {
  std::vector<FileDigest> digests;
  for (const File& file : files_) {
    digests.push_back(file.about);
    if (file.table) digests.back().sha256 = file.table->digest(control);
  }
  return digests;
}

StoredModel open_model(const std::filesystem::path& path) {
  if (ending(path) != ".safetensors") return as_model(open_network(path));
  const Tensors tensors = read_safetensors(path);
  if (is_quadratic(tensors)) return to_quadratic_network(tensors, path.string());
  const auto named = tensors.metadata.find("activation");
  const std::string activation = named == tensors.metadata.end() ? "relu" : named->second;
  if (tensors.find("t") != nullptr && tensors.find("A") == nullptr) {
    StoredLayer layer{tensors.matrix("W", path.string()), tensors.vector("t", path.string()), activation};
    if (layer.W.rows() != layer.t.size()) {
      throw DataError(fmt::format("{}: W has {} rows but t has {} entries; save it again", path.string(),
                                  layer.W.rows(), layer.t.size()));
    }
    return layer;
  }
  constexpr std::string_view kRectified = "rectified ";
  if (activation.starts_with(kRectified)) {
    Tensors plain = tensors;
    plain.metadata.clear();
    const std::string name = activation.substr(kRectified.size());
    try {
      (void)parse_rectifier(name);
    } catch (const std::invalid_argument& error) {
      throw DataError(fmt::format("{}: {}; save the network again", path.string(), error.what()));
    }
    return RectifiedNetwork{to_network(plain, path.string()), name};
  }
  return as_model(network_of(tensors, path.string()));
}

Network open_network(const std::filesystem::path& path) {
  const std::string kind = ending(path);
  if (kind == ".safetensors") return network_of(read_safetensors(path), path.string());
  if (kind == ".npz") return network_of(read_npz(path), path.string());
  if (kind == ".onnx") return read_onnx(path);
  if (kind == ".nnet") return read_nnet(path).network;
  refuse(path, kind, "give a network as .safetensors, .npz, .onnx or .nnet");
}

bool has_ending(const std::filesystem::path& path, std::string_view wanted) { return ending(path) == wanted; }

}  // namespace exhume
