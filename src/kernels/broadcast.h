// Broadcast: numpy broadcasting reduced to a few loops over rows. Part of kernels/.
#ifndef OCTAVO_KERNELS_BROADCAST_H_
#define OCTAVO_KERNELS_BROADCAST_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/shape.h"
#include "kernels/call.h"

namespace octavo {

inline constexpr int kMaxBroadcast = 3;  // operands

// A block of rows that lie at equal distances: row r of operand k starts at offset[k] + r * row_stride[k], its elements
// are step[k] (0 or 1) apart. Rows of the result are dense: they start at y_offset + r * n.
struct RowBlock {
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t y_offset = 0;
  std::array<std::int64_t, kMaxBroadcast> offset{};
  std::array<std::int64_t, kMaxBroadcast> row_stride{};
  std::array<int, kMaxBroadcast> step{};
};

// The result's axes with axes of size 1 dropped and neighbours merged where every operand allows it.
class Broadcast {
 public:
  // The operands' shapes must broadcast to `result`.
  Broadcast(const Shape& result, std::span<const Shape* const> operands);

  std::int64_t items() const { return chunks_.items(); }
  // Calls visit(RowBlock) for the blocks that these items consist of.
  template <class Visit>
  void for_blocks(ItemRange items_range, Visit visit) const {
    const ItemRange units = chunks_.units_of(items_range);
    if (rows_ == 1) {
      visit(part_of_row(units));
      return;
    }
    for (std::int64_t row = units.begin; row < units.end;) {
      const RowBlock block = block_at(row, units.end);
      visit(block);
      row += block.rows;
    }
  }

 private:
  RowBlock part_of_row(ItemRange elements) const;
  RowBlock block_at(std::int64_t row, std::int64_t end) const;

  std::vector<std::int64_t> dims_;  // at least two
  std::vector<std::array<std::int64_t, kMaxBroadcast>> strides_;
  std::int64_t rows_ = 1;  // product of all but the last
  Chunks chunks_;          // of rows, or of elements where there is only one row
};

// Where rows of two operands and their results lie, for the row functions of a family: their pointers say the element
// types.
template <class Rows>
void place_rows(Rows& rows, const RowBlock& block, const StepBuffers& buffers) {
  rows.a = reinterpret_cast<decltype(rows.a)>(buffers.inputs[0]) + block.offset[0];
  rows.b = reinterpret_cast<decltype(rows.b)>(buffers.inputs[1]) + block.offset[1];
  rows.y = reinterpret_cast<decltype(rows.y)>(buffers.outputs[0]) + block.y_offset;
  rows.rows = block.rows;
  rows.n = block.n;
  rows.a_row_stride = block.row_stride[0];
  rows.b_row_stride = block.row_stride[1];
  rows.a_step = block.step[0];
  rows.b_step = block.step[1];
}

}  // namespace octavo

#endif  // OCTAVO_KERNELS_BROADCAST_H_
