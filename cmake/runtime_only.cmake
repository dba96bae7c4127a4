# The library that runs compiled models, alone, for phones and other small machines: no program, no importer, no planner, no oneDNN. Of others it needs
# threads, and the header of xxhash. Two forms: liboctavo_run.a and those below it, for programs in C++, and liboctavo_runtime.so, which exports the C API.
find_path(XXHASH_INCLUDE xxhash.h REQUIRED)
add_compile_definitions(XXH_INLINE_ALL=)
include_directories(SYSTEM ${XXHASH_INCLUDE})
add_compile_options(-ffunction-sections -fdata-sections)
if(NOT OCTAVO_PROCESSOR STREQUAL x86)  # what generates code there throws
  add_compile_options(-fno-exceptions -fno-unwind-tables -fno-asynchronous-unwind-tables)
endif()

octavo_library(base USES Threads::Threads)
octavo_library(graph USES octavo_base)
octavo_library(ops USES octavo_graph)
octavo_library(plan USES octavo_base)
octavo_library(kernels USES octavo_ops)
octavo_library(artifact USES octavo_plan)
octavo_library(run USES octavo_artifact octavo_kernels)
target_compile_definitions(octavo_run PRIVATE OCTAVO_VERSION="${PROJECT_VERSION}" OCTAVO_RUNTIME_ONLY)

# MinSizeRel: nothing but kernels takes part of a run that size would buy. Of those, what is beside a family's loops is most of these.
foreach(folder base graph ops plan artifact run)
  target_compile_options(octavo_${folder} PRIVATE $<$<CONFIG:MinSizeRel>:-Oz>)
endforeach()
function(octavo_smaller option)  # octavo_smaller(OPTION PATTERNS...): sources below src/, and those that stand there for one instruction set
  list(TRANSFORM ARGN PREPEND ${CMAKE_BINARY_DIR}/src/ OUTPUT_VARIABLE compiled)
  list(TRANSFORM ARGN PREPEND ${CMAKE_SOURCE_DIR}/src/)
  file(GLOB sources ${ARGN} ${compiled})
  set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS $<$<CONFIG:MinSizeRel>:${option}>)
endfunction()
foreach(family eltwise integer_norm lines move pool quantize recurrence table)
  octavo_smaller(-Os kernels/${family}/arm64_neon.cpp)
endforeach()
octavo_smaller(-Os ops/quantized_softmax/*.cpp ops/fixed_lstm/*.cpp)  # run by their scalar code
foreach(family argmax resize sampling)
  octavo_smaller(-Oz kernels/${family}/arm64_neon.cpp)
endforeach()
octavo_smaller(-Oz kernels/*/scalar.cpp kernels/plain/*.cpp)  # rarely run
octavo_smaller(-Oz kernels/*/list.cpp kernels/*/refusal.cpp kernels/*/pack.cpp kernels/*/geometry.cpp kernels/*/weights.cpp)  # only to open a model
octavo_smaller(-Oz kernels/conv/split.cpp kernels/conv/epilogue.cpp kernels/conv/amx_schedule.cpp)
octavo_smaller(-Os kernels/conv/arm64/words.cpp kernels/winograd/arm64_neon.cpp kernels/winograd/s*.cpp)

set(OCTAVO_RUNTIME_OBJECTS base graph ops plan kernels artifact run)
list(TRANSFORM OCTAVO_RUNTIME_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:octavo_\\1>")
add_library(octavo_runtime SHARED ${OCTAVO_RUNTIME_OBJECTS})
set_target_properties(octavo_runtime PROPERTIES LINKER_LANGUAGE CXX LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/runtime_exports.map)
target_link_libraries(octavo_runtime PRIVATE Threads::Threads)
include(CheckLinkerFlag)
# Functions of the same instructions, as instances of templates are, become one: lld, gold. `all`, since nothing here compares addresses of functions: 30 KB.
check_linker_flag(CXX LINKER:--icf=all OCTAVO_LINKER_FOLDS)
if(OCTAVO_LINKER_FOLDS)
  target_link_options(octavo_runtime PRIVATE LINKER:--icf=all)
endif()
check_linker_flag(CXX LINKER:--pack-dyn-relocs=relr OCTAVO_LINKER_PACKS)  # glibc 2.36 and Android 11 (level 30) read it
if(OCTAVO_LINKER_PACKS AND (NOT ANDROID OR ANDROID_PLATFORM_LEVEL GREATER_EQUAL 30))
  target_link_options(octavo_runtime PRIVATE LINKER:--pack-dyn-relocs=relr)
endif()
target_link_options(octavo_runtime PRIVATE LINKER:--gc-sections LINKER:-O2 LINKER:--hash-style=gnu LINKER:--no-undefined LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/runtime_exports.map)

add_subdirectory(tests/arm64)
