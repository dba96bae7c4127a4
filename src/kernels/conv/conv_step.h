// What one target of the conv family offers to the kernel table: refusal, cost, pack, prepare. Internal to
// kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_CONV_STEP_H_
#define OCTAVO_KERNELS_CONV_CONV_STEP_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "kernels/conv/geometry.h"
#include "kernels/epilogue/parts.h"

namespace octavo {

// The position of what an addition reads where y may overwrite it, or -1: it is read just before y is written.
int residual_in_place(const OpCall& call);

ConvGeometry geometry_of(const OpCall& call, const TileTarget& target);
double conv_cost(const OpCall& call, const Machine& machine, const TileTarget& target);
// What decides about the schedules of a call.
struct ScheduledConv {
  const TileTarget& target;
  ConvGeometry geometry;
  bool has_table = false;
};
ScheduledConv scheduled_conv(const OpCall& call, const TileTarget& target);
std::vector<Candidate> conv_candidates(const ScheduledConv& conv, const Machine& machine, int threads);
std::string conv_schedule_refusal(const ScheduledConv& conv, const Machine& machine,
                                  std::span<const std::byte> schedule);

std::string conv_refusal(const OpCall& call, const TileTarget& target);

// weights s8 (arm64 dotprod: u8) [block][row][tap][dword][vector][lane][4] (AVX2: s8 or s16
// [dword][parity][vector][lane][2]), bias s32 and multiplier f32 per lane (then the rest of the bias per lane, where
// there is one), w_offset s32 per lane where tiles sum x, table as it is. Multiplier, w_offset and table only where the
// operator has them.
std::vector<Tensor> pack_conv(const OpCall& call, const TileTarget& target);
std::vector<std::int64_t> packed_conv_layout(const OpCall& call, const TileTarget& target);
Result<std::unique_ptr<Step>> prepare_conv(const StepSpec& spec, const TileTarget& target);
// kTileAmx, packed in the same way: 16 dwords of a vector are the rows of a tile register.
Result<std::unique_ptr<Step>> prepare_amx(const StepSpec& spec);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_CONV_STEP_H_
