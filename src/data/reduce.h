// A pass over the rows of samples: blocks by several threads, joined in the fixed tree of base/parallel.h.
//
//     value = merge over blocks b of add(empty, rows [4096 b, 4096 (b + 1)))
//
// The same bits for any number of threads and, where control.passes has them (base/passes.h), of processes;
// and memory that does not grow with the number of rows. What a Value is made of is told to base/packed.h.
//
// Values of all types go through one pass that does not know them (Summand, PassWork): compiled once, not
// once a type.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/packed.h"
#include "base/packed_shape.h"
#include "base/parallel.h"
#include "exhume/control.h"
#include "exhume/samples.h"

namespace exhume {

// The sum of some blocks.
class Summand {
 public:
  virtual ~Summand() = default;
  virtual void merge(const Summand& other) = 0;
  virtual void pack(packing::Writer& out) const = 0;
  virtual void unpack(packing::Reader& in) = 0;
};

// What a pass does with the rows of a block.
class PassWork {
 public:
  virtual ~PassWork() = default;
  [[nodiscard]] virtual std::unique_ptr<Summand> empty() const = 0;
  virtual void add(Summand& to, const SampleBlock& block) const = 0;
};

// The sum over all rows of `source`, which has some.
[[nodiscard]] std::unique_ptr<Summand> sum_blocks(const SampleSource& source, const PassWork& work,
                                                  const Control& control, std::string_view stage,
                                                  Index block_rows);

template <class Value>
struct HeldSummand final : Summand {
  explicit HeldSummand(const Value& given) : value(given) {}
  void merge(const Summand& other) override { value.merge(static_cast<const HeldSummand&>(other).value); }
  void pack(packing::Writer& out) const override { out.put(value); }
  // Bytes may come from a checkpoint that was changed: what is read has the shapes of an empty sum.
  void unpack(packing::Reader& in) override {
    Value read = value;
    in.get(read);
    value = of_shape(std::move(read), value);
  }

  Value value;
};

template <class Value, class Add>
class HeldWork final : public PassWork {
 public:
  HeldWork(const Value& empty, const Add& add) : empty_(empty), add_(add) {}
  [[nodiscard]] std::unique_ptr<Summand> empty() const override {
    return std::make_unique<HeldSummand<Value>>(empty_);
  }
  void add(Summand& to, const SampleBlock& block) const override {
    add_(static_cast<HeldSummand<Value>&>(to).value, block);
  }

 private:
  const Value& empty_;
  const Add& add_;
};

// Reduces rows [0, source.rows()) of `source`: every block goes through add(accumulator, block),
// starting from a copy of `empty`, and the accumulators are merged in the fixed tree. `stage` names
// the pass for progress.
template <class Value, class Add>
[[nodiscard]] Value reduce_blocks(const SampleSource& source, const Value& empty, const Control& control,
                                  std::string_view stage, const Add& add, Index block_rows = kBlockRows) {
  if (source.rows() == 0) return empty;
  const HeldWork<Value, Add> work(empty, add);
  const std::unique_ptr<Summand> sum = sum_blocks(source, work, control, stage, block_rows);
  return std::move(static_cast<HeldSummand<Value>&>(*sum).value);
}

// Like load (data/samples.h), its blocks by several threads.
[[nodiscard]] SamplePtr load(const SampleSource& source, const Control& control);

}  // namespace exhume
