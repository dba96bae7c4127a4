// The fat binary of all kernels as a library that programs open when they need it, and the release whose launches they
// take. Part of cuda/device/.
        .section .rodata, "a", @progbits
        .global octavo_cuda_image
        .type octavo_cuda_image, @object
        .balign 64
octavo_cuda_image:
        .incbin OCTAVO_FAT_BINARY
octavo_cuda_image_end:
        .size octavo_cuda_image, octavo_cuda_image_end - octavo_cuda_image

        .global octavo_cuda_version
        .type octavo_cuda_version, @object
octavo_cuda_version:
        .asciz OCTAVO_VERSION
        .size octavo_cuda_version, . - octavo_cuda_version

        .section .note.GNU-stack, "", @progbits
