#include "oracle/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "exhume/error.h"

extern char** environ;  // NOLINT: handed on to the child, not read

namespace exhume {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPollMilliseconds = 100;  // interruption is noticed as fast as that
constexpr double kGrace = 1;            // seconds to end by itself, and again after SIGTERM

// Holds SIGPIPE back in this thread, and takes back one that came meanwhile.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipe() {
    if (!was_pending_) {
      const timespec now = {0, 0};
      while (sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;

 private:
  sigset_t pipe_ = {}, before_ = {};
  bool was_pending_ = false;
};

void close_one(int& descriptor) {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    close_one(in[0]), close_one(in[1]), close_one(out[0]), close_one(out[1]);
    throw DataError(fmt::format("'{}' cannot be started: {}", command, std::strerror(errno)));
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own, so that all of it can be ended; signals as a program expects them.
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string shell = "sh", flag = "-c", text = command;
  char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  const int error = ::posix_spawn(&pid_, "/bin/sh", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close_one(in[0]);
  close_one(out[1]);
  close_one(err[1]);
  input_ = in[1];
  output_ = out[0];
  errors_ = err[0];
  if (error != 0) {
    pid_ = -1;
    close_one(input_);
    close_one(output_);
    close_one(errors_);
    throw DataError(fmt::format("'{}' cannot be started: {}", command, std::strerror(error)));
  }
  ::fcntl(input_, F_SETFL, O_NONBLOCK);
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  ::fcntl(errors_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  close_input();
  close_one(output_);
  if (pid_ <= 0) return;
  const bool ended = reap(kGrace);
  close_one(errors_);
  if (!ended) {
    ::kill(-pid_, SIGTERM);
    if (!reap(kGrace)) {
      ::kill(-pid_, SIGKILL);
      reap(60);
    }
  }
  ::kill(-pid_, SIGKILL);  // what it left of its group
}

void ChildProcess::close_input() { close_one(input_); }

bool ChildProcess::reap(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (!reaped_) {
    const pid_t done = ::waitpid(pid_, &status_, WNOHANG);
    if (done == pid_ || (done < 0 && errno != EINTR)) {
      reaped_ = true;
      break;
    }
    if (Clock::now() >= end) return false;
    read_errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void ChildProcess::read_errors() {
  constexpr std::size_t kKept = 2000, kLongestLine = 300;
  char buffer[4096];
  while (errors_ >= 0) {
    const ssize_t got = ::read(errors_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      close_one(errors_);
      return;
    }
    const std::string_view words(buffer, static_cast<std::size_t>(got));
    complaint_.append(words.substr(0, kKept - std::min(kKept, complaint_.size())));
    for (const char c : words) {
      if (c == '\n') {
        line_ended_ = !last_line_.empty();
      } else {
        if (line_ended_) last_line_.clear();
        line_ended_ = false;
        if (last_line_.size() < kLongestLine) last_line_ += c;
      }
    }
  }
}

std::string ChildProcess::last_words() {
  read_errors();
  return last_line_;
}

std::string ChildProcess::ending() {
  close_input();
  if (!reap(kGrace)) return "closed its output";
  if (WIFSIGNALED(status_)) return fmt::format("was ended by signal {}", WTERMSIG(status_));
  return fmt::format("ended with status {}", WIFEXITED(status_) ? WEXITSTATUS(status_) : -1);
}

ChildProcess::End ChildProcess::exchange(std::string_view out, std::string& in,
                                         const std::function<bool(const std::string&)>& enough,
                                         double seconds, const Control& control) {
  const NoBrokenPipe quiet;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::string buffer(std::size_t{1} << 16, '\0');
  while (!enough(in)) {
    control.check();
    if (Clock::now() >= end) return End::kTimeOut;
    pollfd ends[3] = {{output_, POLLIN, 0}, {out.empty() ? -1 : input_, POLLOUT, 0}, {errors_, POLLIN, 0}};
    if (::poll(ends, 3, kPollMilliseconds) < 0) continue;
    if (ends[2].revents != 0) read_errors();
    if ((ends[1].revents & (POLLOUT | POLLERR | POLLHUP)) != 0) {
      const ssize_t done = ::write(input_, out.data(), out.size());
      if (done > 0) out.remove_prefix(static_cast<std::size_t>(done));
      if (done < 0 && errno != EAGAIN && errno != EINTR)
        out = {};  // it reads no more; it may still have answered
    }
    if ((ends[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      const ssize_t got = ::read(output_, buffer.data(), buffer.size());
      if (got > 0) in.append(buffer.data(), static_cast<std::size_t>(got));
      if (got == 0) return enough(in) ? End::kEnough : End::kClosed;
      if (got < 0 && errno != EAGAIN && errno != EINTR) return End::kClosed;
    }
  }
  return End::kEnough;
}

}  // namespace exhume
