# What a first look does without.
#
# `make demo` builds what it runs and nothing else: EXHUME_PARTS=first leaves out the folders and files below, a third of
# the time of a build, and two small files say so in their place (src/not_built.cc, apps/exhume/not_built.cc). Everything
# that is shipped or tested has EXHUME_PARTS=all. tests/parts.py sees to it that the first part needs nothing of the rest.
set(EXHUME_PARTS all CACHE STRING "all, or first: only what `make demo` runs")
set_property(CACHE EXHUME_PARTS PROPERTY STRINGS all first)
if(NOT EXHUME_PARTS MATCHES "^(all|first)$")
  message(FATAL_ERROR "EXHUME_PARTS is '${EXHUME_PARTS}', expected all or first")
endif()

set(EXHUME_LATER
  experiments/
  src/engine/host_device.cc
  src/extract/ src/extract.cc src/oracle/ src/report/extract_report.cc src/report/extraction_check.cc apps/exhume/extract.cc
  src/fit/deep/ src/routes/deep/ src/judge/deep_layers.cc src/judge/deep_noise.cc
  src/memorize/ src/memorize.cc src/report/memorize_report.cc apps/exhume/memorize.cc
  src/routes/depth2_jennrich.cc src/routes/depth2_regression.cc
  src/decompose/jennrich.cc src/decompose/cp_als.cc src/decompose/rank_one_terms.cc
  src/session/diagnose.cc apps/exhume/diagnose.cc
  src/routes/rectified/ src/session/generate_formula.cc
  src/routes/threshold/ src/report/layer_report.cc src/session/generate_threshold.cc apps/exhume/halfspaces.cc
  src/session/layer_files.cc apps/exhume/lowest_layer.cc
  src/fit/partial_sums.cc src/moments/partial_moments.cc apps/exhume/moments.cc apps/exhume/sums.cc
  src/session/site_sums.cc
  apps/exhume/keys.cc apps/exhume/reproduce.cc)

# Sets OUT to whether SOURCE belongs to what is built later.
function(exhume_is_later source out)
  cmake_path(ABSOLUTE_PATH source NORMALIZE)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(${out} OFF PARENT_SCOPE)
  foreach(later IN LISTS EXHUME_LATER)
    string(FIND "${source}" "${later}" at)
    if(at EQUAL 0)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Takes from the list named SOURCES what this build does without.
function(exhume_take_part sources)
  set(taken "")
  foreach(source IN LISTS ${sources})
    if(source MATCHES "/not_built\\.cc$")
      set(wanted first)
    else()
      exhume_is_later(${source} later)
      set(wanted all)
      if(NOT later)
        set(wanted ${EXHUME_PARTS})
      endif()
    endif()
    if(wanted STREQUAL EXHUME_PARTS)
      list(APPEND taken ${source})
    endif()
  endforeach()
  set(${sources} ${taken} PARENT_SCOPE)
endfunction()
