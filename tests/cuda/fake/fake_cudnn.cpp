// The functions of cuDNN that src/cuda/libraries/cudnn.cpp asks for, in plain loops. Built as libcudnn.so.9.
#include <array>

#include "cuda/fake/fake_library.h"
#include "cuda/libraries/cudnn.h"

namespace {

using namespace octavo::testing::fake;
using octavo::cuda::cudnn::Algorithm;

struct Handle : Library {
  void* stream = nullptr;
};
struct Tensor {
  int n = 0, c = 0, h = 0, w = 0;
};
struct Conv {
  std::array<int, 2> pad{}, stride{}, dilation{};
  int math = -1;
};
struct Activation {
  int mode = -1;
};

constexpr int kNhwc = 1, kFloat = 0, kCrossCorrelation = 1, kRelu = 1, kIdentity = 5, kTensorMath = 1;
constexpr int kOfActivations = 6, kOfAll = 1;  // algorithms

int set(void* handle, const Tensor& tensor, int format, int type) {
  if (const int code = called_with_context()) return code;
  if (!is_given(handle) || format != kNhwc || type != kFloat) return kInvalid;
  *static_cast<Tensor*>(handle) = tensor;
  return 0;
}

struct Call {
  Tensor x, w, y;
  Conv conv;
  const float *x_data, *w_data, *bias, *residual;
  float* y_data;
  float of_residual;
  bool has_relu;

  float sum(int image, int row, int column, int channel) const {
    float total = 0.0f;
    for (int kh = 0; kh < w.h; ++kh) {
      for (int kw = 0; kw < w.w; ++kw) {
        const int h = row * conv.stride[0] + kh * conv.dilation[0] - conv.pad[0];
        const int v = column * conv.stride[1] + kw * conv.dilation[1] - conv.pad[1];
        if (h < 0 || h >= x.h || v < 0 || v >= x.w) continue;
        const float* pixel = x_data + ((image * x.h + h) * x.w + v) * x.c;
        const float* weights = w_data + ((channel * w.h + kh) * w.w + kw) * w.c;
        for (int c = 0; c < w.c; ++c) total += tf32(pixel[c]) * tf32(weights[c]);
      }
    }
    return total;
  }

  void run() const {
    int at = 0;
    for (int image = 0; image < y.n; ++image) {
      for (int pixel = 0; pixel < y.h * y.w; ++pixel) {
        for (int channel = 0; channel < y.c; ++channel, ++at) {
          float value = sum(image, pixel / y.w, pixel % y.w, channel) + bias[channel];
          if (of_residual != 0.0f) value += of_residual * residual[at];
          y_data[at] = has_relu && value < 0.0f ? 0.0f : value;
        }
      }
    }
  }
};

}  // namespace

extern "C" {

int cudnnCreate(void** handle) { return make<Handle>(handle); }
int cudnnDestroy(void* handle) { return destroy<Handle>(handle); }
int cudnnSetStream(void* handle, void* stream) {
  if (const int code = called_with_context()) return code;
  if (!is_given(handle)) return kInvalid;
  static_cast<Handle*>(handle)->stream = stream;
  return 0;
}
const char* cudnnGetErrorString(int code) { return text_of(code); }
int cudnnCreateTensorDescriptor(void** tensor) { return make<Tensor>(tensor); }
int cudnnDestroyTensorDescriptor(void* tensor) { return destroy<Tensor>(tensor); }
int cudnnSetTensor4dDescriptor(void* tensor, int format, int type, int n, int c, int h, int w) {
  return set(tensor, {n, c, h, w}, format, type);
}
int cudnnCreateFilterDescriptor(void** filter) { return make<Tensor>(filter); }
int cudnnDestroyFilterDescriptor(void* filter) { return destroy<Tensor>(filter); }
int cudnnSetFilter4dDescriptor(void* filter, int type, int format, int k, int c, int h, int w) {
  return set(filter, {k, c, h, w}, format, type);
}
int cudnnCreateConvolutionDescriptor(void** conv) { return make<Conv>(conv); }
int cudnnDestroyConvolutionDescriptor(void* conv) { return destroy<Conv>(conv); }
int cudnnSetConvolution2dDescriptor(void* conv, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type) {
  if (const int code = called_with_context()) return code;
  if (!is_given(conv) || mode != kCrossCorrelation || type != kFloat) return kInvalid;
  *static_cast<Conv*>(conv) = {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return 0;
}
int cudnnSetConvolutionMathType(void* conv, int math) {
  if (const int code = called_with_context()) return code;
  if (!is_given(conv)) return kInvalid;
  static_cast<Conv*>(conv)->math = math;
  return 0;
}
int cudnnCreateActivationDescriptor(void** activation) { return make<Activation>(activation); }
int cudnnDestroyActivationDescriptor(void* activation) { return destroy<Activation>(activation); }
int cudnnSetActivationDescriptor(void* activation, int mode, int, double) {
  if (const int code = called_with_context()) return code;
  if (!is_given(activation) || (mode != kRelu && mode != kIdentity)) return kInvalid;
  static_cast<Activation*>(activation)->mode = mode;
  return 0;
}
// One that fails, one that takes too much memory, one that works with activations alone, and one that always works.
int cudnnGetConvolutionForwardAlgorithm_v7(void* handle, void* x, void* w, void* conv, void* y, int wanted, int* found,
                                           Algorithm* algorithms) {
  if (const int code = called_with_context()) return code;
  for (const void* object : {handle, x, w, conv, y}) {
    if (!is_given(object)) return kInvalid;
  }
  *found = 0;
  if (wanted < 4) return kInvalid;
  if (!fake_cuda()->has_algorithms) return 0;
  algorithms[0] = {.number = kOfAll, .status = kInvalid};
  algorithms[1] = {.number = kOfAll, .memory = std::size_t{1} << 40};
  algorithms[2] = {.number = kOfActivations, .memory = kWorkspaceBytes, .math = kTensorMath};
  algorithms[3] = {.number = kOfAll, .memory = kWorkspaceBytes, .math = kTensorMath};
  *found = 4;
  return 0;
}
int cudnnConvolutionBiasActivationForward(void* handle, const float* alpha, void* x, const float* x_data, void* w,
                                          const float* w_data, void* conv, int algorithm, void* workspace,
                                          std::size_t workspace_bytes, const float* of_residual, void* residual,
                                          const float* residual_data, void* bias, const float* bias_data,
                                          void* activation, void* y, float* y_data) {
  if (const int code = called_with_context()) return code;
  note_call(handle);
  const Call call{of<Tensor>(x),
                  of<Tensor>(w),
                  of<Tensor>(y),
                  of<Conv>(conv),
                  x_data,
                  w_data,
                  bias_data,
                  residual_data,
                  y_data,
                  *of_residual,
                  of<Activation>(activation).mode == kRelu};
  const bool is_right = is_given(of<Handle>(handle).stream) && *alpha == 1.0f &&
                        algorithm == (call.has_relu ? kOfActivations : kOfAll) && call.conv.math == kTensorMath &&
                        of<Tensor>(bias).c == call.y.c && of<Tensor>(residual).c == call.y.c && call.x.n == call.y.n;
  if (!is_right) return kInvalid;
  return enqueue([=] {
    use_workspace(workspace, workspace_bytes);
    call.run();
  });
}

}  // extern "C"
