# liboctavo_cuda.so: what devices execute, apart from all else. nvcc makes an image for each architecture from cuda/device/kernels.cu, and PTX, which a
# driver compiles for devices that came later; the library holds them as one fat binary. Spilled registers and local memory are errors.
set(OCTAVO_CUDA_ROOT ${CMAKE_SOURCE_DIR}/build/cuda-root/nvidia/cu13 CACHE PATH "where scripts/install-cuda.sh unpacked CUDA's compiler")
set(OCTAVO_CUDA_ARCHITECTURES 80 89 90a 100 CACHE STRING "compute capabilities to build images for; 90a: Hopper, with wgmma")
find_program(OCTAVO_NVCC nvcc PATHS ${OCTAVO_CUDA_ROOT}/bin NO_DEFAULT_PATH REQUIRED)
enable_language(ASM)

set(device_folder ${CMAKE_SOURCE_DIR}/src/cuda/device)
set(device_source ${device_folder}/kernels.cu)
set(device_output ${CMAKE_BINARY_DIR}/cuda)
file(MAKE_DIRECTORY ${device_output})
# Products and sums are rounded one by one, as on processors.
set(nvcc ${CMAKE_COMMAND} -E env TMPDIR=${device_output} ${OCTAVO_NVCC} -std=c++20 -O3 --expt-relaxed-constexpr -fmad=false -I${CMAKE_SOURCE_DIR}/src -I${CMAKE_SOURCE_DIR}/include -Werror all-warnings)

set(image_options)
set(images)
foreach(architecture ${OCTAVO_CUDA_ARCHITECTURES})
  set(image ${device_output}/kernels_sm${architecture}.cubin)
  add_custom_command(OUTPUT ${image}
    COMMAND ${nvcc} -arch=sm_${architecture} -cubin -Xptxas -warn-spills,-warn-lmem-usage -MD -MF ${image}.d -o ${image} ${device_source}
    DEPENDS ${device_source} DEPFILE ${image}.d VERBATIM)
  list(APPEND images ${image})
  list(APPEND image_options --image3=kind=elf,sm=${architecture},file=${image})
endforeach()
list(GET OCTAVO_CUDA_ARCHITECTURES 0 lowest)
set(ptx ${device_output}/kernels.ptx)
add_custom_command(OUTPUT ${ptx}
  COMMAND ${nvcc} -arch=compute_${lowest} -ptx -MD -MF ${ptx}.d -o ${ptx} ${device_source}
  DEPENDS ${device_source} DEPFILE ${ptx}.d VERBATIM)
set(fat ${device_output}/kernels.fatbin)
add_custom_command(OUTPUT ${fat}
  COMMAND ${OCTAVO_CUDA_ROOT}/bin/fatbinary --create=${fat} -64 ${image_options} --image3=kind=ptx,sm=${lowest},file=${ptx}
  DEPENDS ${images} ${ptx} VERBATIM)

set(image_source ${device_folder}/image.S)
set_source_files_properties(${image_source} PROPERTIES OBJECT_DEPENDS ${fat} COMPILE_DEFINITIONS "OCTAVO_FAT_BINARY=\"${fat}\";OCTAVO_VERSION=\"${PROJECT_VERSION}\"")
add_library(octavo_cuda_image SHARED ${image_source})
set_target_properties(octavo_cuda_image PROPERTIES OUTPUT_NAME octavo_cuda LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINKER_LANGUAGE CXX)
target_link_options(octavo_cuda_image PRIVATE -nostdlib)
