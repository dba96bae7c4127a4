// What the two families of quantized_conv share: refusals, constants of channels, the epilogue. Part of cuda/.
#ifndef OCTAVO_CUDA_CONV_CALL_H_
#define OCTAVO_CUDA_CONV_CALL_H_

#include <string>
#include <vector>

#include "cuda/launch.h"
#include "kernels/epilogue/parts.h"

namespace octavo::cuda {

// Of both families, whatever the groups are.
std::string refuse_conv(const CallView& call);
// At compile time: constants that pack needs, and operands that must not be constants, which it would drop.
std::string refuse_variables(const OpCall& call);

// Channels in groups, with room behind those of each.
struct ChannelLayout {
  std::int64_t groups, channels, padded;
};
// Appends four tensors: bias, multiplier, rest and table; empty ones where there are none.
void add_channel_constants(const OpCall& call, const ChannelLayout& layout, std::vector<Tensor>& packed);

class ConvEpilogue {
 public:
  ConvEpilogue(const CallView& call, const StepSpec& spec);
  // Whether those four are there from `first` on, and nothing that a run reads was packed.
  bool is_packed(std::size_t first, std::int64_t channels) const;

  // Fills in bias, other, y and epilogue.
  template <class Arguments>
  void place(LaunchMaker<Arguments>& maker, std::size_t first) const {
    Arguments& args = maker.arguments;
    args.epilogue = parts_.for_rows(spec_);
    maker.point(args.bias, Operand::packed, first);
    maker.point_if(parts_.multiplier >= 0, args.epilogue.multiplier, Operand::packed, first + 1);
    maker.point_if(parts_.rest >= 0, args.epilogue.rest, Operand::packed, first + 2);
    maker.point_if(parts_.table >= 0, args.epilogue.table, Operand::packed, first + 3);
    maker.point_if(parts_.other >= 0, args.other, Operand::input, static_cast<std::size_t>(parts_.other));
    maker.point(args.y, Operand::output, 0);
  }

 private:
  const StepSpec& spec_;
  DType to_;
  EpilogueParts parts_;
};

}  // namespace octavo::cuda

#endif  // OCTAVO_CUDA_CONV_CALL_H_
