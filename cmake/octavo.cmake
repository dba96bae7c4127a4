# How folders become targets, and the flags that everything is compiled with.

# -Wrestrict is wrong about std::string in GCC 12 (GCC bug 105651). No contraction: an FMA is written std::fma or not at all, so that bits do not depend on the compiler.
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wno-missing-field-initializers -Wno-restrict -ffp-contract=off -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wno-unknown-warning-option)  # some of the warnings named here are GCC's alone
  # nvcc takes what is constexpr for devices, too: operations of a lane are (src/base/lane.h), also those that Clang never evaluates itself.
  add_compile_options(-Wno-invalid-constexpr)
  add_compile_options(-Wno-undefined-var-template)  # what kernels/compiled_for.h declares is defined once per instruction set, elsewhere
endif()
if(OCTAVO_SANITIZE)
  add_compile_options(-fsanitize=${OCTAVO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${OCTAVO_SANITIZE})
endif()

# Files named x86_<isa>.cpp are compiled for that instruction set, and functions.cpp for several; they include only their family's contract and
# generic.h, and define nothing inline with external linkage.
set(OCTAVO_ISA_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(OCTAVO_ISA_avxvnni ${OCTAVO_ISA_avx2} -mavxvnni)
# GCC 12's own AVX-512 header looks uninitialized to it (GCC bug 105593).
set(OCTAVO_ISA_avx512 ${OCTAVO_ISA_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 -Wno-maybe-uninitialized -Wno-uninitialized)
set(OCTAVO_ISA_avx512vnni ${OCTAVO_ISA_avx512} -mavx512vnni)
# The instructions of avxvnni as processors with AVX-512 VNNI encode them, which may lack the other encoding.
set(OCTAVO_ISA_evexvnni ${OCTAVO_ISA_avx512vnni} -mprefer-vector-width=256)
set(OCTAVO_ISA_avx512vbmi ${OCTAVO_ISA_avx512} -mavx512vbmi)
# Tile instructions, and what surrounds them.
set(OCTAVO_ISA_amx ${OCTAVO_ISA_avx512vnni} -mamx-tile -mamx-int8)

# Files named arm64_<isa>.cpp likewise; Advanced SIMD is part of aarch64. Without GCC's scheduling before it allots registers: that moves loads up
# until sums have to be stored.
set(OCTAVO_ISA_neon -O3 $<$<CXX_COMPILER_ID:GNU>:-fno-schedule-insns>)
# Of GCC's two ways to colour registers the older one leaves 24 sums of a tile where they are, before and behind a loop if its test is there once.
set(OCTAVO_ARM64_TILES ${OCTAVO_ISA_neon} $<$<CXX_COMPILER_ID:GNU>:-mtune=cortex-a76> $<$<CXX_COMPILER_ID:GNU>:-fira-algorithm=priority> $<$<CXX_COMPILER_ID:GNU>:-fno-tree-ch>)
set(OCTAVO_ISA_dotprod ${OCTAVO_ARM64_TILES} -march=armv8.2-a+dotprod)
set(OCTAVO_ISA_i8mm ${OCTAVO_ARM64_TILES} -march=armv8.2-a+dotprod+i8mm)

# Which processor programs are for; files of others are named <processor>_<isa>.cpp or lie in a folder <processor>/.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(OCTAVO_PROCESSOR arm64)
  set(OCTAVO_OTHER_PROCESSOR x86)
  add_compile_options(-fsigned-char)  # as on x86
else()
  set(OCTAVO_PROCESSOR x86)
  set(OCTAVO_OTHER_PROCESSOR arm64)
endif()

# Folders that are made for x86; programs for others have what lies in <processor>/ of them.
set(OCTAVO_X86_FOLDERS onednn)

# octavo_compile_per_isa(VARIABLE kernels): puts, of the sources in VARIABLE, one per instruction set in the place of functions.cpp of each family
# that the folder's families.inc names. A target compiles a file once, so each is a file of one line in the build folder, named as one written for that
# set would be.
set(OCTAVO_ARM64_ISAS neon dotprod i8mm)
function(octavo_compile_per_isa variable folder)
  set(list ${CMAKE_SOURCE_DIR}/src/${folder}/families.inc)
  if(NOT EXISTS ${list})
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^OCTAVO_COMPILED_FOR")
  foreach(line ${lines})
    string(REGEX REPLACE "^OCTAVO_COMPILED_FOR\\(([a-z_]+), ([a-z0-9 ]+)\\)$" "\\1 \\2" words ${line})
    string(REPLACE " " ";" isas ${words})
    list(POP_FRONT isas family)
    list(REMOVE_ITEM ${variable} ${CMAKE_SOURCE_DIR}/src/${folder}/${family}/functions.cpp)
    foreach(isa ${isas})
      if(isa STREQUAL scalar)
        set(name scalar)
      elseif(isa IN_LIST OCTAVO_ARM64_ISAS)
        set(name arm64_${isa})
      else()
        set(name x86_${isa})
      endif()
      set(source ${CMAKE_BINARY_DIR}/src/${folder}/${family}/${name}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${folder}/${family}/functions.cpp\"\n")
      set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS OCTAVO_ISA=${isa})
      list(APPEND ${variable} ${source})
    endforeach()
  endforeach()
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

function(octavo_set_isa_flags)
  foreach(source ${ARGN})
    # Two conditions: CMake would expand the match in the second one before the first one is evaluated.
    if(source MATCHES "/${OCTAVO_PROCESSOR}_([a-z0-9]+)\\.cpp$")
      if(NOT DEFINED OCTAVO_ISA_${CMAKE_MATCH_1})
        message(FATAL_ERROR "${source}: no flags for ${CMAKE_MATCH_1}")
      endif()
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${OCTAVO_ISA_${CMAKE_MATCH_1}}" SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# Whether folders are compiled as a few large units, each a file that includes its sources: a build from nothing parses every header once per unit
# instead of once per source. For work on a folder, where one source changes at a time, the preset `develop` compiles file by file (docs/developing.md).
option(OCTAVO_UNITY "compile the sources of a folder as a few large units" ON)
if(OCTAVO_UNITY AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  add_compile_options(-Wno-shadow)  # of a name in another source of the unit; builds by GCC warn of the others
elseif(OCTAVO_UNITY)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)  # takes each source of a unit for a header that others include, too
endif()
# In units GCC inlines less: a copy in move/ took twice as long.
set(OCTAVO_FOLDERS_BY_FILE kernels)
set(OCTAVO_UNIT_BYTES 150000)  # of sources: about 3,000 lines, 10 s of a compiler

# Groups the sources of a target into units of its folders' files in their order. A unit has one namespace without a name: what two files
# of a folder define there has two names.
function(octavo_set_units target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set(unit 0)
  set(filled 0)
  list(SORT ARGN)
  foreach(source ${ARGN})
    file(SIZE ${source} bytes)
    math(EXPR filled "${filled} + ${bytes}")
    if(filled GREATER OCTAVO_UNIT_BYTES)
      math(EXPR unit "${unit} + 1")
      set(filled ${bytes})
    endif()
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
endfunction()

# Folders whose code runs once per file or command. A third of their time would go into what nobody notices; the rest is as CMake's build type says.
set(OCTAVO_COLD_FOLDERS import export api analyze diagnose cli bindings zoo CACHE STRING "folders of src/ compiled with -O1")

# File by file, what nearly every source includes is compiled once per library instead. Sources with flags of an instruction set cannot share it.
function(octavo_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory> <optional> <set> <span>
    <string> <string_view> <tuple> <utility> <variant> <vector>)
  get_target_property(uses ${target} LINK_LIBRARIES)
  foreach(pair nlohmann_json::nlohmann_json=nlohmann/json.hpp fmt::fmt=fmt/format.h CLI11::CLI11=CLI/CLI.hpp)
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 library)
    list(GET pair 1 header)
    if(library IN_LIST uses)
      target_precompile_headers(${target} PRIVATE <${header}>)
    endif()
  endforeach()
  # The first for ccache; then warnings about the C++ library's own headers, which are none of a system any more.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>)
endfunction()

# What fuzzing is led through: counting branches anywhere else would only slow tests and fuzzing down.
set(OCTAVO_FUZZED_FOLDERS base graph ops import artifact plan planner lower)

# octavo_library(base USES ...): all of src/base as the static library octavo_base. Files of an instruction set are compiled apart, with its flags.
function(octavo_library folder)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.cpp)
  octavo_compile_per_isa(sources ${folder})
  list(FILTER sources EXCLUDE REGEX "/${OCTAVO_OTHER_PROCESSOR}[_/]")
  if(folder IN_LIST OCTAVO_X86_FOLDERS AND NOT OCTAVO_PROCESSOR STREQUAL x86)
    list(FILTER sources INCLUDE REGEX "/${OCTAVO_PROCESSOR}/")
  endif()
  if(sources)
    octavo_set_isa_flags(${sources})
    add_library(octavo_${folder} STATIC ${sources})
    if(OCTAVO_UNITY AND NOT folder IN_LIST OCTAVO_FOLDERS_BY_FILE)
      octavo_set_units(octavo_${folder} ${sources})
    endif()
    if(OCTAVO_FUZZ AND folder IN_LIST OCTAVO_FUZZED_FOLDERS)
      target_compile_options(octavo_${folder} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    if(folder IN_LIST OCTAVO_COLD_FOLDERS)
      target_compile_options(octavo_${folder} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
    target_include_directories(octavo_${folder} PUBLIC ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(octavo_${folder} PUBLIC ${ARG_USES})
    if(NOT OCTAVO_RUNTIME_ONLY AND (NOT OCTAVO_UNITY OR folder IN_LIST OCTAVO_FOLDERS_BY_FILE))  # there sources have their own levels of -O
      octavo_precompile(octavo_${folder})
    endif()
  else()
    add_library(octavo_${folder} INTERFACE)
    target_link_libraries(octavo_${folder} INTERFACE ${ARG_USES})
  endif()
endfunction()

# octavo_executable(octavo FOLDER src/cli USES ...)
function(octavo_executable name)
  cmake_parse_arguments(ARG "" "FOLDER" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${ARG_FOLDER}/*.cpp)
  if(sources)
    add_executable(${name} ${sources})
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE ${ARG_USES})
  endif()
endfunction()

# octavo_openmp: the OpenMP runtime that oneDNN calls, which is GCC's. Clang would bring a second one, with other threads and settings.
function(octavo_find_openmp)
  add_library(octavo_openmp INTERFACE)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    execute_process(COMMAND g++ -print-file-name=include OUTPUT_VARIABLE gcc_headers OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    execute_process(COMMAND g++ -print-file-name=libgomp.so OUTPUT_VARIABLE gomp OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    target_compile_options(octavo_openmp INTERFACE "SHELL:-idirafter ${gcc_headers}")
    target_link_libraries(octavo_openmp INTERFACE ${gomp})
  else()
    find_package(OpenMP REQUIRED)
    target_link_libraries(octavo_openmp INTERFACE OpenMP::OpenMP_CXX)
  endif()
endfunction()
