// The pretended driver as a test has it, and runs of one input and one output by it. Part of the tests of cuda/.
#ifndef OCTAVO_TESTS_CUDA_PRETENDED_H_
#define OCTAVO_TESTS_CUDA_PRETENDED_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "artifact/artifact.h"
#include "cuda/fake/fake_cuda.h"
#include "run/device.h"
#include "support/small_graphs.h"

namespace octavo::testing {

// The pretended driver of this process, as it was when it came.
class Fake {
 public:
  Fake() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    const auto find = reinterpret_cast<FakeCuda* (*)()>(library_ == nullptr ? nullptr : dlsym(library_, "fake_cuda"));
    if (find == nullptr) return;
    state_ = find();
    *state_ = {};
  }
  ~Fake() {
    if (state_ == nullptr) return;
    EXPECT_EQ(state_->live, 0) << "not given back";
    EXPECT_EQ(state_->current, 0) << "contexts that are still current";
    EXPECT_EQ(state_->wrong, 0) << "calls that a driver would refuse, or worse";
    *state_ = {};
  }
  bool is_there() const { return state_ != nullptr; }
  FakeCuda* operator->() const { return state_; }

 private:
  void* library_;
  FakeCuda* state_ = nullptr;
};

inline Result<std::shared_ptr<const Model>> load_for(const std::string& target, const Graph& graph,
                                                     const LoadOptions& options = {.threads = 1}) {
  return load_model(compile_graphs({&graph}, *machine_for_target(target)), options);
}

// The answer of a context to one input, of the type and shape of its plan's.
inline Result<Tensor> answer(Context& context, const Tensor& x) {
  Tensor y(context.plan().output(0).dtype, Shape(context.plan().output(0).shape));
  const ConstTensorView in = x.view();
  const TensorView out = y.view();
  if (Status status = context.run({&in, 1}, {&out, 1}); !status) return status.errors();
  return y;
}

inline Result<Tensor> answer_on(const std::string& target, const Graph& graph, const Tensor& x) {
  auto model = load_for(target, graph);
  if (!model) return model.errors();
  auto context = Context::create(*model);
  if (!context) return context.errors();
  return answer(*context, x);
}

inline bool are_equal(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

inline void expect_said(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << text;
}

inline const Tensor kX = random_bytes(Shape{1, 8, 64}, 5);

// Of a run whose input lies in the device's memory, and its output.
inline Result<Tensor> answer_there(Context& context, const Tensor& x) {
  Tensor y(DType::u8, Shape(context.plan().output(0).shape));
  auto in = linked_devices()->upload({x.data(), x.bytes()}, 0),
       out = linked_devices()->upload({y.data(), y.bytes()}, 0);
  if (!in || !out) return (in ? out : in).errors();
  const ConstTensorView input{DType::u8, x.shape(), in->get()};
  const TensorView output{DType::u8, y.shape(), out->get()};
  if (Status status = context.run({&input, 1}, {&output, 1}); !status) return status.errors();
  std::memcpy(y.data(), out->get(), y.bytes());  // the pretended device's is this process's
  return y;
}

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_CUDA_PRETENDED_H_
