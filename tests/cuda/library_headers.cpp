// What src/cuda/libraries/ declares of cuDNN and cuBLASLt is what their headers say. Compiled where these are; nothing
// of it runs.
#include <cublasLt.h>
#include <cudnn.h>

#include <cstddef>
#include <type_traits>

#include "cuda/libraries/cublaslt.h"
#include "cuda/libraries/cudnn.h"

namespace octavo::cuda {
namespace {

// Passed alike: pointers as pointers, numbers and enumerations by their size.
template <class Ours, class Theirs>
constexpr bool are_passed_alike() {
  return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}
template <class R, class... A, class S, class... B>
constexpr bool are_alike(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) return false;
  else return are_passed_alike<R, S>() && (are_passed_alike<A, B>() && ...);
}

static_assert(are_alike(decltype(cudnn::Functions::create){}, decltype(&cudnnCreate){}));
static_assert(are_alike(decltype(cudnn::Functions::destroy){}, decltype(&cudnnDestroy){}));
static_assert(are_alike(decltype(cudnn::Functions::set_stream){}, decltype(&cudnnSetStream){}));
static_assert(are_alike(decltype(cudnn::Functions::error_text){}, decltype(&cudnnGetErrorString){}));
static_assert(are_alike(decltype(cudnn::Functions::create_tensor){}, decltype(&cudnnCreateTensorDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::destroy_tensor){}, decltype(&cudnnDestroyTensorDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::set_tensor){}, decltype(&cudnnSetTensor4dDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::create_filter){}, decltype(&cudnnCreateFilterDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::destroy_filter){}, decltype(&cudnnDestroyFilterDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::set_filter){}, decltype(&cudnnSetFilter4dDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::create_conv){}, decltype(&cudnnCreateConvolutionDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::destroy_conv){}, decltype(&cudnnDestroyConvolutionDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::set_conv){}, decltype(&cudnnSetConvolution2dDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::set_math){}, decltype(&cudnnSetConvolutionMathType){}));
static_assert(are_alike(decltype(cudnn::Functions::create_activation){}, decltype(&cudnnCreateActivationDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::destroy_activation){},
                        decltype(&cudnnDestroyActivationDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::set_activation){}, decltype(&cudnnSetActivationDescriptor){}));
static_assert(are_alike(decltype(cudnn::Functions::choose){}, decltype(&cudnnGetConvolutionForwardAlgorithm_v7){}));
static_assert(are_alike(decltype(cudnn::Functions::convolve){}, decltype(&cudnnConvolutionBiasActivationForward){}));

static_assert(sizeof(cudnn::Algorithm) == sizeof(cudnnConvolutionFwdAlgoPerf_t));
static_assert(offsetof(cudnn::Algorithm, status) == offsetof(cudnnConvolutionFwdAlgoPerf_t, status));
static_assert(offsetof(cudnn::Algorithm, memory) == offsetof(cudnnConvolutionFwdAlgoPerf_t, memory));
static_assert(offsetof(cudnn::Algorithm, math) == offsetof(cudnnConvolutionFwdAlgoPerf_t, mathType));
static_assert(cudnn::kFloat == CUDNN_DATA_FLOAT && cudnn::kNhwc == CUDNN_TENSOR_NHWC &&
              cudnn::kCrossCorrelation == CUDNN_CROSS_CORRELATION && cudnn::kPropagateNan == CUDNN_PROPAGATE_NAN &&
              cudnn::kReluActivation == CUDNN_ACTIVATION_RELU &&
              cudnn::kIdentityActivation == CUDNN_ACTIVATION_IDENTITY && cudnn::kDefaultMath == CUDNN_DEFAULT_MATH &&
              cudnn::kImplicitPrecompGemm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
              cudnn::kAlgorithms == CUDNN_CONVOLUTION_FWD_ALGO_COUNT);
static_assert(CUDNN_MAJOR == 9 && CUDNN_STATUS_SUCCESS == 0);

static_assert(are_alike(decltype(cublaslt::Functions::create){}, decltype(&cublasLtCreate){}));
static_assert(are_alike(decltype(cublaslt::Functions::destroy){}, decltype(&cublasLtDestroy){}));
static_assert(are_alike(decltype(cublaslt::Functions::error_text){}, decltype(&cublasLtGetStatusString){}));
static_assert(are_alike(decltype(cublaslt::Functions::create_product){}, decltype(&cublasLtMatmulDescCreate){}));
static_assert(are_alike(decltype(cublaslt::Functions::destroy_product){}, decltype(&cublasLtMatmulDescDestroy){}));
static_assert(are_alike(decltype(cublaslt::Functions::set_product){}, decltype(&cublasLtMatmulDescSetAttribute){}));
static_assert(are_alike(decltype(cublaslt::Functions::create_matrix){}, decltype(&cublasLtMatrixLayoutCreate){}));
static_assert(are_alike(decltype(cublaslt::Functions::destroy_matrix){}, decltype(&cublasLtMatrixLayoutDestroy){}));
static_assert(are_alike(decltype(cublaslt::Functions::create_preference){},
                        decltype(&cublasLtMatmulPreferenceCreate){}));
static_assert(are_alike(decltype(cublaslt::Functions::destroy_preference){},
                        decltype(&cublasLtMatmulPreferenceDestroy){}));
static_assert(are_alike(decltype(cublaslt::Functions::set_preference){},
                        decltype(&cublasLtMatmulPreferenceSetAttribute){}));
static_assert(are_alike(decltype(cublaslt::Functions::choose){}, decltype(&cublasLtMatmulAlgoGetHeuristic){}));
static_assert(are_alike(decltype(cublaslt::Functions::multiply){}, decltype(&cublasLtMatmul){}));

static_assert(sizeof(cublaslt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(cublaslt::Proposal) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(cublaslt::Proposal, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(cublaslt::Proposal, status) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(cublaslt::kFloat == CUDA_R_32F && cublaslt::kTf32Products == CUBLAS_COMPUTE_32F_FAST_TF32 &&
              cublaslt::kTransposed == CUBLAS_OP_T && cublaslt::kTransposeA == CUBLASLT_MATMUL_DESC_TRANSA &&
              cublaslt::kEpilogue == CUBLASLT_MATMUL_DESC_EPILOGUE &&
              cublaslt::kBiasPointer == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(cublaslt::kBiasEpilogue == CUBLASLT_EPILOGUE_BIAS &&
              cublaslt::kReluBiasEpilogue == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(cublaslt::kMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES &&
              cublaslt::kAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES &&
              cublaslt::kAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES &&
              cublaslt::kAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES &&
              cublaslt::kAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(CUBLAS_STATUS_SUCCESS == 0 && CUBLAS_VER_MAJOR == 13);

}  // namespace
}  // namespace octavo::cuda
