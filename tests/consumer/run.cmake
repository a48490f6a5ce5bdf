# cmake -DBUILD=... -DSOURCE=... -DCXX=... [-DFLAGS=...] -DSTATIC=... -P run.cmake
#
# Installs the build into a stage, then builds and runs the consumer against it twice: through find_package and
# through pkg-config.
set(work ${BUILD}/consumer)
set(stage ${BUILD}/stage)
file(REMOVE_RECURSE ${work} ${stage})
file(MAKE_DIRECTORY ${work})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${line}\nended with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${stage})

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/cmake -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_COMPILER=${CXX}
    "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_PREFIX_PATH=${stage})
run(${CMAKE_COMMAND} --build ${work}/cmake)
foreach(program IN ITEMS consumer consumer_of_all)
  run(${work}/cmake/${program})
  message("find_package, ${program}: ${output}")
endforeach()

file(GLOB_RECURSE pc ${stage}/*/exhume.pc)
cmake_path(GET pc PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
run(pkg-config --cflags --libs exhume)
separate_arguments(pkg UNIX_COMMAND "${output}")
run(pkg-config --variable=libdir exhume)
string(STRIP "${output}" libdir)
if(STATIC)
  set(all -Wl,--whole-archive ${libdir}/libexhume.a -Wl,--no-whole-archive)
else()
  set(all -Wl,-rpath,${libdir})
endif()
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
run(${CXX} -std=c++20 ${flags} ${SOURCE}/main.cc -o ${work}/by_pkg_config ${all} ${pkg})
run(${work}/by_pkg_config)
message("pkg-config: ${output}")
