// TileEmitter: writes the code of one register tile. Internal to kernels/conv/.
#ifndef OCTAVO_KERNELS_CONV_X86_TILE_EMITTER_H_
#define OCTAVO_KERNELS_CONV_X86_TILE_EMITTER_H_

#include <xbyak/xbyak.h>

#include <cstddef>
#include <vector>

#include "kernels/conv/tile.h"

namespace octavo {

// The tile: `pixels` rows of `vectors` accumulators, acc(p, v) = register p * vectors + v.
//   acc = bias; for each row, tap and dword of K: x = broadcast(row[p * pixel_bytes + ...]); acc(p, v) += dot4(x, w[v])
//   where the last vector sums x: acc(p, v) += acc(p, last) * w_offset[v] for the others
// The registers above the accumulators hold x and w in the loop and are free in the epilogue. Only caller-saved
// registers are used.
class TileEmitter : public Xbyak::CodeGenerator {
 public:
  TileEmitter(const TileConfig& config, void* buffer, std::size_t bytes);
  // Throws Xbyak::Error where the buffer is too small.
  void emit();

 private:
  // ---- registers ----
  Xbyak::Xmm vector(int index) const;
  Xbyak::Xmm accumulator(int p, int v) const { return vector(p * c_.vectors + v); }
  Xbyak::Xmm temporary(int i) const { return vector(c_.pixels * c_.vectors + i); }
  bool is_wide() const { return c_.target.lanes == 16; }
  int registers() const { return is_wide() ? 32 : 16; }
  int tail() const { return c_.channels - (c_.outputs() - 1) * c_.target.lanes; }  // channels of the last vector
  bool is_partial(int v) const { return v == c_.outputs() - 1 && tail() != c_.target.lanes; }

  static constexpr int kEpilogueTemporaries = 4;
  Xbyak::Xmm held(std::size_t i) const { return temporary(kEpilogueTemporaries + static_cast<int>(i)); }

  // ---- tile_loop.cpp ----
  void emit_convolution();
  void emit_products();
  void emit_product_dwords(int count, int y_lines, int ahead_lines);
  void load_bias();
  void load_zero_points();
  void emit_rows();
  int streams() const;
  void emit_run();
  void advance(int dwords);
  void emit_dwords(int count);
  void prefetch_weights(int index);
  void mac(int index);
  void mac_vnni(int index);
  void mac_avx2_bytes(int index);
  void mac_avx2_words(int index);
  void mac_pairs_avx2(int index);
  void multiply_add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& w, const Xbyak::Xmm& product);
  void dot(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& w);

  // ---- tile_epilogue.cpp ----
  void emit_sums();
  void load_sums();
  void load_zero_point(int p);
  void load_epilogue_registers();
  void emit_epilogue();
  void hold_constants();
  void hold(const Xbyak::Address& from);
  template <class Use>
  void with(const Xbyak::Address& from, Use use) const;
  template <class Use>
  void with_register(const Xbyak::Address& from, const Xbyak::Xmm& spare, Use use);
  void add_sums_of_x();
  void emit_masks();
  void store_wide_elements();
  void store_s16();
  void store_words(int p, int v);
  void scale_in_run();
  void scale_with_real_bias();
  void scale_with_integer_bias();
  void scale(int p, int v);
  void scale(int p, int v, const Xbyak::Xmm& w_scale, const Xbyak::Operand& rest);
  int held_factors() const;
  Xbyak::Address multiplier(int v) const;
  Xbyak::Address rest(int v) const;
  void to_real(const Xbyak::Xmm& acc, int v);
  void quantize(int p, int v);
  void clamp_real(const Xbyak::Xmm& acc);
  void add_after_rounding(const Xbyak::Xmm& acc, int p, int v);
  void add_integers(const Xbyak::Xmm& acc, int p, int v);
  void load_residual(const Xbyak::Xmm& to, int p, int v);
  void widen_residual(const Xbyak::Xmm& to, int p, int v);
  void load_few_bytes(const Xbyak::Xmm& to, const Xbyak::RegExp& from, int count);
  void pack(int p);
  void store_bytes(int p);
  void store_few_bytes(const Xbyak::Xmm& from, const Xbyak::RegExp& to, int count);

  // ---- tile_table.cpp ----
  void emit_table();
  void join_pixel(int p, int i);
  void part_pixel(int p, int i);
  std::vector<int> free_registers() const;
  void table_by_bytes(int p, const std::vector<int>& free);
  void table_by_words(int p, const std::vector<int>& free);
  void lookup_words(const std::vector<int>& free, const Xbyak::Xmm& index, const Xbyak::Xmm& result,
                    const Xbyak::Xmm& other);
  void table_by_scalars(int p);

  Xbyak::Address constant(std::size_t offset) const { return ptr[constants_ + static_cast<int>(offset)]; }

  const TileConfig c_;
  std::vector<Xbyak::Address> held_;  // what registers from held(0) on hold in an epilogue
  const Xbyak::Reg64 args_ = rdi, rows_ = rsi, x_ = rax, w_ = rdx, row_count_ = rcx, tap_count_ = r8,
                     dword_count_ = r10, constants_ = r9;
  const Xbyak::Reg64 prefetch_ = r11;
  const Xbyak::Reg64 x_zero_points_ = rcx, x_scales_ = rdx;                     // before and after the loop over K
  const Xbyak::Reg64 sums_ = rsi, bias_ = rdx, repeats_ = rcx;                  // of products and sums
  const Xbyak::Reg64 rounds_ = r8, first_w_ = r9, next_y_ = r11, ahead_ = rsi;  // of products
  const Xbyak::Reg64 y_ = r10, residual_ = r11, multiplier_ = r8;               // in the epilogue
  const Xbyak::Opmask byte_mask_ = k1, lane_mask_ = k2, blend_mask_ = k3;
};

}  // namespace octavo

#endif  // OCTAVO_KERNELS_CONV_X86_TILE_EMITTER_H_
