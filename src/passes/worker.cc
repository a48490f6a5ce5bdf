#include "passes/worker.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/packed.h"
#include "base/passes.h"
#include "exhume/error.h"
#include "passes/entry.h"

namespace exhume {
namespace {

// Rows that are to be added, and what came of it.
struct Request {
  Index first, count;
  const double* x;
  const double* y;
  std::string sums;
};

}  // namespace

class Worker::State final : public Passes {
 public:
  State(Index rows, Index inputs, Index outputs, int threads, Program program)
      : rows_(std::make_shared<DistantRows>(
            rows, inputs, outputs,
            [this](std::span<const RowRun>) { return unpacked<FetchedRows>(next_entry(nullptr)); })),
        program_(std::move(program)) {
    control_.threads = threads;
    control_.should_stop = [this] {
      const std::lock_guard lock(mutex_);
      return ended_;
    };
    control_.passes = std::shared_ptr<Passes>(std::shared_ptr<Passes>(), this);
    thread_ = std::thread([this] { run(); });
  }
  ~State() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void pass(std::string_view, BlockSum& sum) override {
    if (!sum.distant()) {
      sum.add(0, sum.blocks());
      return;
    }
    sum.absorb(next_entry(&sum));
  }
  Clock::time_point now() override { return now_; }

  Index next() const {
    const std::lock_guard lock(mutex_);
    return learned_;
  }
  void learn(std::string entry) {
    {
      const std::lock_guard lock(mutex_);
      entries_.push_back(std::move(entry));
      ++learned_;
    }
    changed_.notify_all();
  }
  std::string share(Index first, Index count, const double* x, const double* y) {
    std::unique_lock lock(mutex_);
    Request request{first, count, x, y, {}};
    request_ = &request;
    changed_.notify_all();
    changed_.wait(lock, [&] { return request_ != &request || failure_ || done_; });
    if (request_ == &request) {
      request_ = nullptr;
      if (failure_) std::rethrow_exception(failure_);
      throw std::logic_error("a worker was asked for a pass that its program does not have");
    }
    return std::move(request.sums);
  }

 private:
  // Waits for the next entry and gives its payload; meanwhile adds what is asked for to `sum`, if there is
  // one.
  std::string next_entry(BlockSum* sum) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock,
                    [&] { return ended_ || !entries_.empty() || (sum != nullptr && request_ != nullptr); });
      if (ended_) throw Interrupted();
      if (!entries_.empty()) {
        auto entry = unpacked<PassEntry>(entries_.front());
        entries_.pop_front();
        now_ = begin_ +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(entry.seconds));
        return std::move(entry.payload);
      }
      Request& request = *request_;
      lock.unlock();
      rows_->hold(request.first, request.count, request.x, request.y);
      sum->add(0, sum->blocks());
      request.sums = sum->take();
      rows_->let_go();
      lock.lock();
      request_ = nullptr;
      changed_.notify_all();
    }
  }

  void run() {
    std::exception_ptr failure;
    try {
      program_(rows_, control_);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
      done_ = true;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> entries_;  // told and not yet used
  Index learned_ = 0;
  Request* request_ = nullptr;
  bool ended_ = false, done_ = false;
  std::exception_ptr failure_;

  std::shared_ptr<DistantRows> rows_;
  Program program_;
  Control control_;
  Clock::time_point begin_ = Clock::now(), now_ = begin_;
  std::thread thread_;
};

Worker::Worker(Index rows, Index inputs, Index outputs, int threads, Program program)
    : state_(std::make_unique<State>(rows, inputs, outputs, threads, std::move(program))) {}
Worker::~Worker() = default;
Index Worker::next() const { return state_->next(); }
void Worker::learn(std::string entry) { state_->learn(std::move(entry)); }
std::string Worker::share(Index first, Index count, const double* x, const double* y) {
  return state_->share(first, count, x, y);
}

}  // namespace exhume
