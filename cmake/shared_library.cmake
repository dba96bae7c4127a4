# All of Octavo as one shared library that exports its API alone, and a program over it: what packages for other ecosystems take. Both lie in
# build/package/octavo as in an installed Python package. Built when asked for: octavo_shared, octavo_packaged.
set(package ${CMAKE_BINARY_DIR}/package/octavo)
set(exports ${CMAKE_SOURCE_DIR}/python/exports.map)

# The folders whose functions are its API come as objects: all of them, whoever refers to them.
add_library(octavo_shared SHARED EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/python/src/library.cpp
  $<TARGET_OBJECTS:octavo_run> $<TARGET_OBJECTS:octavo_api> $<TARGET_OBJECTS:octavo_bindings>)
target_link_libraries(octavo_shared PRIVATE octavo_bindings)
target_link_options(octavo_shared PRIVATE LINKER:--version-script=${exports} LINKER:--gc-sections LINKER:-Bsymbolic LINKER:--strip-all)
set_target_properties(octavo_shared PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME octavo LINK_DEPENDS ${exports}
  LIBRARY_OUTPUT_DIRECTORY ${package} OCTAVO_LOADS_ONEDNN ON)

add_executable(octavo_packaged EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/python/src/program.cpp)
set_target_properties(octavo_packaged PROPERTIES OUTPUT_NAME octavo RUNTIME_OUTPUT_DIRECTORY ${package}/bin
  BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")
target_link_libraries(octavo_packaged PRIVATE octavo_shared)
target_include_directories(octavo_packaged PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
