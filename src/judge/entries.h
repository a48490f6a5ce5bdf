// Entries of rows against a network of one hidden layer (certify/entry_check.h), with what the rounding of
// the training rows does to the fit.
#pragma once

#include <mutex>
#include <optional>

#include "certify/entry_check.h"
#include "fit/errors.h"
#include "fit/fit.h"
#include "judge/prepared.h"

namespace exhume {

// Whether the curvature of a fit in standardised coordinates can be had: a dense matrix, nothing left open.
[[nodiscard]] bool has_curvature(const Form& model);

class Entries {
 public:
  // standardised: is the fit in standardised coordinates?
  Entries(Prepared& data, const Fit& fit, bool standardised)
      : data_(data), fit_(fit), standardised_(standardised) {}

  // rectifier: of the units, null for ReLUs. unseen: the rows were not fitted.
  [[nodiscard]] EntryCheck check(const Network& network, const Rectifier* rectifier, const SampleSource& rows,
                                 bool unseen, const Control& control);

 private:
  void prepare();
  [[nodiscard]] Matrix fit_errors(const Eigen::Ref<const RowMatrix>& x, const Control& control);

  Prepared& data_;
  const Fit& fit_;
  bool standardised_;
  double deviation_ = 0;  // of rounding errors, standardised units
  std::once_flag once_;
  std::optional<Curvature> curvature_;
};

}  // namespace exhume
