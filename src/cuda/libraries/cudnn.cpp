// Convolutions by cuDNN. Part of cuda/.
#include "cuda/libraries/cudnn.h"

#include "cuda/finder.h"
#include "cuda/libraries/session.h"

namespace octavo::cuda::cudnn {
namespace {

std::string find_all(void* library, Functions& f) {
  Finder in(library);
  in.find(f.create, "cudnnCreate");
  in.find(f.destroy, "cudnnDestroy");
  in.find(f.set_stream, "cudnnSetStream");
  in.find(f.error_text, "cudnnGetErrorString");
  in.find(f.create_tensor, "cudnnCreateTensorDescriptor");
  in.find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  in.find(f.set_tensor, "cudnnSetTensor4dDescriptor");
  in.find(f.create_filter, "cudnnCreateFilterDescriptor");
  in.find(f.destroy_filter, "cudnnDestroyFilterDescriptor");
  in.find(f.set_filter, "cudnnSetFilter4dDescriptor");
  in.find(f.create_conv, "cudnnCreateConvolutionDescriptor");
  in.find(f.destroy_conv, "cudnnDestroyConvolutionDescriptor");
  in.find(f.set_conv, "cudnnSetConvolution2dDescriptor");
  in.find(f.set_math, "cudnnSetConvolutionMathType");
  in.find(f.create_activation, "cudnnCreateActivationDescriptor");
  in.find(f.destroy_activation, "cudnnDestroyActivationDescriptor");
  in.find(f.set_activation, "cudnnSetActivationDescriptor");
  in.find(f.choose, "cudnnGetConvolutionForwardAlgorithm_v7");
  in.find(f.convolve, "cudnnConvolutionBiasActivationForward");
  return in.missing();
}

using Session = LibrarySession<Functions, Handle>;

class Call final : public LibraryCall {
 public:
  explicit Call(const Session& session) : session_(session) {}

  Status prepare(const LibraryConv& conv) {
    has_residual_ = conv.has_residual;
    if (Status status = make_all(); !status) return status;
    if (Status status = describe(conv); !status) return status;
    return choose(conv);
  }

  std::uint64_t workspace_bytes() const override { return algorithm_.memory; }

  Status enqueue(const LibraryAddresses& operands, StreamHandle stream) const override {
    const Functions& f = session_.functions();
    const auto at = [&](LibraryOperand operand) { return reinterpret_cast<void*>(operands[operand]); };
    if (Status status = session_.check(f.set_stream(session_.handle(), stream), "giving cuDNN a stream"); !status)
      return status;
    const float one = 1.0f, of_residual = has_residual_ ? 1.0f : 0.0f;
    const int code = f.convolve(session_.handle(), &one, x_.get(), at(kCallX), w_.get(), at(kCallWeights), conv_.get(),
                                algorithm_.number, at(kCallWorkspace), algorithm_.memory, &of_residual, y_.get(),
                                at(kCallResidual), bias_.get(), at(kCallBias), activation_.get(), y_.get(), at(kCallY));
    // The stream comes to an end with its context, the handle with the plan.
    const int left = f.set_stream(session_.handle(), nullptr);
    Status called = session_.check(code, "enqueueing a convolution of cuDNN");
    return called ? session_.check(left, "taking the stream from cuDNN") : called;
  }

 private:
  Status make_all() {
    const Functions& f = session_.functions();
    for (Owned<TensorDescriptor>* tensor : {&x_, &y_, &bias_}) {
      if (Status status = session_.make(*tensor, f.create_tensor, f.destroy_tensor); !status) return status;
    }
    if (Status status = session_.make(w_, f.create_filter, f.destroy_filter); !status) return status;
    if (Status status = session_.make(conv_, f.create_conv, f.destroy_conv); !status) return status;
    return session_.make(activation_, f.create_activation, f.destroy_activation);
  }

  Status describe(const LibraryConv& conv) {
    const Functions& f = session_.functions();
    const WindowArgs& w = conv.window;
    const int activation = conv.has_relu ? kReluActivation : kIdentityActivation;
    for (const int code :
         {f.set_tensor(x_.get(), kNhwc, kFloat, conv.images, w.channels, w.height, w.width),
          f.set_tensor(y_.get(), kNhwc, kFloat, conv.images, w.out_channels, w.out_height, w.out_width),
          f.set_tensor(bias_.get(), kNhwc, kFloat, 1, w.out_channels, 1, 1),
          f.set_filter(w_.get(), kFloat, kNhwc, w.out_channels, w.channels, w.kernel_h, w.kernel_w),
          f.set_conv(conv_.get(), w.pad_top, w.pad_left, w.stride_h, w.stride_w, w.dilation_h, w.dilation_w,
                     kCrossCorrelation, kFloat),
          f.set_math(conv_.get(), kDefaultMath), f.set_activation(activation_.get(), activation, kPropagateNan, 0.0)}) {
      if (Status status = session_.check(code, "describing a convolution to cuDNN"); !status) return status;
    }
    return ok_status();
  }

  // The first that it proposes: without an activation only one will do.
  Status choose(const LibraryConv& conv) {
    constexpr std::size_t kMostWorkspace = std::size_t{1} << 30;
    const Functions& f = session_.functions();
    std::array<Algorithm, kAlgorithms> proposed;
    int count = 0;
    const int code =
        f.choose(session_.handle(), x_.get(), w_.get(), conv_.get(), y_.get(), kAlgorithms, &count, proposed.data());
    if (Status status = session_.check(code, "asking cuDNN for an algorithm"); !status) return status;
    for (int i = 0; i < count; ++i) {
      const Algorithm& algorithm = proposed[static_cast<std::size_t>(i)];
      const bool will_do = conv.has_relu || algorithm.number == kImplicitPrecompGemm;
      if (algorithm.status != 0 || algorithm.memory > kMostWorkspace || !will_do) continue;
      algorithm_ = algorithm;
      return session_.check(f.set_math(conv_.get(), algorithm.math), "describing a convolution to cuDNN");
    }
    return library_failed("asking cuDNN for an algorithm", "none that computes it within 1 GiB of memory", count);
  }

  const Session& session_;
  bool has_residual_ = false;
  Owned<TensorDescriptor> x_, y_, bias_;
  Owned<FilterDescriptor> w_;
  Owned<ConvDescriptor> conv_;
  Owned<ActivationDescriptor> activation_;
  Algorithm algorithm_;
};

}  // namespace

}  // namespace octavo::cuda::cudnn

namespace octavo::cuda {

Result<std::unique_ptr<OpenLibrary>> open_cudnn(const std::string& library) {
  return open_by<cudnn::Call, cudnn::Functions, cudnn::Handle>(cudnn::find_all, {"cuDNN", library});
}

}  // namespace octavo::cuda
