// A student trained on a device (fit/deep/student.h): the same steps, in the same order, there.
#pragma once

#include <memory>

#include "engine/device.h"
#include "fit/deep/student_data.h"

namespace exhume {

[[nodiscard]] Student train_on_device(const std::shared_ptr<Device>& device, const Form& start,
                                      const StudentData& data, const StudentOptions& options,
                                      const Control& control);

}  // namespace exhume
