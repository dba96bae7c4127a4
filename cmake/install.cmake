# What is installed: the program, the headers, and the folders of src/ as four libraries that find_package(Octavo) finds.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# octavo_installed(runtime FOLDERS base graph ... USES ...): these folders as one archive and as the target Octavo::runtime.
# What it uses is named as a linker knows it, so that the package does not depend on where this machine has it.
function(octavo_installed name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;USES" ${ARGN})
  list(TRANSFORM ARG_FOLDERS REPLACE "(.+)" "$<TARGET_OBJECTS:octavo_\\1>" OUTPUT_VARIABLE objects)
  set(target octavo_installed_${name})
  add_library(${target} STATIC ${objects})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX EXPORT_NAME ${name}
    OUTPUT_NAME octavo_${name} ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_include_directories(${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_link_libraries(${target} INTERFACE ${ARG_USES})
  install(TARGETS ${target} EXPORT Octavo ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

octavo_installed(runtime FOLDERS base graph ops plan kernels artifact run USES Threads::Threads xxhash)
target_link_options(octavo_installed_runtime INTERFACE LINKER:--gc-sections)
if(OCTAVO_PROCESSOR STREQUAL x86)
  set(OCTAVO_INSTALLED_ONEDNN dnnl gomp)
endif()
octavo_installed(onednn FOLDERS onednn USES octavo_installed_runtime ${OCTAVO_INSTALLED_ONEDNN})
target_link_options(octavo_installed_onednn INTERFACE ${OCTAVO_LINK_ONEDNN})
octavo_installed(planner FOLDERS cuda lower planner USES octavo_installed_onednn)
target_link_options(octavo_installed_planner INTERFACE ${OCTAVO_LINK_PLANNER} ${OCTAVO_LINK_CUDA})
octavo_installed(octavo FOLDERS import export quantize pictures api USES octavo_installed_planner onnx_proto protobuf zip)
set_target_properties(octavo_installed_octavo PROPERTIES OUTPUT_NAME octavo)

set(OCTAVO_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Octavo)
install(TARGETS octavo)
install(DIRECTORY include/octavo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT Octavo NAMESPACE Octavo:: FILE OctavoTargets.cmake DESTINATION ${OCTAVO_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/OctavoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/OctavoConfig.cmake ${CMAKE_BINARY_DIR}/OctavoConfigVersion.cmake DESTINATION ${OCTAVO_PACKAGE_DIR})
