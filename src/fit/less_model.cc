#include "fit/less_model.h"

#include <algorithm>

#include "data/resident.h"
#include "fit/device_features.h"

namespace exhume {

SamplePtr less_model(const SamplePtr& samples, const SeparableModel& model, const Control& control) {
  SamplePtr here = with_outputs(samples, [model](const Eigen::Ref<const RowMatrix>& x, RowMatrix& y) {
    y -= ModelRows(model, x, false).F * model.C;
  });
  const DeviceRows* there = rows_on_device(*samples);
  if (there == nullptr) return here;
  DeviceRows left = there->with_outputs(there->outputs());
  const Index strip = std::min(there->rows(), strip_rows(*there->device, 2 * model.features()));
  const DeviceFeatures features(*there->device, model, strip);
  for_strips(*there, strip, control, [&](const DeviceStrip& at) {
    const DeviceView<double> out = left.y->view().block(at.first, 0, at.x.rows, there->outputs());
    there->device->copy(at.y, out);
    features.subtract(at.x, out);
  });
  there->device->synchronise();
  return on_device(std::move(here), std::move(left));
}

}  // namespace exhume
