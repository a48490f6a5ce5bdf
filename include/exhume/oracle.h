// A function that can be asked: rows of inputs in, rows of outputs out.
//
//     y_i = f(x_i),      x: n x d rows in, n x m outputs back
//
// An oracle may be slow and may fail; whoever asks counts (oracle/meter.h). Asking is not thread-safe: one
// batch at a time. What an oracle cannot answer is a DataError of one sentence; an answer that may come at a
// second try is an OracleFault, which the meter asks again a few times.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "exhume/control.h"
#include "exhume/network.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

// A failure that may not come again: a connection that was lost, a service that asked to wait.
class OracleFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Oracle {
 public:
  virtual ~Oracle() = default;
  [[nodiscard]] virtual Index inputs() const = 0;
  // What it is, for people and for the log: "network.safetensors", "python serve.py".
  [[nodiscard]] virtual std::string name() const = 0;
  // Rows that it takes at once; the meter cuts what is longer.
  [[nodiscard]] virtual Index batch_rows() const { return 4096; }
  // Answers all rows of x, or throws. n >= 1.
  [[nodiscard]] virtual RowMatrix answer(const Eigen::Ref<const RowMatrix>& x, const Control& control) = 0;
};

using OraclePtr = std::shared_ptr<Oracle>;

// What inputs may be: low <= x_n <= high for all n, or lows_n <= x_n <= highs_n. An input whose ends are the
// same is fixed there: nothing can be told of the weights on it, and they go into the constants.
struct Box {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Vector lows{}, highs{};  // d each, or empty: all inputs have the same ends

  // Ends per input; a box of common ends where they are all the same.
  [[nodiscard]] static Box of(const Vector& lows, const Vector& highs);

  [[nodiscard]] bool per_input() const { return lows.size() > 0; }
  [[nodiscard]] bool bounded() const { return per_input() || low > -std::numeric_limits<double>::infinity(); }
  [[nodiscard]] double low_of(Index n) const { return per_input() ? lows(n) : low; }
  [[nodiscard]] double high_of(Index n) const { return per_input() ? highs(n) : high; }
  // Throws std::invalid_argument unless both ends are finite with low < high, or neither is; per input low <=
  // high, and somewhere low < high.
  void validate() const;
  // Also where it has another number of inputs.
  void validate(Index inputs) const;
  // "between 0 and 1"; "between their own ends each (input 1: 0 to 60760, ...)". Of a bounded box.
  [[nodiscard]] std::string words() const;
};

// A network in memory.
[[nodiscard]] OraclePtr network_oracle(Network network, std::string name = "a network in memory");

// A caller's function. It is called from the thread that asks.
using AnswerFunction = std::function<RowMatrix(const Eigen::Ref<const RowMatrix>& x)>;
[[nodiscard]] OraclePtr function_oracle(AnswerFunction function, Index inputs,
                                        std::string name = "a function", Index batch_rows = 4096);

}  // namespace exhume
#pragma GCC visibility pop
