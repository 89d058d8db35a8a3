# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later

# find_package(gnuradio-mimopack) gives the target gnuradio::gnuradio-mimopack. It stands for the
# headers with which detectors outside of this tree are compiled: examples/detector uses it.
include(CMakePackageConfigHelpers)

set(GR_CMAKE_DIR lib${LIB_SUFFIX}/cmake/gnuradio-mimopack)
add_library(gnuradio-mimopack INTERFACE)
target_include_directories(gnuradio-mimopack
                           INTERFACE $<INSTALL_INTERFACE:${MIMOPACK_PYTHON_DIR}/include>)
# As detectors.compile_module(), except that a project chooses its instruction set itself.
target_compile_features(gnuradio-mimopack INTERFACE cxx_std_17)
target_compile_definitions(gnuradio-mimopack INTERFACE MIMOPACK_ISA=outside)
target_compile_options(gnuradio-mimopack INTERFACE -fno-math-errno -fno-trapping-math)
target_link_libraries(gnuradio-mimopack INTERFACE OpenMP::OpenMP_CXX)
install(TARGETS gnuradio-mimopack EXPORT gnuradio-mimopack)
install(
  EXPORT gnuradio-mimopack
  FILE gnuradio-mimopackTargets.cmake
  NAMESPACE gnuradio::
  DESTINATION ${GR_CMAKE_DIR}
  COMPONENT headers)

# Before 1.0 an interface may change when the second number changes. Headers fit every machine.
write_basic_package_version_file(
  ${CMAKE_CURRENT_BINARY_DIR}/gnuradio-mimopackConfigVersion.cmake COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT)
install(
  FILES cmake/gnuradio-mimopackConfig.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/gnuradio-mimopackConfigVersion.cmake
  DESTINATION ${GR_CMAKE_DIR}
  COMPONENT headers)
