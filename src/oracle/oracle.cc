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

template <class Model>
OraclePtr model_oracle(Model model, std::string name) {
  model.validate();
  const Index inputs = model.inputs();
  auto shared = std::make_shared<const Model>(std::move(model));
  return function_oracle([shared](const Eigen::Ref<const RowMatrix>& x) { return evaluate(*shared, x); },
                         inputs, std::move(name));
}

}  // namespace

OraclePtr network_oracle(Network network, std::string name) {
  return model_oracle(std::move(network), std::move(name));
}

OraclePtr network_oracle(DeepNetwork network, std::string name) {
  return model_oracle(std::move(network), std::move(name));
}

OraclePtr function_oracle(AnswerFunction function, Index inputs, std::string name, Index batch_rows) {
  return std::make_shared<FunctionOracle>(std::move(function), inputs, std::move(name), batch_rows);
}

}  // namespace exhume
