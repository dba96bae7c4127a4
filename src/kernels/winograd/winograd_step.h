// What one target of the winograd family offers to the kernel table: refusal, cost, pack, prepare. Internal to
// kernels/winograd/.
#ifndef OCTAVO_KERNELS_WINOGRAD_WINOGRAD_STEP_H_
#define OCTAVO_KERNELS_WINOGRAD_WINOGRAD_STEP_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/choice.h"
#include "kernels/winograd/geometry.h"

namespace octavo {

inline constexpr WinogradTarget kWinograd512{kPairs512, kTileVnni512, &kWinogradAvx512};
inline constexpr WinogradTarget kWinograd256{kPairs256, kTileVnni256, &kWinogradAvx2};
inline constexpr WinogradTarget kWinograd256Evex{kPairs256Evex, kTileVnni256Evex, &kWinogradAvx2};
inline constexpr WinogradTarget kWinogradPairsAvx2{kPairsAvx2, kTileAvx2Bytes, &kWinogradAvx2};
inline constexpr WinogradTarget kWinogradPairsNeon{kPairsNeon, kPairsNeon, &kWinogradNeon};

// Predicted cycles of a whole call on one thread, all sums in one part.
struct WinogradCycles {
  double products = 0, input = 0, outputs = 0;
};
WinogradCycles winograd_cycles(const WinogradGeometry& geometry, const WinogradTarget& target,
                               const MachineSpeeds& speeds);

std::string winograd_refusal(const OpCall& call, const WinogradTarget& target);
double winograd_cost(const OpCall& call, const Machine& machine, const WinogradTarget& target);
std::vector<Candidate> winograd_candidates(const OpCall& call, const Machine& machine, int threads,
                                           const WinogradTarget& target);
std::string winograd_schedule_refusal(const OpCall& call, std::span<const std::byte> schedule,
                                      const WinogradTarget& target);

// weights s8 [block][pair][vector][tap][lane][2], bias s32 and multiplier f32 per lane, the table as it is, parts s32
// [block]. Multiplier and table only where the operator has them.
std::vector<Tensor> pack_winograd(const OpCall& call, const WinogradTarget& target);
Result<std::unique_ptr<Step>> prepare_winograd(const StepSpec& spec, const WinogradTarget& target);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_WINOGRAD_WINOGRAD_STEP_H_
