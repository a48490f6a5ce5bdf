#include "exhume/oracle.h"

#include <utility>

namespace exhume {
namespace {

class FunctionOracle final : public Oracle {
 public:
  FunctionOracle(AnswerFunction function, Index inputs, std::string name, Index batch_rows)
      : function_(std::move(function)), inputs_(inputs), name_(std::move(name)), batch_rows_(batch_rows) {}

  [[nodiscard]] Index inputs() const override { return inputs_; }
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] Index batch_rows() const override { return batch_rows_; }
  [[nodiscard]] RowMatrix answer(const Eigen::Ref<const RowMatrix>& x, const Control&) override {
    return function_(x);
  }

 private:
  AnswerFunction function_;
  Index inputs_;
  std::string name_;
  Index batch_rows_;
};

}  // namespace

OraclePtr network_oracle(Network network, std::string name) {
  network.validate();
  const Index inputs = network.inputs();
  auto shared = std::make_shared<const Network>(std::move(network));
  return function_oracle([shared](const Eigen::Ref<const RowMatrix>& x) { return evaluate(*shared, x); },
                         inputs, std::move(name));
}

OraclePtr function_oracle(AnswerFunction function, Index inputs, std::string name, Index batch_rows) {
  return std::make_shared<FunctionOracle>(std::move(function), inputs, std::move(name), batch_rows);
}

}  // namespace exhume
