# Modules: what a program may be built without.
#
# A module is every source below a folder of its name, or of one that is listed for it here; what lies in none of them is the
# core. EXHUME_MODULES lists those that are built: all of them in whatever is shipped or tested, none for `make demo`, which
# builds the core alone, two thirds of the time of a build. A module registers what it has (src/base/module.h):
#
#     void register_NAME()            in a folder NAME of src, in module.cc: routes, slots
#     CommandRows NAME_commands()     in apps/exhume/NAME/module.cc
set(EXHUME_ALL_MODULES papers deep extract machines)  # routes are tried in this order, after those of the core
set(EXHUME_FOLDERS_papers experiments)
set(EXHUME_NEEDS_extract deep)

set(EXHUME_MODULES all CACHE STRING "Modules to build beside the core: all, none, or a list of ${EXHUME_ALL_MODULES}")
if(EXHUME_MODULES STREQUAL "all")
  set(EXHUME_BUILT ${EXHUME_ALL_MODULES})
elseif(EXHUME_MODULES STREQUAL "none")
  set(EXHUME_BUILT "")
else()
  set(EXHUME_BUILT ${EXHUME_MODULES})
  foreach(module IN LISTS EXHUME_BUILT)
    if(NOT module IN_LIST EXHUME_ALL_MODULES)
      message(FATAL_ERROR "EXHUME_MODULES has '${module}', which is none of ${EXHUME_ALL_MODULES}")
    endif()
    list(APPEND EXHUME_BUILT ${EXHUME_NEEDS_${module}})
  endforeach()
  list(REMOVE_DUPLICATES EXHUME_BUILT)
endif()

# Sets OUT to the module that SOURCE belongs to, empty for the core.
function(exhume_module_of source out)
  cmake_path(ABSOLUTE_PATH source NORMALIZE)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  cmake_path(GET source PARENT_PATH folder)
  string(REPLACE "/" ";" folders "${folder}")
  set(${out} "" PARENT_SCOPE)
  foreach(module IN LISTS EXHUME_ALL_MODULES)
    foreach(name IN LISTS EXHUME_FOLDERS_${module} module)
      if(name IN_LIST folders)
        set(${out} ${module} PARENT_SCOPE)
      endif()
    endforeach()
  endforeach()
endfunction()

# Takes from the list named SOURCES those of modules that are not built.
function(exhume_leave_out sources)
  set(taken "")
  foreach(source IN LISTS ${sources})
    exhume_module_of(${source} module)
    if(NOT module OR module IN_LIST EXHUME_BUILT)
      list(APPEND taken ${source})
    endif()
  endforeach()
  set(${sources} ${taken} PARENT_SCOPE)
endfunction()

# Writes the two sources that know which modules there are: build/modules.cc and build/commands.cc.
set(declared "void register_core();\n")
set(registered "    register_core();\n")
set(command_declared "CommandRows core_commands();\n")
set(command_registered "core_commands()")
set(names "")
foreach(module IN LISTS EXHUME_BUILT)
  list(APPEND names "\"${module}\"")
  string(APPEND declared "void register_${module}();\n")
  string(APPEND registered "    register_${module}();\n")
  if(EXISTS ${PROJECT_SOURCE_DIR}/apps/exhume/${module}/module.cc)
    string(APPEND command_declared "CommandRows ${module}_commands();\n")
    string(APPEND command_registered ", ${module}_commands()")
  endif()
endforeach()
list(JOIN names ", " names)
set(EXHUME_MODULES_SOURCE ${PROJECT_BINARY_DIR}/modules.cc)
set(EXHUME_COMMANDS_SOURCE ${PROJECT_BINARY_DIR}/commands.cc)
file(CONFIGURE OUTPUT ${EXHUME_MODULES_SOURCE} @ONLY CONTENT [[
// Written by cmake/modules.cmake.
#include "base/module.h"

namespace exhume {

@declared@
void register_modules() {
  static const bool kDone = [] {
@registered@    return true;
  }();
  static_cast<void>(kDone);
}

const std::vector<std::string>& modules() {
  static const std::vector<std::string> kNames = {@names@};
  return kNames;
}

}  // namespace exhume
]])
file(CONFIGURE OUTPUT ${EXHUME_COMMANDS_SOURCE} @ONLY CONTENT [[
// Written by cmake/modules.cmake.
#include "commands.h"

namespace exhume::cli {

@command_declared@
std::vector<CommandRows> built_commands() {
  return {@command_registered@};
}

}  // namespace exhume::cli
]])
