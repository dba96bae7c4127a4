// NVIDIA's libraries of convolutions and products, found by name when a plan has calls of them: no program links them.
// Part of cuda/.
#ifndef OCTAVO_CUDA_LIBRARIES_LIBRARIES_H_
#define OCTAVO_CUDA_LIBRARIES_LIBRARIES_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "cuda/arguments.h"
#include "cuda/driver.h"

namespace octavo::cuda {

enum class Library : std::uint8_t { cudnn, cublaslt };

// y = conv(x, w) + bias + residual, and then what is below 0 is 0; f32, x [N,H,W,C], w [OC,KH,KW,C], bias [OC],
// residual and y [N,OH,OW,OC]. Factors are rounded to tf32. A product of cuBLASLt is one of 1x1 over all pixels.
struct LibraryConv {
  WindowArgs window;
  std::int32_t images = 1;
  bool has_residual = false;
  bool has_relu = false;

  std::int64_t pixels() const { return std::int64_t{1} * images * window.out_height * window.out_width; }
};

// Where the operands of a call lie, in this order; of one without a residual that is y.
enum LibraryOperand : std::size_t { kCallX, kCallWeights, kCallBias, kCallResidual, kCallY, kCallWorkspace };
using LibraryAddresses = std::array<Address, kCallWorkspace + 1>;

// What a library was told of a convolution, and has chosen for it.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual std::uint64_t workspace_bytes() const = 0;
  // By one thread at a time. Error: resource.
  virtual Status enqueue(const LibraryAddresses& operands, StreamHandle stream) const = 0;
};

// A library at work for the device that was current when it was opened; its calls come to an end before it does.
class OpenLibrary {
 public:
  virtual ~OpenLibrary() = default;
  virtual Result<std::unique_ptr<LibraryCall>> prepare(const LibraryConv& conv) = 0;
};
// Errors: resource, saying what is missing.
Result<std::unique_ptr<OpenLibrary>> open_cudnn(const std::string& library = "libcudnn.so.9");
Result<std::unique_ptr<OpenLibrary>> open_cublaslt(const std::string& library = "libcublasLt.so.13");

// Those that a plan asks for, each opened once. Everything while the device is current.
class Libraries {
 public:
  // `name` of the step, for messages. Errors: those of opening; resource, where the library has no way to compute it.
  Result<std::unique_ptr<LibraryCall>> prepare(Library library, const LibraryConv& conv, const std::string& name);
  // Of one of its calls, from any thread.
  Status enqueue(const LibraryCall& call, const LibraryAddresses& operands, StreamHandle stream);

 private:
  std::array<std::unique_ptr<OpenLibrary>, 2> open_;
  std::mutex mutex_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_LIBRARIES_LIBRARIES_H_
