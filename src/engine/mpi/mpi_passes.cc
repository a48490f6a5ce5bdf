// The module for MPI; engine/open_mpi.h says what it does.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "engine/mpi/module.h"
#include "exhume/error.h"
#include "exhume/version.h"

namespace exhume {
namespace {

constexpr Index kBlocksForRank = 2;                   // below it a pass is not worth sharing
constexpr std::size_t kPiece = std::size_t{1} << 30;  // MPI counts with int

class MpiPasses final : public RankPasses {
 public:
  explicit MpiPasses(std::function<bool()> should_stop) : should_stop_(std::move(should_stop)) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    std::string version = kVersion;
    version.resize(32);
    std::string others = version;
    broadcast(others.data(), others.size());
    if (others != version)
      throw ResourceError("the ranks run different versions of the library; install one everywhere");
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  void pass(std::string_view, BlockSum& sum) override {
    const Index blocks = sum.blocks();
    if (ranks_ == 1 || blocks < kBlocksForRank * ranks_) {
      sum.add(0, blocks);
      return;
    }
    sum.add(blocks * rank_ / ranks_, blocks * (rank_ + 1) / ranks_);
    for (int step = 1; step < ranks_; step *= 2) {
      if (rank_ % (2 * step) != 0) {
        send(rank_ - step, sum.take());
        break;
      }
      if (rank_ + step < ranks_) sum.absorb(receive(rank_ + step));
    }
    std::string whole = rank_ == 0 ? sum.take() : "";
    std::uint64_t size = whole.size();
    broadcast(&size, sizeof size);
    whole.resize(size);
    broadcast(whole.data(), whole.size());
    sum.absorb(whole);
  }

  Clock::time_point now() override { return now_; }

  void agree_on_time() override {
    // One machine's clock means nothing to another: what is told is the time since all began.
    double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    broadcast(&seconds, sizeof seconds);
    now_ = begin_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void meet() override {
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait(request);
  }

  bool agree(std::string_view said) override {
    std::uint64_t size = said.size();
    broadcast(&size, sizeof size);
    std::string first(said);
    first.resize(size);
    broadcast(first.data(), first.size());
    int same = first == said ? 1 : 0, all = 0;
    MPI_Request request;
    MPI_Iallreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    wait(request);
    return all == 1;
  }

  void finish() override {
    meet();
    MPI_Finalize();
  }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::exit(code);
  }

 private:
  // Until it is done: looks often at first, then seldom, so that a rank which waits leaves its core to
  // others.
  void wait(MPI_Request& request) const {
    int done = 0;
    for (int looks = 0; true; ++looks) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (looks < 200) {
        std::this_thread::yield();
        continue;
      }
      if (should_stop_ && should_stop_()) throw Interrupted();
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(looks, 1000)));
    }
  }

  void broadcast(void* data, std::size_t size) const {
    for (std::size_t at = 0; at < size; at += kPiece) {
      MPI_Request request;
      MPI_Ibcast(static_cast<char*>(data) + at, static_cast<int>(std::min(kPiece, size - at)), MPI_BYTE, 0,
                 MPI_COMM_WORLD, &request);
      wait(request);
    }
  }

  void send(int to, const std::string& bytes) const {
    MPI_Request request;
    std::uint64_t size = bytes.size();
    MPI_Isend(&size, sizeof size, MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
    wait(request);
    for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
      MPI_Isend(bytes.data() + at, static_cast<int>(std::min(kPiece, bytes.size() - at)), MPI_BYTE, to, 1,
                MPI_COMM_WORLD, &request);
      wait(request);
    }
  }

  std::string receive(int from) const {
    MPI_Request request;
    std::uint64_t size = 0;
    MPI_Irecv(&size, sizeof size, MPI_BYTE, from, 0, MPI_COMM_WORLD, &request);
    wait(request);
    std::string bytes(size, '\0');
    for (std::size_t at = 0; at < size; at += kPiece) {
      MPI_Irecv(bytes.data() + at, static_cast<int>(std::min(kPiece, size - at)), MPI_BYTE, from, 1,
                MPI_COMM_WORLD, &request);
      wait(request);
    }
    return bytes;
  }

  std::function<bool()> should_stop_;
  int rank_ = 0, ranks_ = 1;
  Clock::time_point begin_ = Clock::now(), now_ = begin_;
};

}  // namespace
}  // namespace exhume

extern "C" int exhume_ranks_interface() { return exhume::kRanksVersion; }

extern "C" exhume::RankPasses* exhume_open_ranks(const std::function<bool()>& should_stop) {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return nullptr;
  return new exhume::MpiPasses(should_stop);
}
