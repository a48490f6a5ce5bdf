# What `cmake --install` puts where: headers, library, command line, a CMake package and a pkg-config file.
include(CMakePackageConfigHelpers)

set_target_properties(exhume PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
install(TARGETS exhume EXPORT exhumeTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/exhume ${PROJECT_BINARY_DIR}/include/exhume
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET exhume_cli)
  file(RELATIVE_PATH bin_to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(exhume_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${bin_to_lib}")
  install(TARGETS exhume_cli)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} OPTIONAL PATTERN stamp EXCLUDE)
endif()

get_target_property(exhume_type exhume TYPE)
if(exhume_type STREQUAL "STATIC_LIBRARY")
  set(EXHUME_IS_STATIC TRUE)
else()
  set(EXHUME_IS_STATIC FALSE)
endif()

# find_package(exhume)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/exhume)
install(EXPORT exhumeTargets NAMESPACE exhume:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/exhumeConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/exhumeConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/exhumeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/exhumeConfig.cmake ${PROJECT_BINARY_DIR}/exhumeConfigVersion.cmake
        DESTINATION ${package_dir})

# pkg-config exhume. A static library hands its own needs on to whoever links it; a shared one keeps them private.
set(EXHUME_PC_NEEDS "openblas libzip clp libcrypto fmt")
if(EXHUME_IS_STATIC)
  set(EXHUME_PC_REQUIRES "eigen3 ${EXHUME_PC_NEEDS}")
  set(EXHUME_PC_REQUIRES_PRIVATE "")
  set(EXHUME_PC_LIBS "-pthread")
else()
  set(EXHUME_PC_REQUIRES "eigen3")
  set(EXHUME_PC_REQUIRES_PRIVATE "${EXHUME_PC_NEEDS}")
  set(EXHUME_PC_LIBS "")
endif()
set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
# Relative to the .pc file, so that the installed tree can be moved.
file(RELATIVE_PATH EXHUME_PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" EXHUME_PC_PREFIX "${EXHUME_PC_PREFIX}")
foreach(dir IN ITEMS LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${dir}DIR}")
    set(EXHUME_PC_${dir}DIR "${CMAKE_INSTALL_${dir}DIR}")
  else()
    set(EXHUME_PC_${dir}DIR "\${prefix}/${CMAKE_INSTALL_${dir}DIR}")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/exhume.pc.in ${PROJECT_BINARY_DIR}/exhume.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/exhume.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
