#include "session/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "compare/parameters.h"
#include "exhume/error.h"
#include "io/digest.h"
#include "io/open.h"
#include "oracle/command_oracle.h"

namespace exhume {
namespace {

// The activation that a file names.
std::string activation_of(const StoredModel& model, const std::string& path) {
  if (const auto* network = std::get_if<Network>(&model)) return network->activation;
  if (const auto* rectified = std::get_if<RectifiedNetwork>(&model))
    return "rectified " + rectified->activation;
  throw DataError(fmt::format("{} is not a network of rectified units; give one", path));
}

// Networks whose rectifier is not the ReLU are compared by their parameters alone.
CompareResult by_parameters(const Network& p, const Network& q, const CompareOptions& options) {
  constexpr double kSame = 1e-9;  // as for ReLUs (src/compare/compare.cc)
  CompareResult out;
  out.parameters = compare_parameters(p, q, options.free_signs);
  out.tolerance = options.tolerance;
  const double worst = out.parameters->worst_error;
  const bool same = out.parameters->comparable && worst <= options.tolerance.value_or(kSame);
  out.verdict = same ? CompareVerdict::kSameNetwork : CompareVerdict::kDifferent;
  out.worst_difference = std::numeric_limits<double>::infinity();
  out.reason =
      same ? fmt::format("the same network: parameters agree to {:.3g} after aligning the units", worst)
      : out.parameters->comparable
          ? fmt::format("different: a parameter is {:.3g} off after aligning the units", worst)
          : fmt::format("different: the shapes are {} and {}", out.parameters->first_shape,
                        out.parameters->second_shape);
  out.remarks.emplace_back("Units of this activation are compared by their parameters alone.");
  out.certificate.status = same ? Status::kCertified : Status::kUncertified;
  out.certificate.reason = out.reason;
  out.certificate.route = "parameters";
  return out;
}

}  // namespace

CompareResult compare(const std::string& first, const std::string& second, const CompareOptions& options,
                      const Control& control) {
  StoredModel models[] = {open_model(first), open_model(second)};
  CompareResult out;
  if (std::holds_alternative<Network>(models[0]) && std::holds_alternative<Network>(models[1])) {
    out = compare(ComparedModel{first, std::get<Network>(std::move(models[0])), {}},
                  ComparedModel{second, std::get<Network>(std::move(models[1])), {}}, options, control);
  } else {
    const std::string activation = activation_of(models[0], first), other = activation_of(models[1], second);
    if (activation != other) {
      throw DataError(fmt::format("the units of {} are {}, those of {} are {}: they cannot be compared",
                                  first, activation, second, other));
    }
    out = by_parameters(std::get<RectifiedNetwork>(models[0]).network,
                        std::get<RectifiedNetwork>(models[1]).network, options);
    out.first = first;
    out.second = second;
  }
  add_files({{"first", first}, {"second", second}}, out);
  return out;
}

CompareResult compare(const CompareFiles& files, const Control& control) {
  CompareOptions options = files.options;
  const auto vector = [](const std::vector<double>& list) {
    return Vector(Eigen::Map<const Vector>(list.data(), static_cast<Index>(list.size())));
  };
  if (!files.low.empty()) {
    options.low = vector(files.low);
    options.high = vector(files.high);
  }
  if (!files.domain.empty()) {
    options.rows = read_all(*open_table(files.domain, control));
  }
  options.validate();
  const std::size_t given =
      (files.first.empty() ? 0 : 1) + (files.second.empty() ? 0 : 1) + files.commands.size();
  if (given != 2) {
    throw std::invalid_argument(fmt::format("two files or commands are compared with each other; {} {} given",
                                            given, given == 1 ? "was" : "were"));
  }
  if (files.commands.empty()) return compare(files.first, files.second, options, control);
  const auto command = [&](std::size_t i, Index inputs) {
    CommandOptions how;
    how.inputs = inputs;
    how.text = files.text;
    how.timeout_seconds = files.timeout;
    return ComparedModel{files.commands[i], {}, command_oracle(files.commands[i], how)};
  };
  if (files.commands.size() == 2) {
    if (files.inputs == 0) throw std::invalid_argument("inputs, their number, is needed for two commands");
    return compare(command(0, files.inputs), command(1, files.inputs), options, control);
  }
  Network network = open_network(files.first.empty() ? files.second : files.first);
  if (files.inputs != 0 && files.inputs != network.inputs()) {
    throw std::invalid_argument(
        fmt::format("inputs is {}, but {} has {}", files.inputs, files.first, network.inputs()));
  }
  const Index inputs = network.inputs();
  const std::string& name = files.first.empty() ? files.second : files.first;
  CompareResult out =
      compare(ComparedModel{name, std::move(network), {}}, command(0, inputs), options, control);
  add_files({{"first", name}}, out);
  return out;
}

void add_files(const std::vector<std::pair<std::string, std::string>>& files, CompareResult& found) {
  for (const auto& [role, path] : files) found.certificate.files.push_back({role, path, sha256_file(path)});
}

Delivered finish(Delivery& delivery, CompareResult& found, const Control& control) {
  Delivered delivered = delivery.finish(found, OpenedSamples(), control);
  return delivered;
}

}  // namespace exhume
