// Passes that several processes share, or that are remembered: the same bytes as those of one process alone.
#include "base/passes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "base/packed.h"
#include "data/reduce.h"
#include "exhume/error.h"
#include "exhume/recover.h"
#include "io/record_log.h"
#include "io/safetensors.h"
#include "moments/moments.h"
#include "passes/driver.h"
#include "passes/journal.h"
#include "passes/worker.h"
#include "planted_data.h"
#include "refusal.h"
#include "temp_dir.h"

namespace exhume::passes_test {
namespace {

struct Inner {
  double a = 0;
  std::vector<Index> list;
};
struct Outer {
  Inner inner;
  Matrix M;
  std::vector<Vector> vectors;
  long double wide = 0;
  std::pair<bool, std::string> pair;
};

TEST(Packed, ValuesComeBackBitByBit) {
  Outer value{{0.1, {1, -2}}, Matrix::Random(3, 2), {Vector::Random(4), Vector()}, 1.0L / 3, {true, "a\0b"}};
  value.pair.second.push_back('\0');
  const auto same = unpacked<Outer>(packed(value));
  EXPECT_EQ(same.inner.a, value.inner.a);
  EXPECT_EQ(same.inner.list, value.inner.list);
  EXPECT_TRUE((same.M.array() == value.M.array()).all());
  ASSERT_EQ(same.vectors.size(), 2U);
  EXPECT_TRUE((same.vectors[0].array() == value.vectors[0].array()).all());
  EXPECT_EQ(same.vectors[1].size(), 0);
  EXPECT_EQ(same.wide, value.wide);
  EXPECT_EQ(same.pair, value.pair);
}

TEST(Packed, RefusesBytesThatEndEarlyOrLate) {
  const std::string bytes = packed(Outer{{0.1, {1, 2}}, Matrix::Random(3, 2), {}, 0, {false, "text"}});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW((void)unpacked<Outer>(bytes.substr(0, size)), DataError) << size;
  EXPECT_THROW((void)unpacked<Outer>(bytes + "x"), DataError);
}

TEST(Packed, RefusesSizesBeyondTheBytes) {
  std::string bytes = packed(Matrix(Matrix::Random(3, 2)));
  const std::int64_t huge = std::int64_t{1} << 61;
  std::memcpy(bytes.data(), &huge, sizeof huge);
  EXPECT_THROW((void)unpacked<Matrix>(bytes), DataError);
  EXPECT_THROW((void)unpacked<Vector>(packed(Matrix(Matrix::Random(3, 2)))), DataError);
}

// The network of a recovery, as bytes.
std::string network_of(const SamplePtr& samples, const Control& control) {
  const Result result = recover(samples, {}, control);
  EXPECT_EQ(result.certificate.status, Status::kCertified) << result.certificate.reason;
  return network_bytes(result.network);
}

// A cluster in this process: partitions that begin at the given rows, any of `count` workers serves any of
// them.
class Cluster {
 public:
  Cluster(SamplePtr samples, std::vector<Index> starts, std::size_t count)
      : samples_(std::move(samples)), starts_(std::move(starts)), workers_(count) {
    SampleBlock block;
    samples_->read(0, samples_->rows(), block);
    x_ = block.x();
    y_ = block.y();
  }

  std::string recover_network(int threads) {
    Engine engine;
    engine.shares = [this, threads](Index number) { return shares(number, threads); };
    engine.fetch = [this](std::span<const RowRun> runs) {
      const SamplePtr rows = gathered(*samples_, runs);
      SampleBlock block;
      rows->read(0, rows->rows(), block);
      fetched_ += block.rows();
      return FetchedRows{block.x(), block.y()};
    };
    engine.publish = [this](Index number, std::string entry) {
      EXPECT_EQ(number, static_cast<Index>(entries_.size()));
      entries_.push_back(std::move(entry));
    };
    Control control;
    const auto driver =
        std::make_shared<Driver>(engine, samples_->rows(), samples_->inputs(), samples_->outputs());
    control.passes = driver;
    control.threads = threads;
    return network_of(driver->samples(), control);
  }
  // From now on, worker 0 dies before every pass whose number this divides.
  void let_workers_die(Index period) { dies_ = period; }
  [[nodiscard]] Index fetched() const { return fetched_; }
  [[nodiscard]] std::size_t passes() const { return entries_.size(); }

 private:
  std::vector<std::string> shares(Index number, int threads) {
    if (dies_ > 0 && number % dies_ == 0) workers_[0].reset();
    std::vector<std::string> out;
    for (std::size_t p = 0; p < starts_.size(); ++p) {
      std::unique_ptr<Worker>& worker = workers_[(p + static_cast<std::size_t>(number)) % workers_.size()];
      if (!worker) {
        worker = std::make_unique<Worker>(
            samples_->rows(), samples_->inputs(), samples_->outputs(), threads,
            [](const SamplePtr& samples, const Control& control) { (void)recover(samples, {}, control); });
      }
      while (worker->next() < number) worker->learn(entries_[static_cast<std::size_t>(worker->next())]);
      const Index first = starts_[p], last = p + 1 < starts_.size() ? starts_[p + 1] : samples_->rows();
      out.push_back(
          worker->share(first, last - first, x_.data() + first * x_.cols(), y_.data() + first * y_.cols()));
    }
    return out;
  }

  SamplePtr samples_;
  RowMatrix x_, y_;
  std::vector<Index> starts_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::string> entries_;
  Index dies_ = 0, fetched_ = 0;
};

SamplePtr some_samples(Index rows) {
  PlantedData data = planted_data(6, 5, 2, rows, 77);
  return memory_samples(std::move(data.x), std::move(data.y));
}

TEST(Passes, WorkersElsewhereGiveTheSameBytes) {
  const SamplePtr samples = some_samples(50'000);
  const std::string alone = network_of(samples, {});
  for (const std::vector<Index>& starts :
       {std::vector<Index>{0}, {0, 12'345}, {0, 7, 4'103, 30'001, 49'999}}) {
    for (const std::size_t workers : {1U, 3U}) {
      Cluster cluster(samples, starts, workers);
      EXPECT_EQ(cluster.recover_network(2), alone)
          << starts.size() << " partitions, " << workers << " workers";
      EXPECT_GT(cluster.passes(), 5U);
      EXPECT_LT(cluster.fetched(), 4 * samples->rows());
    }
  }
}

TEST(Passes, WorkersThatDieAreReplaced) {
  const SamplePtr samples = some_samples(30'000);
  Cluster cluster(samples, {0, 9'999, 20'001}, 2);
  cluster.let_workers_die(3);
  EXPECT_EQ(cluster.recover_network(1), network_of(samples, {}));
}

// Gives the first two blocks of the first pass twice.
class Doubling final : public Passes {
 public:
  void pass(std::string_view, BlockSum& sum) override {
    if (!looked_) {
      sum.add(0, 2);
      const std::string part = sum.take();
      sum.absorb(part);
      EXPECT_THROW(sum.absorb(part), DataError);
      EXPECT_EQ(sum.missing(), (std::vector<std::pair<Index, Index>>{{2, 3}}));
      looked_ = true;
    }
    sum.add(0, sum.blocks());
  }
  [[nodiscard]] bool looked() const { return looked_; }

 private:
  bool looked_ = false;
};

TEST(Passes, RowsThatTwoHoldAreRefused) {
  const SamplePtr samples = some_samples(10'000);
  const auto add = [](SecondMoments& to, const SampleBlock& block) { to.add(block); };
  const SecondMoments empty(samples->inputs(), samples->outputs());
  Control control;
  const auto passes = std::make_shared<Doubling>();
  control.passes = passes;
  const SecondMoments sum = reduce_blocks(*samples, empty, control, "", add);
  EXPECT_TRUE(passes->looked());
  EXPECT_EQ(packed(sum), packed(reduce_blocks(*samples, empty, Control{}, "", add)));
}

// Stops after so many passes, as a kill does.
struct Killed {};
class Mortal final : public Passes {
 public:
  explicit Mortal(Index life) : life_(life) {}
  void pass(std::string_view, BlockSum& sum) override {
    if (life_-- == 0) throw Killed();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // worth remembering
    sum.add(0, sum.blocks());
  }

 private:
  Index life_;
};

TEST(Journal, RunsThatAreKilledGoOnToTheSameBytes) {
  const SamplePtr samples = some_samples(20'000);
  const std::string alone = network_of(samples, {});
  const TempDir folder;
  bool finished = false;
  Index known = 0;
  int runs = 0;
  for (Index life = 0; !finished; life += 2, ++runs) {
    ASSERT_LT(runs, 100);
    Control control;
    const auto journal =
        std::make_shared<Journal>(folder / "log", R"({"seed":1})", runs > 0, std::make_shared<Mortal>(life));
    EXPECT_GE(journal->known(), known);
    known = journal->known();
    control.passes = journal;
    try {
      EXPECT_EQ(network_of(samples, control), alone);
      finished = true;
    } catch (const Killed&) {
    }
    control.passes.reset();
  }
  EXPECT_GT(runs, 2);
  EXPECT_GT(known, 3);
}

TEST(Journal, TornOffEndsAreDroppedAndSaid) {
  const SamplePtr samples = some_samples(20'000);
  const std::string alone = network_of(samples, {});
  const TempDir folder;
  {
    Control control;
    control.passes = std::make_shared<Journal>(folder / "log", "{}", false, std::make_shared<Mortal>(12));
    EXPECT_THROW((void)network_of(samples, control), Killed);
  }
  const std::string whole = folder.get("log");
  for (std::size_t cut = 1; cut < whole.size(); cut += whole.size() / 7) {
    folder.put("log", whole.substr(0, whole.size() - cut));
    Control control;
    const auto journal = std::make_shared<Journal>(folder / "log", "{}", true, nullptr);
    if (cut == 1) {
      EXPECT_GT(journal->dropped(), 0U);
    }
    control.passes = journal;
    EXPECT_EQ(network_of(samples, control), alone) << cut;
    control.passes.reset();
  }
}

TEST(Journal, ChangedOnesAreRefused) {
  const SamplePtr samples = some_samples(20'000);
  const TempDir folder;
  {
    Control control;
    control.passes =
        std::make_shared<Journal>(folder / "log", R"({"seed":1})", false, std::make_shared<Mortal>(12));
    EXPECT_THROW((void)network_of(samples, control), Killed);
  }
  const std::string whole = folder.get("log");
  for (std::size_t at = 0; at < 20; ++at) {
    std::string changed = whole;
    changed[at * whole.size() / 21] ^= 4;
    folder.put("log", changed);
    EXPECT_THROW(Journal(folder / "log", R"({"seed":1})", true, nullptr), DataError) << at;
  }
  folder.put("log", whole);
  const auto open = [&](const char* header, bool go_on) { Journal(folder / "log", header, go_on, nullptr); };
  expect_refused<DataError>([&] { open(R"({"seed":2})", true); }, {"seed 1, now it is 2"});
  expect_refused<DataError>([&] { open(R"({"seed":1})", false); }, {"earlier run"});
  const Journal in_use(folder / "log", R"({"seed":1})", true, nullptr);
  expect_refused<DataError>([&] { open(R"({"seed":1})", true); }, {"in use"});
}

TEST(Journal, WhatIsMadeOnceIsNotMadeAgain) {
  const TempDir folder;
  const auto made = [&](bool resume, int& times) {
    Journal journal(folder / "log", "{}", resume, nullptr);
    return journal.once("search", [&] {
      ++times;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // worth remembering
      return journal.once("step", [&] { return std::string("inner"); }) + " and outer";
    });
  };
  int times = 0;
  EXPECT_EQ(made(false, times), "inner and outer");
  EXPECT_EQ(made(true, times), "inner and outer");
  EXPECT_EQ(times, 1);
}

TEST(Journal, AFullDiskEndsCheckpointsNotTheRun) {
  const SamplePtr samples = some_samples(20'000);
  const TempDir folder;
  const auto journal = std::make_shared<Journal>(folder / "log", "{}", false, std::make_shared<Mortal>(1000));
  Control control;
  control.passes = journal;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{3000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string network = network_of(samples, control);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_EQ(network, network_of(samples, {}));
  EXPECT_NE(journal->trouble().find("cannot be written"), std::string::npos);
  control.passes.reset();
  // What was kept before is whole.
  EXPECT_EQ(parse_records(folder.get("log"), "log").dropped, 0U);
}

struct Grown {
  Matrix M;
  void merge(const Grown& other) { M += other.M; }
};

// Of every pass, not only of the first: its sum in a checkpoint that was changed and sealed again.
TEST(Summand, OfOtherShapesIsRefused) {
  const HeldSummand<Grown> other(Grown{Matrix::Ones(3, 3)});
  packing::Writer out;
  other.pack(out);
  HeldSummand<Grown> mine(Grown{Matrix::Zero(2, 2)});
  packing::Reader in(out.bytes);
  EXPECT_THROW(mine.unpack(in), DataError);
  EXPECT_EQ(mine.value.M.rows(), 2);
  HeldSummand<Grown> same(Grown{Matrix::Zero(3, 3)});
  packing::Reader again(out.bytes);
  same.unpack(again);
  EXPECT_EQ(same.value.M(1, 1), 1);
}

}  // namespace
}  // namespace exhume::passes_test
