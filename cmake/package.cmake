# What `cpack -G DEB` (make deb) makes: one package with the command line, the library, headers and manual pages.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME exhume)
set(CPACK_PACKAGE_VENDOR "The Exhume developers")
set(CPACK_PACKAGE_CONTACT "The Exhume developers <exhume@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION math)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the program links
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libeigen3-dev, libopenblas-dev, libzip-dev, coinor-libclp-dev, libssl-dev, libfmt-dev")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
include(CPack)
