// The same samples with their outputs less what a model says: y - C^T F(x; V). On a device where they lie on one.
#pragma once

#include "exhume/control.h"
#include "exhume/samples.h"
#include "model/separable_model.h"

namespace exhume {

[[nodiscard]] SamplePtr less_model(const SamplePtr& samples, const SeparableModel& model,
                                   const Control& control);

}  // namespace exhume
