# Sources compiled several at a time.
#
# Most of a build from scratch is spent on templates that every file instantiates anew. Files of one folder, compiled as
# one, share them: a quarter of the time. So names in unnamed namespaces are unique within a folder; where two files need the
# same helper, it gets a header. What is changed and compiled often is better compiled alone: the preset `dev`.
option(EXHUME_UNITY "Compile the files of a folder together: a quarter less time from scratch" ON)

# Such a file takes g++ 1.7 GB in the end; to look for memory to free on the way there costs it a tenth of its time.
if(EXHUME_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=1000000>")
  # A source that another includes looks like a header to it, whose unnamed namespaces it warns of.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()

# Groups the sources of TARGET by folder, at most MOST in a group, as even as can be.
function(exhume_unity target most)
  if(NOT EXHUME_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(root ${target} SOURCE_DIR)
  set(folders "")
  foreach(source IN LISTS sources)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    if(alone)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${root} NORMALIZE)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND in_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH in_${folder} count)
    math(EXPR groups "(${count} + ${most} - 1) / ${most}")
    set(number 0)
    foreach(source IN LISTS in_${folder})
      math(EXPR group "${number} * ${groups} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
