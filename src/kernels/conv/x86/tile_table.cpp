// The 256-entry table after the packing of a register tile. Part of kernels/conv/.
#include <algorithm>

#include "kernels/conv/x86/tile_emitter.h"

namespace octavo {
namespace {

// Positions in free_registers(): the table's four quarters, then temporaries.
enum TableRegister { kQuarter0, kQuarter1, kQuarter2, kQuarter3, kFirst, kSecond, kThird, kFourth };

}  // namespace

void TileEmitter::emit_table() {
  if (c_.table == TableStep::scalar) {
    for (int p = 0; p < c_.pixels; ++p) table_by_scalars(p);
    return;
  }
  const std::vector<int> free = free_registers();
  for (int quarter = 0; quarter < 4; ++quarter) {
    vmovups(vector(free[static_cast<std::size_t>(quarter)]),
            constant(offsetof(TileConstants, table) + static_cast<std::size_t>(quarter) * 64));
  }
  const int together = 4 / c_.outputs();  // pixels that fit into one register
  for (int p = 0; p < c_.pixels; p += together) {
    const int count = std::min(together, c_.pixels - p);
    for (int i = 1; i < count; ++i) join_pixel(p, i);
    c_.table == TableStep::bytes ? table_by_bytes(p, free) : table_by_words(p, free);
    for (int i = 1; i < count; ++i) part_pixel(p, i);
    for (int i = 0; i < count; ++i) store_bytes(p + i);
  }
}

// The bytes of pixel p + i into the i-th part of pixel p's register, and back.
void TileEmitter::join_pixel(int p, int i) {
  const Xbyak::Zmm all(accumulator(p, 0).getIdx());
  const int part = accumulator(p + i, 0).getIdx();
  c_.outputs() == 2 ? vinserti64x4(all, all, Xbyak::Ymm(part), 1)
                    : vinserti32x4(all, all, Xbyak::Xmm(part), static_cast<std::uint8_t>(i));
}

void TileEmitter::part_pixel(int p, int i) {
  const Xbyak::Zmm all(accumulator(p, 0).getIdx());
  const int part = accumulator(p + i, 0).getIdx();
  c_.outputs() == 2 ? vextracti64x4(Xbyak::Ymm(part), all, 1)
                    : vextracti32x4(Xbyak::Xmm(part), all, static_cast<std::uint8_t>(i));
}

// All that do not hold a packed pixel.
std::vector<int> TileEmitter::free_registers() const {
  std::vector<int> free;
  for (int i = 0; i < 32; ++i) {
    if (i % c_.vectors != 0 || i >= c_.pixels * c_.vectors) free.push_back(i);
  }
  return free;
}

void TileEmitter::table_by_bytes(int p, const std::vector<int>& free) {
  const auto reg = [&](TableRegister r) { return vector(free[r]); };
  const Xbyak::Xmm bytes = accumulator(p, 0), upper = reg(kFirst);
  vpmovb2m(blend_mask_, bytes);
  vmovdqa64(upper, bytes);
  vpermi2b(bytes, reg(kQuarter0), reg(kQuarter1));
  vpermi2b(upper, reg(kQuarter2), reg(kQuarter3));
  vmovdqu8(bytes | blend_mask_, upper);
}

// Without vpermi2b: the table is 128 words; even and odd bytes are looked up apart.
void TileEmitter::table_by_words(int p, const std::vector<int>& free) {
  const auto reg = [&](TableRegister r) { return vector(free[r]); };
  const Xbyak::Xmm bytes = accumulator(p, 0), even = reg(kFirst), odd = reg(kSecond);
  vpandd(reg(kThird), bytes, constant(offsetof(TileConstants, even_bytes)));
  lookup_words(free, reg(kThird), even, reg(kFourth));
  vpsrlw(bytes, bytes, 8);
  lookup_words(free, bytes, odd, reg(kFourth));
  vpsllw(bytes, odd, 8);
  constexpr std::uint8_t kSelectSecondWhereThird = 0xd8;
  vpternlogd(bytes, even, constant(offsetof(TileConstants, even_bytes)), kSelectSecondWhereThird);
}

// The low byte of each word of `result` = table[word of `index`]; the high byte is undefined. Destroys `index` and
// `other`.
void TileEmitter::lookup_words(const std::vector<int>& free, const Xbyak::Xmm& index, const Xbyak::Xmm& result,
                               const Xbyak::Xmm& other) {
  const auto quarter = [&](TableRegister r) { return vector(free[r]); };
  vpsrlw(result, index, 1);
  vmovdqa64(other, result);
  vpermi2w(result, quarter(kQuarter0), quarter(kQuarter1));
  vpermi2w(other, quarter(kQuarter2), quarter(kQuarter3));
  vptestmw(blend_mask_, index, constant(offsetof(TileConstants, high_bit_words)));
  vmovdqu16(result | blend_mask_, other);
  vpsllw(index, index, 3);
  vpandd(index, index, constant(offsetof(TileConstants, shift_words)));
  vpsrlvw(result, result, index);
}

void TileEmitter::table_by_scalars(int p) {
  constexpr int kRedZone = -64;  // below the stack pointer, ours under the System V ABI
  vmovdqu(ptr[rsp + kRedZone], accumulator(p, 0));
  for (int i = 0; i < c_.channels; ++i) {
    movzx(eax, byte[rsp + (kRedZone + i)]);
    movzx(eax, byte[constants_ + rax + static_cast<int>(offsetof(TileConstants, table))]);
    mov(ptr[y_ + (p * c_.out_channels + i)], al);
  }
}

}  // namespace octavo
