// The part of cuBLASLt 13's interface that is called here, as its headers have it. Part of cuda/.
#ifndef OCTAVO_CUDA_LIBRARIES_CUBLASLT_H_
#define OCTAVO_CUDA_LIBRARIES_CUBLASLT_H_

#include <cstddef>
#include <cstdint>

#include "cuda/driver.h"

namespace octavo::cuda::cublaslt {

using Handle = struct HandleTag*;
using Product = struct ProductTag*;        // cublasLtMatmulDesc_t
using Matrix = struct MatrixTag*;          // cublasLtMatrixLayout_t, columns one after the other
using Preference = struct PreferenceTag*;  // cublasLtMatmulPreference_t

// Values of its enumerations; of attributes what is set by them.
inline constexpr int kFloat = 0, kTf32Products = 77, kTransposed = 1;
inline constexpr int kTransposeA = 3, kEpilogue = 7, kBiasPointer = 8;                    // of a product
inline constexpr std::uint32_t kBiasEpilogue = 4, kReluBiasEpilogue = 6;                  // values of kEpilogue
inline constexpr int kMostWorkspace = 1;                                                  // of a preference
inline constexpr int kAlignmentA = 5, kAlignmentB = 6, kAlignmentC = 7, kAlignmentD = 8;  // likewise

// cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t
struct Algorithm {
  std::uint64_t data[8] = {};
};
struct Proposal {
  Algorithm algorithm;
  std::size_t workspace = 0;
  int status = 0;
  float waves = 0.0f;
  int reserved[4] = {};
};

// By its own names without "cublasLt". All but error_text return 0 or an error code.
struct Functions {
  int (*create)(Handle* handle);
  int (*destroy)(Handle handle);
  const char* (*error_text)(int code);
  int (*create_product)(Product* product, int compute_type, int scale_type);
  int (*destroy_product)(Product product);
  int (*set_product)(Product product, int attribute, const void* value, std::size_t bytes);
  int (*create_matrix)(Matrix* matrix, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride);
  int (*destroy_matrix)(Matrix matrix);
  int (*create_preference)(Preference* preference);
  int (*destroy_preference)(Preference preference);
  int (*set_preference)(Preference preference, int attribute, const void* value, std::size_t bytes);
  int (*choose)(Handle handle, Product product, Matrix a, Matrix b, Matrix c, Matrix d, Preference preference,
                int wanted, Proposal* proposals, int* found);
  int (*multiply)(Handle handle, Product product, const void* alpha, const void* a_data, Matrix a, const void* b_data,
                  Matrix b, const void* beta, const void* c_data, Matrix c, void* d_data, Matrix d,
                  const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, StreamHandle stream);
};

}  // namespace octavo::cuda::cublaslt

#endif  // OCTAVO_CUDA_LIBRARIES_CUBLASLT_H_
