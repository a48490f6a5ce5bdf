// Networks of several hidden layers in files: names, shapes, what is refused, and the names of other
// programs.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "corruption.h"
#include "exhume/error.h"
#include "io/npz.h"
#include "io/onnx.h"
#include "io/open.h"
#include "io/safetensors.h"
#include "io/tensors.h"
#include "io/weight_names.h"
#include "property.h"
#include "random_deep.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::io_deep_test {
namespace {

using Names = std::vector<std::string>;

Names names(const Tensors& tensors) {
  Names list;
  for (const StoredTensor& tensor : tensors.list) list.push_back(tensor.name);
  return list;
}

TEST(IoDeep, NamesAreTheDocumentedOnes) {
  EXPECT_EQ(names(to_tensors(random_deep({3, 4, 5, 2}, 1, false))),
            (Names{"layers.0.W", "layers.0.b", "layers.1.W", "layers.1.b", "A", "c"}));
  EXPECT_EQ(names(to_tensors(random_deep({3, 4, 5, 2}, 1, true))),
            (Names{"layers.0.W", "layers.0.b", "layers.1.W", "layers.1.b", "layers.1.L", "A", "c", "L"}));
  EXPECT_EQ(names(to_tensors(random_deep({3, 4, 2}, 1, true))), (Names{"W", "b", "A", "c", "L"}));
}

TEST(IoDeep, OneHiddenLayerKeepsItsBytes) {
  for (const bool skips : {false, true}) {
    const Network network = random_deep({3, 4, 2}, 2, skips);
    EXPECT_EQ(network_bytes(network, {{"a", "b"}}), network_bytes(to_one_layer(network), {{"a", "b"}}));
    EXPECT_EQ(onnx_bytes(network), onnx_bytes(to_one_layer(network)));
  }
}

TEST(IoDeep, FilesOfAnyDepthReadBackBitForBit) {
  const TempDir dir;
  for (const std::vector<Index>& sizes :
       {std::vector<Index>{3, 4, 2}, {1, 1, 1, 1}, {3, 4, 5, 2}, {2, 7, 1, 3, 4}, {3, 2, 2, 2, 2, 1}}) {
    for (const bool skips : {false, true}) {
      const Network network = random_deep(sizes, 3, skips);
      write_network(dir / "n.safetensors", network, {{"tool", "exhume"}});
      write_npz(dir / "n.npz", to_tensors(network));
      write_onnx(dir / "n.onnx", network);
      for (const char* name : {"n.safetensors", "n.npz", "n.onnx"}) {
        EXPECT_TRUE(same_weights(open_network(dir / name), network)) << name << " " << sizes.size();
        const StoredModel model = open_model(dir / name);
        EXPECT_TRUE(std::holds_alternative<Network>(model)) << name;
      }
    }
  }
}

TEST(IoDeep, NoHiddenLayerIsOneWithoutUnits) {
  const TempDir dir;
  const Network network = random_deep({3, 2}, 4, false);
  write_network(dir / "n.safetensors", network);
  const Network found = open_network(dir / "n.safetensors");
  EXPECT_EQ(found.hidden(), 0);
  EXPECT_EQ(found.L(), network.layers[0].W);
  EXPECT_EQ(found.c(), network.layers[0].b);
}

class IoDeepRefusals : public ::testing::Test {
 protected:
  template <class Change>
  void refuse(const Change& change, std::initializer_list<const char*> words) {
    Tensors tensors = to_tensors(random_deep({3, 4, 5, 2}, 5, true));
    change(tensors);
    expect_refused<DataError>([&] { (void)to_network(tensors, "bad.npz"); }, words);
  }
  static StoredTensor& at(Tensors& tensors, const std::string& name) {
    return *const_cast<StoredTensor*>(tensors.find(name));
  }
};

TEST_F(IoDeepRefusals, NamesThatDoNotBelong) {
  refuse([](Tensors& t) { at(t, "c").name = "Q"; }, {"bad.npz", "'Q'", "2 hidden layers"});
  refuse([](Tensors& t) { at(t, "layers.1.W").name = "layers.2.W"; }, {"1 hidden layers", "without gaps"});
  refuse([](Tensors& t) { at(t, "layers.0.b").name = "layers.0.L"; }, {"'layers.0.L'"});
  refuse([](Tensors& t) { at(t, "layers.0.b").name = "b"; }, {"'b'"});
  refuse([](Tensors& t) { t.list.erase(t.list.begin() + 1); }, {"no array 'layers.0.b'"});
  refuse([](Tensors& t) { t.metadata["activation"] = "mish"; }, {"'mish'", "ReLUs"});
}

TEST_F(IoDeepRefusals, ShapesThatDoNotFitAndNumbersThatAreNone) {
  refuse(
      [](Tensors& t) {
        at(t, "layers.0.b") = {"layers.0.b", {3}, {1, 2, 3}};
      },
      {"entries of layers.0.b is 3", "rows of layers.0.W is 4"});
  refuse(
      [](Tensors& t) {
        at(t, "A") = {"A", {2, 4}, std::vector<double>(8)};
      },
      {"columns of A is 4", "rows of layers.1.W is 5"});
  refuse(
      [](Tensors& t) {
        at(t, "L") = {"L", {2, 8}, std::vector<double>(16)};
      },
      {"columns of L is 8", "what lies below is 7"});
  refuse(
      [](Tensors& t) {
        at(t, "layers.1.L") = {"layers.1.L", {4, 3}, std::vector<double>(12)};
      },
      {"rows of layers.1.L is 4"});
  refuse([](Tensors& t) { at(t, "A").shape = {10}; }, {"'A' has shape (10,)", "2 dimensions"});
  refuse([](Tensors& t) { at(t, "layers.1.W").data[6] = std::nan(""); }, {"'layers.1.W' is NaN at [1, 2]"});
}

TEST(IoDeepProperty, DamageIsRefusedOrHarmlessNeverFatal) {
  const TempDir dir;
  const std::string good = network_bytes(random_deep({2, 2, 2, 1}, 6, true));
  EXPECT_TRUE(property_holds([&] {
    const auto path = dir.put("n.safetensors", corrupted(good));
    try {
      open_network(path).validate();
    } catch (const DataError&) {
    }
  }));
}

// Weights of the layers under these names, "" for a bias that is left out.
Tensors named(const Network& network, const std::vector<std::pair<std::string, std::string>>& as) {
  Tensors tensors;
  for (std::size_t l = as.size(); l-- > 0;) {  // backwards: order in the file means nothing
    tensors.add(as[l].first, network.layers[l].W);
    if (!as[l].second.empty()) tensors.add(as[l].second, network.layers[l].b);
  }
  return tensors;
}

TEST(IoWeightNames, NumberedAndStateDicts) {
  const Network network = random_deep({3, 4, 5, 2}, 7, false);
  for (const auto& as : std::vector<std::vector<std::pair<std::string, std::string>>>{
           {{"W1", "b1"}, {"W2", "b2"}, {"W3", "b3"}},
           {{"0.weight", "0.bias"}, {"2.weight", "2.bias"}, {"10.weight", "10.bias"}},
           {{"net.0.weight", "net.0.bias"}, {"net.2.weight", "net.2.bias"}, {"net.4.weight", "net.4.bias"}},
           {{"fc1.weight", "fc1.bias"}, {"fc2.weight", "fc2.bias"}, {"fc3.weight", "fc3.bias"}}}) {
    const Tensors tensors = named(network, as);
    EXPECT_TRUE(has_weight_names(tensors)) << as[0].first;
    EXPECT_TRUE(same_weights(network_of_weights(tensors, "n.npz"), network)) << as[0].first;
    const TempDir dir;
    write_npz(dir / "n.npz", tensors);
    write_safetensors(dir / "n.safetensors", tensors);
    EXPECT_TRUE(same_weights(open_network(dir / "n.npz"), network));
    EXPECT_TRUE(same_weights(open_network(dir / "n.safetensors"), network));
  }
}

TEST(IoWeightNames, BiasesThatAreNotThereAreZero) {
  Network network = random_deep({3, 4, 2}, 8, false);
  network.layers[0].b.setZero();
  EXPECT_TRUE(same_weights(
      network_of_weights(named(network, {{"0.weight", ""}, {"2.weight", "2.bias"}}), "n"), network));
}

TEST(IoWeightNames, Refusals) {
  const Network network = random_deep({3, 4, 5, 2}, 9, false);
  const auto refuse = [](const Tensors& tensors, std::initializer_list<const char*> words) {
    expect_refused<DataError>([&] { (void)network_of_weights(tensors, "n.npz"); }, words);
  };
  refuse(named(network, {{"a.weight", ""}}), {"n.npz", "0.weight"});
  refuse(named(network, {{"W1", ""}, {"2.weight", ""}}), {"0.weight"});
  refuse(named(network, {{"a1.weight", ""}, {"b2.weight", ""}}), {"0.weight"});
  refuse(named(network, {{"1.weight", ""}, {"01.weight", ""}}), {"0.weight"});
  refuse(named(network, {{"99999999999999999999.weight", ""}}), {"0.weight"});
  refuse({}, {"0.weight"});
  refuse(named(network, {{"2.weight", ""}, {"0.weight", ""}}), {"'2.weight' has 3 columns", "5 units"});
  Tensors lonely = named(network, {{"0.weight", "1.bias"}});
  refuse(lonely, {"'1.bias'", "no weights"});
  lonely.list[0].name = "1.weight";
  lonely.list[1] = {"1.bias", {2}, {1, 2}};
  refuse(lonely, {"'1.bias' has 2 entries", "4 rows"});
  lonely.list[0] = {"1.weight", {Index{1} << 40, 0}, {}};
  refuse(lonely, {"'1.weight' is empty"});
}

}  // namespace
}  // namespace exhume::io_deep_test
