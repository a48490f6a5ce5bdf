#include "session/compare_check.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "compare/arithmetic.h"
#include "compare/match.h"
#include "compare/search.h"
#include "compare/split.h"
#include "exhume/activation.h"
#include "exhume/error.h"
#include "exhume/files.h"
#include "io/digest.h"
#include "io/open.h"
#include "session/certificate_file.h"

namespace exhume {
namespace {

namespace fs = std::filesystem;

constexpr Index kInputsTried = 2000;
constexpr double kPrinted = 1e-9;  // two machines round differently

Vector stated_vector(const Json& json) {
  Vector out(json.is_array() ? static_cast<Index>(json.size()) : 0);
  for (Index i = 0; i < out.size(); ++i) out(i) = number_of(json[static_cast<std::size_t>(i)]);
  return out;
}

// f at x, by plain loops.
std::vector<long double> plain_outputs(const Network& network, const Vector& x) {
  const bool rectified = network.activation == "relu";
  const Rectifier sigma = parse_rectifier(network.activation);
  std::vector<long double> below(x.begin(), x.end()), lower;
  for (std::size_t l = 0; l < network.layers.size(); ++l) {
    const Layer& layer = network.layers[l];
    std::vector<long double> z;
    for (Index i = 0; i < layer.W.rows(); ++i) {
      long double sum = layer.b(i);
      for (Index j = 0; j < layer.W.cols(); ++j)
        sum += static_cast<long double>(layer.W(i, j)) * below[static_cast<std::size_t>(j)];
      if (layer.L.size() != 0) {
        for (Index j = 0; j < layer.L.cols(); ++j)
          sum += static_cast<long double>(layer.L(i, j)) * lower[static_cast<std::size_t>(j)];
      }
      z.push_back(sum);
    }
    if (l + 1 == network.layers.size()) return z;
    lower.insert(lower.end(), below.begin(), below.end());
    for (long double& value : z) {
      value = rectified ? std::max(value, 0.0L) : static_cast<long double>(sigma(static_cast<double>(value)));
    }
    below = std::move(z);
  }
  return below;
}

class ComparisonCheck {
 public:
  ComparisonCheck(const Document& document, const fs::path& folder, const Control& control)
      : json_(document.json), document_(document), folder_(folder), control_(control) {}

  std::vector<Finding> run() {
    if (!document_.sealed)
      add("certificate", Outcome::kBad, "its digest is not that of its content: it was edited");
    std::vector<Network> networks;
    for (const FileDigest& file : document_.certificate.files) {
      if (!fs::exists(file.path)) return std::move(findings_);  // said by the digests
      const StoredModel model = open_model(file.path);
      if (const auto* network = std::get_if<Network>(&model)) networks.push_back(*network);
    }
    low_ = stated_vector(at(json_, "low"));
    high_ = stated_vector(at(json_, "high"));
    const bool box = words(at(json_, "route")) == "queries";
    if (words(at(json_, "route")) == "parameters" || networks.empty() || (!box && networks.size() < 2)) {
      add("comparison", Outcome::kUnchecked, "it rests on parameters alone, which were not aligned again");
      return std::move(findings_);
    }
    if (low_.size() != networks[0].inputs() || high_.size() != low_.size() || !low_.allFinite() ||
        !high_.allFinite()) {
      add("certificate", Outcome::kBad, "its domain is not one of the inputs of the files");
      return std::move(findings_);
    }
    check_worst(networks, box);
    if (box) {
      add("queries", Outcome::kUnchecked,
          "the black box was not queried again, so its answers are not checked");
    } else if (networks[1].inputs() == networks[0].inputs() &&
               networks[1].outputs() == networks[0].outputs()) {
      check_boxes(networks[0], networks[1]);
      check_verdict(networks[0], networks[1]);
    }
    return std::move(findings_);
  }

 private:
  void add(std::string part, Outcome outcome, std::string words) {
    findings_.push_back({std::move(part), outcome, std::move(words)});
  }
  [[nodiscard]] double lower() const { return number_of(at(at(json_, "bound"), "lower")); }
  [[nodiscard]] double upper() const { return number_of(at(at(json_, "bound"), "upper")); }

  void check_worst(const std::vector<Network>& networks, bool box) {
    const Vector x = stated_vector(at(json_, "worst_input"));
    if (x.size() != low_.size()) return;
    if ((x.array() < low_.array()).any() || (x.array() > high_.array()).any()) {
      add("worst input", Outcome::kBad, "it lies outside the domain");
      return;
    }
    std::vector<std::vector<long double>> found;
    const char* const keys[] = {"first_outputs", "second_outputs"};
    for (std::size_t k = 0; k < std::min<std::size_t>(box ? 1 : 2, networks.size()); ++k) {
      found.push_back(plain_outputs(networks[k], x));
      const Vector stated = stated_vector(at(json_, keys[k]));
      long double scale = 0;
      for (const long double value : found[k]) scale = std::max(scale, std::abs(value));
      for (Index o = 0; o < stated.size() && o < static_cast<Index>(found[k].size()); ++o) {
        if (std::abs(found[k][static_cast<std::size_t>(o)] - stated(o)) <= kPrinted * scale + 1e-300L)
          continue;
        add("worst input", Outcome::kBad,
            fmt::format("output {} of {} is not what is stated", o + 1, document_.certificate.files[k].path));
        return;
      }
    }
    if (box) {
      add("worst input", Outcome::kGood, "the file answers it as stated");
      return;
    }
    long double worst = 0;
    for (std::size_t o = 0; o < std::min(found[0].size(), found[1].size()); ++o)
      worst = std::max(worst, std::abs(found[0][o] - found[1][o]));
    const double stated = lower();
    if (worst * (1 + kPrinted) + 1e-300L >= stated) {
      add("worst input", Outcome::kGood,
          fmt::format("the files differ by {:.6g} there, at least the {:.6g} that is stated",
                      static_cast<double>(worst), stated));
    } else {
      add("worst input", Outcome::kBad,
          fmt::format("the files differ by {:.6g} there, less than the {:.6g} that is stated",
                      static_cast<double>(worst), stated));
    }
  }

  [[nodiscard]] Matching matched(const Network& f, const Network& g) const {
    const std::string signs = words(at(at(json_, "options"), "free_signs"));
    return match_units(f, g, low_, high_, signs == "true", document_.certificate.seed);
  }

  void check_boxes(const Network& f, const Network& g) {
    const fs::path path = folder_ / "boxes.txt";
    if (!std::isfinite(upper())) return;
    if (!fs::exists(path)) {
      add("boxes of the proof", Outcome::kBad,
          fmt::format("{} does not exist: the upper end is not proved", path.string()));
      return;
    }
    std::string tree = read_small_file(path);
    while (!tree.empty() && tree.back() == '\n') tree.pop_back();
    const Matching pair = matched(f, g);
    const PairBounds bounds(pair.first, pair.second);
    double proved = 0;
    try {
      proved = bound_of_leaves(bounds, low_, high_, tree, upper(), control_);
    } catch (const DataError& error) {
      add("boxes of the proof", Outcome::kBad, error.what());
      return;
    }
    const RowMatrix x =
        uniform_inputs(low_, high_, kInputsTried, document_.certificate.seed, "verify compare");
    const double tried = sure_difference(f, g, x).maxCoeff();
    if (!(proved <= upper() * (1 + kPrinted) + 1e-300) || tried > upper()) {
      add("boxes of the proof", Outcome::kBad,
          fmt::format("they prove max |f - g| <= {:.6g}, stated is {:.6g}", proved, upper()));
    } else {
      add("boxes of the proof", Outcome::kGood,
          fmt::format("they cover the domain, and each proves max |f - g| <= {:.6g} again", upper()));
    }
  }

  void check_verdict(const Network& f, const Network& g) {
    const std::string verdict = words(at(json_, "comparison"));
    const Json& tolerance = at(json_, "tolerance");
    bool good = true;
    if (verdict == "different") good = lower() > number_of(at(json_, "accepted"));
    if (tolerance.is_number() && verdict != "different" && verdict != "undecided")
      good = upper() <= number_of(tolerance);
    if (verdict == "same_function") good = upper() <= number_of(at(json_, "accepted"));
    // What rests on the weights is taken from the weights again.
    if (good && (verdict == "same_network" || verdict == "rounding")) {
      const Matching pair = matched(f, g);
      good = verdict == "same_network" ? pair.same_weights() : !storage_of_pair(f, g, pair).empty();
    }
    if (verdict != "same_network" && verdict != "same_function" && verdict != "rounding" &&
        verdict != "different" && verdict != "undecided")
      good = false;
    add("verdict", good ? Outcome::kGood : Outcome::kBad,
        good ? fmt::format("{} is what these numbers give", verdict)
             : fmt::format("{} is not what its numbers give", verdict));
  }

  const Json& json_;
  const Document& document_;
  const fs::path& folder_;
  const Control& control_;
  Vector low_, high_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_comparison(const Document& document, const fs::path& folder,
                                      const Control& control) {
  return ComparisonCheck(document, folder, control).run();
}

}  // namespace exhume
