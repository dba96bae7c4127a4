// The part of cuDNN 9's interface that is called here, as its headers have it. Part of cuda/.
#ifndef OCTAVO_CUDA_LIBRARIES_CUDNN_H_
#define OCTAVO_CUDA_LIBRARIES_CUDNN_H_

#include <cstddef>

#include "cuda/driver.h"

namespace octavo::cuda::cudnn {

using Handle = struct HandleTag*;
using TensorDescriptor = struct TensorTag*;
using FilterDescriptor = struct FilterTag*;
using ConvDescriptor = struct ConvTag*;
using ActivationDescriptor = struct ActivationTag*;

// Values of its enumerations.
inline constexpr int kFloat = 0, kNhwc = 1, kCrossCorrelation = 1, kPropagateNan = 1;
inline constexpr int kReluActivation = 1, kIdentityActivation = 5;
inline constexpr int kDefaultMath = 0;  // f32 by tensor cores, whose factors are of tf32
inline constexpr int kImplicitPrecompGemm = 1, kAlgorithms = 8;

// cudnnConvolutionFwdAlgoPerf_t
struct Algorithm {
  int number = 0;
  int status = 0;
  float time = 0.0f;
  std::size_t memory = 0;
  int determinism = 0;
  int math = 0;
  int reserved[3] = {};
};

// By its own names without "cudnn". All but error_text return 0 or an error code.
struct Functions {
  int (*create)(Handle* handle);
  int (*destroy)(Handle handle);
  int (*set_stream)(Handle handle, StreamHandle stream);
  const char* (*error_text)(int code);
  int (*create_tensor)(TensorDescriptor* tensor);
  int (*destroy_tensor)(TensorDescriptor tensor);
  int (*set_tensor)(TensorDescriptor tensor, int format, int type, int n, int c, int h, int w);
  int (*create_filter)(FilterDescriptor* filter);
  int (*destroy_filter)(FilterDescriptor filter);
  int (*set_filter)(FilterDescriptor filter, int type, int format, int k, int c, int h, int w);
  int (*create_conv)(ConvDescriptor* conv);
  int (*destroy_conv)(ConvDescriptor conv);
  int (*set_conv)(ConvDescriptor conv, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                  int mode, int type);
  int (*set_math)(ConvDescriptor conv, int math);
  int (*create_activation)(ActivationDescriptor* activation);
  int (*destroy_activation)(ActivationDescriptor activation);
  int (*set_activation)(ActivationDescriptor activation, int mode, int nan, double coefficient);
  int (*choose)(Handle handle, TensorDescriptor x, FilterDescriptor w, ConvDescriptor conv, TensorDescriptor y,
                int wanted, int* found, Algorithm* algorithms);
  int (*convolve)(Handle handle, const void* alpha, TensorDescriptor x, const void* x_data, FilterDescriptor w,
                  const void* w_data, ConvDescriptor conv, int algorithm, void* workspace, std::size_t workspace_bytes,
                  const void* alpha_residual, TensorDescriptor residual, const void* residual_data,
                  TensorDescriptor bias, const void* bias_data, ActivationDescriptor activation, TensorDescriptor y,
                  void* y_data);
};

}  // namespace octavo::cuda::cudnn

#endif  // OCTAVO_CUDA_LIBRARIES_CUDNN_H_
