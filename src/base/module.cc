#include "base/module.h"

#include <fmt/format.h>

namespace exhume {

MissingModule::MissingModule(std::string_view what, std::string_view module)
    : std::invalid_argument(fmt::format("{} is part of the module {}, which this program was built without; "
                                        "`make program` builds all modules",
                                        what, module)) {}

}  // namespace exhume
