// Networks that fit any labels, with about as many parameters as there are labels (paper memorize).
//
//   samples -> normalise? -> perturb? -> duplicates, capacity -> [first layer (R x)^p] -> fit -> check ->
//   network
//
// Two layers, f(x) = A (W x)^2, fit any labels of n <= d (d+1) / 2 rows in general position; three layers,
// with a random first layer of k = 2 ceil(sqrt n) units (R x)^p, fit more (Theorems 4 and 5). Every output
// has units of its own. The fit is the closed form (papers/memorize/closed_form.h) or a descent
// (papers/memorize/descent.h).
//
// What is memorised are the rows as they are after normalising and perturbing; they come with the result,
// because the network fits them, and the rows given only as well as they resemble them. Both errors are
// reported.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exhume/certificate.h"
#include "exhume/control.h"
#include "exhume/papers/memorize.h"
#include "exhume/types.h"

#pragma GCC visibility push(default)
namespace exhume {

enum class MemorizeMethod { kClosedForm, kPgd, kPgdPrinted, kAdam };
[[nodiscard]] const char* to_string(MemorizeMethod method);  // "closed", "pgd", "pgd-printed", "adam"
[[nodiscard]] std::optional<MemorizeMethod> memorize_method(std::string_view name);

struct MemorizeOptions {
  MemorizeMethod method = MemorizeMethod::kClosedForm;
  int layers = 0;      // 2, 3, or 0: two where they have the capacity, else three
  Index hidden = 0;    // r, trained units an output, even; 0: 2k + 2 (Lemma 1). Descent only
  Index features = 0;  // k of three layers; 0: 2 ceil(sqrt n)
  int power = 0;       // p of three layers; 0: the smallest >= 2 with capacity
  double perturb = 0;  // standard deviation of the noise added to every input; the paper's v is its square
  bool normalize = false;    // divide rows by their norms first, as the paper's experiments do
  bool classes = false;      // whole-number labels become one column a class
  std::uint64_t seed = 0;    // of R, the noise, and the descent
  double tolerance = 1e-12;  // relative error up to which labels count as memorised
  ClosedFormOptions closed_form;
  DescentOptions descent;  // rule and seed are set from the fields above; target from `tolerance`
  // Throws std::invalid_argument naming the field, its value and what it may be.
  void validate() const;
};

enum class LabelKind {
  kReal,     // numbers
  kInteger,  // one column of whole numbers: right where the output rounds to it
  kOneHot,   // several columns, a single 1 in each row and 0 else: right where the largest output is that
             // column
};
[[nodiscard]] LabelKind label_kind(const Eigen::Ref<const RowMatrix>& y);
// Share of rows that are right; 1 for kReal, where it means nothing.
[[nodiscard]] double accuracy(LabelKind kind, const Eigen::Ref<const RowMatrix>& values,
                              const Eigen::Ref<const RowMatrix>& y);
// Column c is 1 where the label is classes[c], the sorted distinct labels. Throws DataError unless y is one
// column of whole numbers with at most 1000 distinct values.
[[nodiscard]] RowMatrix one_hot(const Eigen::Ref<const RowMatrix>& y, std::vector<double>* classes = nullptr);

// Certified means memorised: relative_error <= tolerance and, for labels, all of them right.
struct MemorizeResult {
  Certificate certificate;
  QuadraticNetwork network;
  RowMatrix inputs;             // the rows memorised, n x d
  RowMatrix targets;            // what they were fitted to, n x m
  std::vector<double> classes;  // of the columns, with options.classes
  MemorizeMethod method = MemorizeMethod::kClosedForm;
  int layers = 2;
  int power = 1;
  double perturb = 0;
  double relative_error = 0;        // on `inputs`: squared error / variance of the labels, over all outputs
  double given_relative_error = 0;  // of the network on the rows as given
  double worst_error = 0;           // largest |f - y| on `inputs`
  LabelKind labels = LabelKind::kReal;
  double accuracy = 1, given_accuracy = 1;
  double capacity = 0;            // largest n these layers could fit
  ClosedForm closed_form;         // also for descents, which need its sigma; `forms` are left out
  std::vector<Descent> descents;  // one per output
  std::vector<SecondOrder> stationarity;
  double tolerance = 0;
  double seconds = 0;

  [[nodiscard]] bool memorized() const { return certificate.status == Status::kCertified; }
};

// x: n x d, y: n x m. Throws DataError where no network of this kind can fit: rows on one line with labels
// that disagree (named), more rows than the layers' capacity (with sizes that would work), NaN;
// std::invalid_argument for bad options; ResourceError; Interrupted.
[[nodiscard]] MemorizeResult memorize(const Eigen::Ref<const RowMatrix>& x,
                                      const Eigen::Ref<const RowMatrix>& y,
                                      const MemorizeOptions& options = {}, const Control& control = {});

}  // namespace exhume
#pragma GCC visibility pop
