// Elementary functions of f32 tensors that stand alone, in blocks. Part of onednn/.
#include <algorithm>
#include <array>

#include "kernels/call.h"
#include "onednn/engine.h"
#include "onednn/onednn.h"
#include "onednn/post_ops.h"

namespace octavo {
namespace {

using Desc = dnnl::memory::desc;

constexpr std::int64_t kBlock = 16384;  // elements: some 10 us, and both blocks stay in a level-2 cache

std::string refuse_unary(const CallView& call) {
  const auto& attrs = call.attrs->as<UnaryAttrs>();
  if (call.input(0).dtype != DType::f32) return "needs f32";
  // Off by 6e-7 where it is small (measured): a hundredth of softplus(-10).
  if (attrs.kind == UnaryKind::softplus) return "oneDNN's softplus is inexact near 0";
  if (!onednn::function_of(attrs)) return "oneDNN has no " + std::string(name_of(attrs.kind));
  return call.output().elements() < 1 ? "needs at least one element" : "";
}

// A primitive for blocks of one length.
struct OnednnEltwisePrimitive {
  Desc desc;
  dnnl::eltwise_forward compute;

  OnednnEltwisePrimitive(const onednn::EltwiseFunction& function, std::int64_t elements)
      : desc({elements}, dnnl::memory::data_type::f32, dnnl::memory::dims{1}) {
    const dnnl::eltwise_forward::desc description(dnnl::prop_kind::forward_inference, function.algorithm, desc,
                                                  function.alpha, function.beta);
    compute = dnnl::eltwise_forward({description, onednn::engine()});
  }
};

// The memory objects of one primitive for one thread.
struct OnednnEltwiseArguments {
  dnnl::memory src, dst;
  std::array<dnnl_exec_arg_t, 2> list;

  explicit OnednnEltwiseArguments(const OnednnEltwisePrimitive& primitive)
      : src(onednn::empty_memory(primitive.desc)),
        dst(onednn::empty_memory(primitive.desc)),
        list{dnnl_exec_arg_t{DNNL_ARG_SRC, src.get()}, dnnl_exec_arg_t{DNNL_ARG_DST, dst.get()}} {}
};

class EltwiseStep final : public Step {
 public:
  EltwiseStep(const onednn::EltwiseFunction& function, std::int64_t elements, int threads)
      : elements_(elements),
        full_(function, std::min(elements, kBlock)),
        last_(function, last_elements()),
        slots_(make_slots(threads)) {}

  std::int64_t items() const override { return (elements_ + kBlock - 1) / kBlock; }

  void run(const StepBuffers& buffers, ItemRange range) const noexcept override {
    if (range.begin >= range.end) return;
    const onednn::OneOpenMpThread one_thread;
    const auto slot = slots_.take();
    for (std::int64_t item = range.begin; item < range.end; ++item) {
      const bool is_last = item + 1 == items();
      const auto offset = static_cast<std::size_t>(item * kBlock) * sizeof(float);
      OnednnEltwiseArguments& arguments = is_last ? slot->last : slot->full;
      onednn::set_data(arguments.src, buffers.inputs[0] + offset);
      onednn::set_data(arguments.dst, buffers.outputs[0] + offset);
      onednn::execute((is_last ? last_ : full_).compute, arguments.list, *buffers.failure);
    }
  }

 private:
  struct Slot {
    OnednnEltwiseArguments full, last;
  };

  std::int64_t last_elements() const { return elements_ - (items() - 1) * kBlock; }
  std::vector<Slot> make_slots(int threads) const {
    std::vector<Slot> slots;
    for (int i = 0; i <= std::max(threads, 1); ++i)
      slots.push_back({OnednnEltwiseArguments(full_), OnednnEltwiseArguments(last_)});
    return slots;
  }

  std::int64_t elements_;
  OnednnEltwisePrimitive full_, last_;
  mutable onednn::SlotPool<Slot> slots_;
};

Result<std::unique_ptr<Step>> make_unary(const CallView& call, const StepSpec& spec) {
  return onednn::guarded("elementary function", [&]() -> Result<std::unique_ptr<Step>> {
    const onednn::OneOpenMpThread one_thread;
    onednn::stream();
    const auto function = onednn::function_of(call.attrs->as<UnaryAttrs>());
    return std::unique_ptr<Step>(std::make_unique<EltwiseStep>(*function, call.output().elements(), spec.threads));
  });
}

// Cascade Lake, 2.5 GHz: sigmoid and the like 0.5 to 1 ns per element; twice what our own kernels take for the
// functions that they have.
double onednn_eltwise_cost(const OpCall& call, const Machine&) {
  return 1500.0 + static_cast<double>(call.outputs[0].shape.elements());
}

int first_input(const OpCall&) { return 0; }

constexpr KernelChoice kOnednnEltwiseChoices[] = {{.code = {.name = "unary_f32_onednn",
                                                            .op = "unary",
                                                            .needs = Isa::avx2,
                                                            .prepare = prepare_by<refuse_unary, make_unary>,
                                                            .in_place_input = first_input},
                                                   .is_exact = false,
                                                   .refusal = refusal_by<refuse_unary>,
                                                   .cost = onednn_eltwise_cost}};
constexpr auto kOnednnEltwiseCodes = codes_of(kOnednnEltwiseChoices);

}  // namespace

std::span<const KernelCode> onednn_eltwise_codes() { return kOnednnEltwiseCodes; }
std::span<const KernelChoice> onednn_eltwise_choices() { return kOnednnEltwiseChoices; }

}  // namespace octavo
