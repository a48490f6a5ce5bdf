#include "session/machines/site_sums.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <stdexcept>

#include "exhume/error.h"
#include "io/digest.h"
#include "io/named_files.h"
#include "io/open.h"
#include "io/record_log.h"
#include "io/safetensors.h"
#include "session/overwrite.h"

namespace exhume {
namespace {

template <class Part>
Part read_merged(const std::vector<std::string>& names) {
  std::optional<Part> all;
  std::set<std::string> seen;
  for (const std::string& name : names) {
    for (const std::filesystem::path& file : files_named(name)) {
      const std::string bytes = read_log(file, "check the path");
      if (!seen.insert(sha256(bytes)).second)
        throw DataError(fmt::format("{} is there twice; give the sums of every site once", file.string()));
      Part part = Part::deserialise(bytes, file.string());
      if (all) {
        all->merge(part);
      } else {
        all = std::move(part);
      }
    }
  }
  if (!all) throw std::invalid_argument("no file of sums is named");
  return std::move(*all);
}

std::string with_ending(const std::string& name, const std::string& ending) {
  return name.ends_with(ending) ? name : name + ending;
}

// Sums are those of the weights of one hidden layer.
Network open_one_layer(const std::string& path) {
  Network network = open_network(path);
  if (network.depth() != 1) {
    throw DataError(fmt::format("{} has {} hidden layers; networks of one are polished from sums", path,
                                network.depth()));
  }
  return network;
}

}  // namespace

SiteFile write_moments(const SamplePtr& samples, const MomentsOptions& options, const Control& control) {
  std::optional<PartialMoments> like;
  if (!options.like.empty())
    like = PartialMoments::deserialise(read_log(options.like, "check the path"), options.like);
  const PartialMoments made = partial_moments(samples, options.order, like ? &*like : nullptr, control);
  const std::string path = with_ending(options.out, ".moments"), bytes = made.serialise();
  write_new_file(path, bytes, options.overwrite);
  return {path, made.rows(), bytes.size()};
}

SiteFile write_sums(const std::string& network, const SamplePtr& samples, const std::string& out,
                    bool overwrite, const Control& control) {
  const PartialSums made = partial_sums(open_one_layer(network), samples, control);
  const std::string path = with_ending(out, ".sums"), bytes = made.serialise();
  write_new_file(path, bytes, overwrite);
  return {path, static_cast<Index>(made.rows), bytes.size(), made.relative_mse()};
}

SiteFile write_step(const std::string& network, const std::vector<std::string>& sums, const std::string& out,
                    double damping, bool overwrite) {
  const Network before = open_one_layer(network);
  const PartialSums all = read_merged<PartialSums>(sums);
  const std::string bytes = network_bytes(stepped(before, all, damping));
  write_new_file(out, bytes, overwrite);
  return {out, static_cast<Index>(all.rows), bytes.size(), all.relative_mse()};
}

PartialMoments read_site_moments(const std::vector<std::string>& files) {
  return read_merged<PartialMoments>(files);
}

}  // namespace exhume
