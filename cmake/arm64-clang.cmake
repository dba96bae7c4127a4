# Cross building for aarch64 Linux by clang, as the NDK has it, over the libraries of cmake/arm64.cmake: what the runtime library is shown to build with.
include(${CMAKE_CURRENT_LIST_DIR}/arm64.cmake)
set(CMAKE_C_COMPILER clang-16)
set(CMAKE_CXX_COMPILER clang++-16)
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT --gcc-toolchain=/usr)
set(CMAKE_C_FLAGS_INIT --gcc-toolchain=/usr)
