# An example of a toolchain file for Android's NDK: the runtime library for 64-bit Arm phones. It sets what has to be said and leaves the rest to the file that the NDK has.
#   export ANDROID_NDK=/where/it/is
#   cmake -S . -B build/android -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/android.cmake -DCMAKE_BUILD_TYPE=MinSizeRel -DOCTAVO_RUNTIME_ONLY=ON -DXXHASH_INCLUDE=/folder/of/xxhash.h
#   cmake --build build/android --target octavo_runtime
# Written after the NDK's documentation; the compiler of this project's own tests is Debian's clang (cmake/arm64-clang.cmake). std::stop_token asks for an NDK whose libc++ has it:
# r27 and newer, behind -fexperimental-library.
if(NOT DEFINED ENV{ANDROID_NDK})
  message(FATAL_ERROR "ANDROID_NDK is not set: the folder of the NDK was expected in it")
endif()
set(ANDROID_ABI arm64-v8a)
set(ANDROID_PLATFORM android-26)
set(ANDROID_STL c++_static)
set(CMAKE_CXX_FLAGS_INIT -fexperimental-library)
include($ENV{ANDROID_NDK}/build/cmake/android.toolchain.cmake)
