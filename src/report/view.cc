#include "report/view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "certify/certificate_json.h"
#include "report/rounded.h"
#include "report/shape_words.h"
#include "report/weight_pictures.h"

namespace exhume {
namespace {

constexpr std::size_t kViewPoints = 500;  // of the picture
// What two machines may make of the same networks: a relative difference, and rounding errors.
constexpr double kSameNumber = 1e-5, kViewRounding = 1e-12;

// Parameters of two networks, each beside its counterpart.
struct Pairs {
  std::vector<double> recovered, truth;
  void add(double found, double true_value) {
    recovered.push_back(found);
    truth.push_back(true_value);
  }
};

// A network of rectified units of any depth, and what its units are; empty for other models.
struct Comparable {
  Network network;
  std::string units;
};
std::optional<Comparable> comparable(const StoredModel& model) {
  if (const auto* network = std::get_if<Network>(&model)) return Comparable{*network, network->activation};
  if (const auto* network = std::get_if<RectifiedNetwork>(&model))
    return Comparable{network->network, network->activation};
  return std::nullopt;
}

// `p` and `q` in canonical form.
Pairs matched(const Network& p, const Network& q, const std::vector<std::vector<Index>>& match) {
  Pairs pairs;
  const auto place = [&](std::size_t layer, Index unit) {  // in q; outputs and inputs stay where they are
    return layer < match.size() ? match[layer][static_cast<std::size_t>(unit)] : unit;
  };
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    const Layer &ours = p.layers[l], &theirs = q.layers[l];
    for (Index i = 0; i < ours.W.rows(); ++i) {
      const Index row = place(l, i);
      for (Index j = 0; j < ours.W.cols(); ++j)
        pairs.add(ours.W(i, j), theirs.W(row, l == 0 ? j : place(l - 1, j)));
      pairs.add(ours.b(i), theirs.b(row));
    }
  }
  return pairs;
}

Json thinned(const std::vector<double>& values) {
  Json list = Json::array();
  const std::size_t points = std::min(values.size(), kViewPoints);
  for (std::size_t i = 0; i < points; ++i) list.push_back(rounded(values[i * values.size() / points]));
  return list;
}

// What is stated of the truth, and its picture.
std::pair<Json, Json> compare(const StoredModel& found, const StoredModel& truth) {
  const auto ours = comparable(found), theirs = comparable(truth);
  const auto not_comparable = [](std::string why) {
    return std::pair<Json, Json>{{{"comparable", false}, {"why", std::move(why)}}, nullptr};
  };
  if (!ours || !theirs) return not_comparable("one of them is no network of rectified units");
  if (ours->units != theirs->units)
    return not_comparable(fmt::format("its units are {}, here they are {}", theirs->units, ours->units));
  const Network p = canonical(ours->network), q = canonical(theirs->network);
  const Alignment alignment = align(p, q);
  if (!alignment.comparable) {
    return not_comparable(fmt::format("it is {}, this one {} (inputs, hidden units and outputs that matter)",
                                      shape_numbers(q), shape_numbers(p)));
  }
  const Pairs pairs = matched(p, q, alignment.match);
  return {{{"comparable", true},
           {"parameters", pairs.truth.size()},
           {"worst_error", rounded(alignment.worst_error)},
           {"rms_error", rounded(alignment.rms_error)}},
          {{"true", thinned(pairs.truth)}, {"recovered", thinned(pairs.recovered)}}};
}

}  // namespace

void add_truth(Document& document, const StoredModel& found, const StoredModel& truth,
               const FileDigest& file) {
  Json& json = document.json;
  auto [says, picture] = compare(found, truth);
  Json stated = {{"path", file.path}, {"sha256", file.sha256}};
  stated.update(says);
  json["truth"] = std::move(stated);
  if (!picture.is_null()) json["pictures"]["truth"] = std::move(picture);
  seal(document);
}

bool truth_matches(const Document& document, const StoredModel& found, const StoredModel& truth) {
  const Json& json = document.json;
  if (!at(json, "truth").is_object()) return true;
  const auto [says, picture] = compare(found, truth);
  const auto same = [](const Json& a, const Json& b) {
    if (!a.is_number() || !b.is_number()) return a == b;
    const double u = a.get<double>(), v = b.get<double>();
    return std::abs(u - v) <= kSameNumber * std::max(std::abs(u), std::abs(v)) + kViewRounding;
  };
  for (const auto& [key, value] : says.items()) {
    if (!same(at(at(json, "truth"), key.c_str()), value)) return false;
  }
  const Json& drawn = at(at(json, "pictures"), "truth");
  for (const char* key : {"true", "recovered"}) {
    const Json &a = at(drawn, key), &b = at(picture, key);
    if (a.size() != b.size() || !std::equal(a.begin(), a.end(), b.begin(), same)) return false;
  }
  return true;
}

std::vector<Index> parse_shape(const std::string& text) {
  Index rows = 0, columns = 0;
  const char *end = text.data() + text.size(), *at = text.data();
  const auto first = std::from_chars(at, end, rows);
  if (first.ec == std::errc() && first.ptr != end && (*first.ptr == 'x' || *first.ptr == 'X')) {
    const auto second = std::from_chars(first.ptr + 1, end, columns);
    if (second.ec == std::errc() && second.ptr == end && rows >= 1 && columns >= 1) return {rows, columns};
  }
  throw std::invalid_argument(
      fmt::format("shape is '{}', but must be rows and columns of the inputs, such as 8x8", text));
}

void check_shape(const std::vector<Index>& shape, Index inputs) {
  // Sides beyond the inputs cannot fit, and their product might not.
  const bool fits =
      shape.size() == 2 && shape[0] <= inputs && shape[1] <= inputs && shape[0] * shape[1] == inputs;
  if (fits) return;
  throw std::invalid_argument(
      fmt::format("shape is {}, but there are {} inputs", fmt::join(shape, "x"), inputs));
}

void add_shape(Document& document, const StoredModel& found, const std::vector<Index>& shape) {
  Json& json = document.json;
  Network network;
  if (const auto* relus = std::get_if<Network>(&found)) network = *relus;
  if (const auto* rectified = std::get_if<RectifiedNetwork>(&found)) network = rectified->network;
  check_shape(shape, network.inputs());
  document.certificate.input_shape = shape;
  json["input_shape"] = shape;
  json["pictures"]["images"] = image_picture(network, document.certificate);
  seal(document);
}

}  // namespace exhume
