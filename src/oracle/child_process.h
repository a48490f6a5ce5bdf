// A child process with pipes to its standard input, output and error output.
//
// exchange() writes and reads at once, so that neither side waits for the other for ever; it ends when
// `enough` says that all has come, when the child closes its output, or at the deadline. A child that went
// away does not kill us (SIGPIPE is held back), and none is left behind: the destructor closes its input,
// waits a moment, then ends its whole process group and reaps it. Of its error output the beginning and the
// last line are kept; it never waits for us to read it.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "exhume/control.h"

namespace exhume {

class ChildProcess {
 public:
  // Through the shell. Throws DataError where it cannot be started.
  explicit ChildProcess(const std::string& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class End { kEnough, kClosed, kTimeOut };
  // Writes `out` and appends what comes to `in` until enough(in).
  End exchange(std::string_view out, std::string& in, const std::function<bool(const std::string&)>& enough,
               double seconds, const Control& control);
  // Of a child that closed its output: "ended with status 3", "was ended by signal 9", "closed its output".
  [[nodiscard]] std::string ending();
  // What it wrote to its error output so far: the first 2000 bytes, and the last line that is not empty.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] std::string last_words();

 private:
  void close_input();
  bool reap(double seconds);
  void read_errors();

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::string complaint_, last_line_;
  int status_ = 0;
  bool reaped_ = false, line_ended_ = false;
};

}  // namespace exhume
