// The memory of values that are read later. Part of quantize/.
#include "quantize/live_memory.h"

#include <algorithm>
#include <cstring>

#include "plan/dataflow.h"

namespace octavo {
namespace {

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
  std::vector<LiveMemory> live;
  for (const std::vector<ValueIndex>& values : live_after(plan)) {
    LiveMemory& memory = live.emplace_back();
    for (const ValueIndex index : values) {
      const PlanValue& value = plan.value(index);
      if (value.place == Place::arena) add(memory.arena, {value.offset, value.offset + value.bytes()});
      memory.has_inputs = memory.has_inputs || value.place == Place::input;
    }
  }
  return live;
}

}  // namespace octavo
