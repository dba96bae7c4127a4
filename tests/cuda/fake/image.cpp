// What the pretended driver takes for kernels, as liboctavo_cuda.so has them.
extern "C" {
extern const char octavo_cuda_image[] = "a pretended image";
extern const char octavo_cuda_version[] = OCTAVO_VERSION;
}
