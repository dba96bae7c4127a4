// A schedule is a number for each knob of a kernel: how that kernel goes about one call. The bits of the results do not
// depend on it. Part of kernels/.
#ifndef OCTAVO_KERNELS_SCHEDULE_H_
#define OCTAVO_KERNELS_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/kernel.h"

namespace octavo {

// As PlanStep::schedule: four bytes each, the lowest first. Numbers from 0 to 2^31 - 1.
std::vector<std::byte> encode_schedule(std::span<const std::int64_t> numbers);
// What that made of `count` numbers; else nothing.
std::optional<std::vector<std::int64_t>> decode_schedule(std::span<const std::byte> bytes, std::size_t count);

// "tiles=2 chunks=4" of a schedule that `code` has the knobs of; "" of an empty one, which leaves it to the kernel.
std::string schedule_text(const KernelCode& code, std::span<const std::byte> schedule);
// The same backwards; nothing where the text is not that of such a schedule.
std::optional<std::vector<std::byte>> parse_schedule(const KernelCode& code, std::string_view text);

}  // namespace octavo

#endif  // OCTAVO_KERNELS_SCHEDULE_H_
