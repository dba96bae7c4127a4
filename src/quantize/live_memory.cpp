// Going through a plan from its end. Part of quantize/.
#include "quantize/live_memory.h"

#include <algorithm>
#include <cstring>

namespace octavo {
namespace {

ByteRange range_of(const PlanOperand& operand) {
  return {operand.offset,
          operand.offset + static_cast<std::uint64_t>(Shape(operand.shape).elements()) * size_of(operand.dtype)};
}

void add(std::vector<ByteRange>& ranges, ByteRange range) {
  if (range.begin == range.end) return;
  std::vector<ByteRange> joined;
  for (const ByteRange& other : ranges) {
    if (other.end < range.begin || other.begin > range.end) joined.push_back(other);
    else range = {std::min(range.begin, other.begin), std::max(range.end, other.end)};
  }
  joined.insert(std::upper_bound(joined.begin(), joined.end(), range,
                                 [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; }),
                range);
  ranges = std::move(joined);
}

void remove(std::vector<ByteRange>& ranges, const ByteRange& range) {
  std::vector<ByteRange> rest;
  for (const ByteRange& other : ranges) {
    if (other.begin < std::min(other.end, range.begin)) rest.push_back({other.begin, std::min(other.end, range.begin)});
    if (other.end > std::max(other.begin, range.end)) rest.push_back({std::max(other.begin, range.end), other.end});
  }
  ranges = std::move(rest);
}

}  // namespace

std::uint64_t LiveMemory::arena_bytes() const {
  std::uint64_t bytes = 0;
  for (const ByteRange& range : arena) bytes += range.end - range.begin;
  return bytes;
}

void LiveMemory::keep(const std::byte* from, Tensor& kept) const {
  const std::uint64_t bytes = arena_bytes();
  if (kept.bytes() < bytes || kept.bytes() / 2 > bytes) {
    kept = {};  // before there is another
    kept = Tensor(DType::u8, Shape{static_cast<std::int64_t>(bytes)});
  }
  std::byte* to = kept.data();
  for (const ByteRange& range : arena) to = std::copy(from + range.begin, from + range.end, to);
}

void LiveMemory::put_back(const Tensor& kept, std::byte* to) const {
  const std::byte* from = kept.data();
  for (const ByteRange& range : arena) {
    std::memcpy(to + range.begin, from, range.end - range.begin);
    from += range.end - range.begin;
  }
}

std::vector<LiveMemory> live_memory(const Plan& plan) {
  std::vector<LiveMemory> live(plan.steps.size());
  LiveMemory now;
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    live[s] = now;
    for (const PlanOperand& output : plan.steps[s].outputs) {
      if (output.place == Place::arena) remove(now.arena, range_of(output));
    }
    for (const PlanOperand& input : plan.steps[s].inputs) {
      if (input.place == Place::arena) add(now.arena, range_of(input));
      now.has_inputs = now.has_inputs || input.place == Place::input;
    }
  }
  return live;
}

}  // namespace octavo
