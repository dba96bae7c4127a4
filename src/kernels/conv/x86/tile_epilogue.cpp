// What follows the loop over K in a register tile: base/requantize.h in registers, packing and stores. Part of
// kernels/conv/.
#include <algorithm>

#include "kernels/conv/x86/tile_emitter.h"

namespace octavo {

void TileEmitter::add_sums_of_x() {
  mov(rax, ptr[args_ + offsetof(TileArgs, w_offset)]);
  for (int v = 0; v < c_.outputs(); ++v) {
    vmovups(temporary(0), ptr[rax + v * c_.target.vector_bytes()]);
    for (int p = 0; p < c_.pixels; ++p) {
      vpmulld(temporary(1), temporary(0), accumulator(p, c_.outputs()));
      vpaddd(accumulator(p, v), accumulator(p, v), temporary(1));
    }
  }
}

// temporary(0) = the zero point of x of a pixel, as kZeroPointPair.
void TileEmitter::load_zero_point(int p) {
  movzx(eax, byte[x_zero_points_ + (c_.run_scales == RunScales::per_pixel ? p : 0)]);
  imul(eax, eax, kZeroPointPair);
  if (is_wide()) return vpbroadcastd(temporary(0), eax);
  const Xbyak::Xmm narrow(temporary(0).getIdx());
  vmovd(narrow, eax);
  vpbroadcastd(temporary(0), narrow);
}

// For `repeats` tiles whose pixels follow each other in y and residual; one where scales are known only in the run.
void TileEmitter::emit_sums() {
  load_epilogue_registers();
  mov(sums_, ptr[args_ + offsetof(TileArgs, sums)]);
  mov(bias_, ptr[args_ + offsetof(TileArgs, bias)]);
  if (c_.run_scales != RunScales::none) {
    mov(x_zero_points_, ptr[args_ + offsetof(TileArgs, x_zero_points)]);
    load_sums();
    if (c_.sums_x) add_sums_of_x();
    return emit_epilogue();
  }
  mov(repeats_, ptr[args_ + offsetof(TileArgs, repeats)]);
  Xbyak::Label again;
  L(again);
  load_sums();
  if (c_.sums_x) add_sums_of_x();
  emit_epilogue();
  add(sums_, c_.pixels * c_.sum_vectors * c_.target.vector_bytes());
  add(y_, c_.pixels * c_.out_channels * static_cast<int>(size_of(c_.to)));
  if (c_.addition != Addition::none) add(residual_, c_.pixels * c_.out_channels * c_.residual_bytes());
  dec(repeats_);
  jnz(again, T_NEAR);
}

// acc = sums + bias, or + the zero point of the pixel * what meets it.
void TileEmitter::load_sums() {
  const bool is_scaled = c_.run_scales != RunScales::none;
  const int held = std::min(c_.vectors, registers() - c_.pixels * c_.vectors - 1);
  for (int v = 0; v < held; ++v) vmovups(temporary(1 + v), ptr[bias_ + v * c_.target.vector_bytes()]);
  for (int p = 0; p < c_.pixels; ++p) {
    if (is_scaled) load_zero_point(p);
    for (int v = 0; v < c_.vectors; ++v) {
      const Xbyak::Xmm acc = accumulator(p, v);
      const auto add_bias = [&](const Xbyak::Operand& bias) {
        is_scaled ? vpdpwssd(acc, temporary(0), bias, Xbyak::EvexEncoding) : vpaddd(acc, acc, bias);
      };
      vmovups(acc, ptr[sums_ + (p * c_.sum_vectors + v) * c_.target.vector_bytes()]);
      v < held ? add_bias(temporary(1 + v)) : add_bias(ptr[bias_ + v * c_.target.vector_bytes()]);
    }
  }
}

void TileEmitter::load_epilogue_registers() {
  mov(y_, ptr[args_ + offsetof(TileArgs, y)]);
  mov(multiplier_, ptr[args_ + offsetof(TileArgs, multiplier)]);
  if (c_.addition != Addition::none) mov(residual_, ptr[args_ + offsetof(TileArgs, residual)]);
  emit_masks();
}

void TileEmitter::emit_epilogue() {
  if (c_.run_scales != RunScales::none) scale_in_run();
  if (c_.to != DType::s16 && !is_8bit(c_.to)) return store_wide_elements();
  hold_constants();
  if (c_.to == DType::s16) return store_s16();
  vmovups(temporary(2), constant(offsetof(TileConstants, pack_order)));
  for (int p = 0; p < c_.pixels; ++p) {
    for (int v = 0; v < c_.outputs(); ++v) quantize(p, v);
    pack(p);
    if (c_.table == TableStep::none) store_bytes(p);
  }
  if (c_.table != TableStep::none) emit_table();
}

// Registers that are left hold what each vector needs, the rest comes from memory each time: loads are what an epilogue
// beside the loads of AMX lacks (measured: a tenth of the layers that wait for it).
void TileEmitter::hold_constants() {
  held_.clear();
  if (c_.pixels == 1) return;
  if (c_.run_scales == RunScales::none) {
    for (int v = 0; v < c_.outputs(); ++v) hold(multiplier(v));
  }
  if (c_.clamps_low) hold(constant(offsetof(TileConstants, lowest)));
  if (c_.clamps_high) hold(constant(offsetof(TileConstants, highest)));
  if (c_.addition == Addition::before_rounding) hold(constant(offsetof(TileConstants, residual_ratio)));
  if (c_.addition == Addition::real_first || c_.addition == Addition::real_second) {
    for (const std::size_t offset : {offsetof(TileConstants, add_fixed), offsetof(TileConstants, add_a_ratio),
                                     offsetof(TileConstants, add_b_ratio), offsetof(TileConstants, zero_point)})
      hold(constant(offset));
    if (c_.adds_clamp_low) hold(constant(offsetof(TileConstants, add_lowest)));
    if (c_.adds_clamp_high) hold(constant(offsetof(TileConstants, add_highest)));
  }
  if (c_.subtracts_from_residual) hold(constant(offsetof(TileConstants, residual_zero_point)));
}

void TileEmitter::hold(const Xbyak::Address& from) {
  if (c_.pixels * c_.vectors + kEpilogueTemporaries + static_cast<int>(held_.size()) >= registers()) return;
  vmovups(held(held_.size()), from);
  held_.push_back(from);
}

// Calls use with the register that holds what is there, or with the address.
template <class Use>
void TileEmitter::with(const Xbyak::Address& from, Use use) const {
  const auto it = std::find(held_.begin(), held_.end(), from);
  if (it == held_.end()) return use(from);
  use(held(static_cast<std::size_t>(it - held_.begin())));
}

// The same where it has to be a register: `spare` is loaded where none holds it.
template <class Use>
void TileEmitter::with_register(const Xbyak::Address& from, const Xbyak::Xmm& spare, Use use) {
  const auto it = std::find(held_.begin(), held_.end(), from);
  if (it != held_.end()) return use(held(static_cast<std::size_t>(it - held_.begin())));
  vmovups(spare, from);
  use(spare);
}

void TileEmitter::emit_masks() {
  if (!is_wide()) return;
  if (c_.channels < 64) {
    mov(rax, (std::uint64_t{1} << c_.channels) - 1);
    kmovq(byte_mask_, rax);
  }
  mov(eax, (1 << tail()) - 1);
  kmovw(lane_mask_, eax);
}

// RunForm of every accumulator, clamped where it is stored so. maxps and minps give their second operand where one is
// NaN.
void TileEmitter::scale_in_run() {
  const Xbyak::Xmm lowest = temporary(0), highest = temporary(1);
  mov(x_scales_, ptr[args_ + offsetof(TileArgs, x_scales)]);
  c_.run_form == RunForm::onnx_integer ? scale_with_integer_bias() : scale_with_real_bias();
  if (c_.to != DType::f32) return;
  if (c_.clamps_low) vmovups(lowest, constant(offsetof(TileConstants, lowest)));
  if (c_.clamps_high) vmovups(highest, constant(offsetof(TileConstants, highest)));
  for (int p = 0; p < c_.pixels; ++p) {
    for (int v = 0; v < c_.outputs(); ++v) {
      const Xbyak::Xmm acc = accumulator(p, v);
      if (c_.clamps_low) vmaxps(acc, lowest, acc);
      if (c_.clamps_high) vminps(acc, highest, acc);
    }
  }
}

void TileEmitter::scale_with_real_bias() {
  for (int v = 0; v < held_factors(); ++v) {
    vmovups(temporary(2 + 2 * v), multiplier(v));
    vmovups(temporary(3 + 2 * v), rest(v));
  }
  for (int p = 0; p < c_.pixels; ++p) {
    if (p == 0 || c_.run_scales == RunScales::per_pixel) vbroadcastss(temporary(0), ptr[x_scales_ + 4 * p]);
    for (int v = 0; v < c_.outputs(); ++v) scale(p, v);
  }
}

// Vector by vector, so that pixels of one scale share the division.
void TileEmitter::scale_with_integer_bias() {
  constexpr std::uint8_t kDown = 9;  // towards minus infinity, without an exception
  const Xbyak::Xmm bias = temporary(0), factor = temporary(1);
  for (int v = 0; v < c_.outputs(); ++v) {
    for (int p = 0; p < c_.pixels; ++p) {
      if (p == 0 || c_.run_scales == RunScales::per_pixel) {
        vbroadcastss(factor, ptr[x_scales_ + 4 * p]);
        vmulps(factor, factor, multiplier(v));
        vmovups(bias, rest(v));
        vdivps(bias, bias, factor);
        is_wide() ? vrndscaleps(bias, bias, kDown) : vroundps(bias, bias, kDown);
        vmaxps(bias, bias, constant(offsetof(TileConstants, least_bias)));
        vminps(bias, bias, constant(offsetof(TileConstants, most_bias)));
        vcvttps2dq(bias, bias);
      }
      const Xbyak::Xmm acc = accumulator(p, v);
      vpaddd(acc, acc, bias);
      vcvtdq2ps(acc, acc);
      vmulps(acc, acc, factor);
    }
  }
}

// Vectors of channels whose multipliers and rests have registers while the pixels are scaled.
int TileEmitter::held_factors() const { return std::min(c_.outputs(), (registers() - c_.pixels * c_.vectors - 2) / 2); }

Xbyak::Address TileEmitter::multiplier(int v) const { return ptr[multiplier_ + v * c_.target.vector_bytes()]; }
Xbyak::Address TileEmitter::rest(int v) const {
  return ptr[multiplier_ + (v * c_.target.vector_bytes() + c_.rest_offset)];
}

void TileEmitter::scale(int p, int v) {
  if (v < held_factors()) return scale(p, v, temporary(2 + 2 * v), temporary(3 + 2 * v));
  vmovups(temporary(1), multiplier(v));
  scale(p, v, temporary(1), rest(v));
}

void TileEmitter::scale(int p, int v, const Xbyak::Xmm& w_scale, const Xbyak::Operand& rest) {
  const Xbyak::Xmm acc = accumulator(p, v), x_scale = temporary(0), both = temporary(1);
  vcvtdq2ps(acc, acc);
  switch (c_.run_form) {
    case RunForm::xnnpack: vmulps(acc, acc, x_scale); return vfmadd213ps(acc, w_scale, rest);
    case RunForm::onnx:
      vmulps(both, w_scale, x_scale);
      vmulps(acc, acc, both);
      return vaddps(acc, acc, rest);
    case RunForm::tflite:
      vmulps(acc, acc, w_scale);
      vmulps(acc, acc, x_scale);
      return vaddps(acc, acc, rest);
    case RunForm::onnx_integer: return;  // scale_with_integer_bias
  }
}

void TileEmitter::store_wide_elements() {
  for (int p = 0; p < c_.pixels; ++p) {
    for (int v = 0; v < c_.outputs(); ++v) {
      const Xbyak::Xmm acc = accumulator(p, v);
      if (c_.to == DType::f32 && c_.run_scales == RunScales::none) {
        to_real(acc, v);
        vmulps(acc, acc, ptr[multiplier_ + v * c_.target.vector_bytes()]);
      }
      store_words(p, v);
    }
  }
}

void TileEmitter::store_words(int p, int v) {
  const Xbyak::Address to = ptr[y_ + p * c_.out_channels * 4 + v * c_.target.vector_bytes()];
  if (!is_partial(v)) {
    vmovups(to, accumulator(p, v));
  } else if (is_wide()) {
    vmovups(to | lane_mask_, accumulator(p, v));
  } else {
    vmovups(temporary(3), constant(offsetof(TileConstants, lane_masks) + static_cast<std::size_t>(16 - tail()) * 4));
    vpmaskmovd(to, temporary(3), accumulator(p, v));
  }
}

// Of s16 the packing saturates as that of bytes does; the zero point comes before it.
void TileEmitter::store_s16() {
  for (int p = 0; p < c_.pixels; ++p) {
    for (int v = 0; v < c_.outputs(); ++v) {
      quantize(p, v);
      const Xbyak::Xmm acc = accumulator(p, v);
      const Xbyak::RegExp to = y_ + (p * c_.out_channels + v * c_.target.lanes) * 2;
      if (c_.adds_zero_point) vpaddd(acc, acc, constant(offsetof(TileConstants, zero_point)));
      if (is_wide()) {
        if (is_partial(v)) vpmovsdw(ptr[to] | lane_mask_, Xbyak::Zmm(acc.getIdx()));
        else vpmovsdw(ptr[to], Xbyak::Zmm(acc.getIdx()));
        continue;
      }
      const Xbyak::Xmm low(acc.getIdx()), high(temporary(0).getIdx());
      vextracti128(high, Xbyak::Ymm(acc.getIdx()), 1);
      vpackssdw(low, low, high);
      store_few_bytes(low, to, 2 * (is_partial(v) ? tail() : c_.target.lanes));
    }
  }
}

// f32(acc) + the rest of the bias.
void TileEmitter::to_real(const Xbyak::Xmm& acc, int v) {
  vcvtdq2ps(acc, acc);
  if (c_.rest_offset != 0) vaddps(acc, acc, ptr[multiplier_ + (v * c_.target.vector_bytes() + c_.rest_offset)]);
}

// q = clamp(rne(...)) without the zero point, or the clamped sum, in integers with it, where a residual is added after
// rounding. Where the packing saturates to the same bounds and no conversion can overflow, the clamp is left to it.
void TileEmitter::quantize(int p, int v) {
  const Xbyak::Xmm acc = accumulator(p, v), other = temporary(0);
  const bool is_scaled = c_.run_scales != RunScales::none;
  if (!is_scaled) to_real(acc, v);
  if (c_.addition == Addition::before_rounding) {
    load_residual(other, p, v);
    with(constant(offsetof(TileConstants, residual_ratio)), [&](const Xbyak::Operand& ratio) {
      is_scaled ? vfmadd231ps(acc, other, ratio) : vmulps(other, other, ratio);
    });
    if (!is_scaled) with(multiplier(v), [&](const Xbyak::Operand& m) { vfmadd132ps(acc, other, m); });
  } else if (!is_scaled) {
    with(multiplier(v), [&](const Xbyak::Operand& m) { vmulps(acc, acc, m); });
  }
  clamp_real(acc);
  vcvtps2dq(acc, acc);
  if (c_.addition == Addition::real_first || c_.addition == Addition::real_second) add_after_rounding(acc, p, v);
  if (c_.addition == Addition::integer) add_integers(acc, p, v);
}

// What is NaN becomes the lowest; unless it is not clamped from below, where it stays NaN.
void TileEmitter::clamp_real(const Xbyak::Xmm& acc) {
  const Xbyak::Address lowest = constant(offsetof(TileConstants, lowest)),
                       highest = constant(offsetof(TileConstants, highest));
  if (c_.clamps_low) with(lowest, [&](const Xbyak::Operand& bound) { vmaxps(acc, acc, bound); });
  if (!c_.clamps_high) return;
  if (c_.clamps_low) return with(highest, [&](const Xbyak::Operand& bound) { vminps(acc, acc, bound); });
  with_register(highest, temporary(1), [&](const Xbyak::Xmm& bound) { vminps(acc, bound, acc); });
}

// IntegerAddForm, clamped, with the zero point in it.
void TileEmitter::add_integers(const Xbyak::Xmm& acc, int p, int v) {
  const Xbyak::Xmm other = temporary(0);
  vpaddd(acc, acc, constant(offsetof(TileConstants, zero_point)));
  vpmulld(acc, acc, constant(offsetof(TileConstants, add_a_multiplier)));
  widen_residual(other, p, v);
  vpmulld(other, other, constant(offsetof(TileConstants, add_b_multiplier)));
  vpaddd(acc, acc, constant(offsetof(TileConstants, add_bias)));
  vpaddd(acc, acc, other);
  vpsrad(acc, acc, static_cast<std::uint8_t>(c_.add_right_shift));
  vpaddd(acc, acc, constant(offsetof(TileConstants, add_zero_point)));
  vpmaxsd(acc, acc, constant(offsetof(TileConstants, add_integer_lowest)));
  vpminsd(acc, acc, constant(offsetof(TileConstants, add_integer_highest)));
}

// AddForm: fma(a, a_ratio, fma(b, b_ratio, fixed)); the convolution is a or b.
void TileEmitter::add_after_rounding(const Xbyak::Xmm& acc, int p, int v) {
  const Xbyak::Xmm other = temporary(0);
  with(constant(offsetof(TileConstants, zero_point)), [&](const Xbyak::Operand& zero) { vpaddd(acc, acc, zero); });
  vcvtdq2ps(acc, acc);
  load_residual(other, p, v);
  const bool conv_is_first = c_.addition == Addition::real_first;
  const Xbyak::Xmm& a = conv_is_first ? acc : other;
  const Xbyak::Xmm& b = conv_is_first ? other : acc;
  with_register(constant(offsetof(TileConstants, add_fixed)), temporary(1), [&](const Xbyak::Xmm& fixed) {
    with(constant(offsetof(TileConstants, add_b_ratio)), [&](const Xbyak::Operand& r) { vfmadd132ps(b, fixed, r); });
  });
  with(constant(offsetof(TileConstants, add_a_ratio)), [&](const Xbyak::Operand& r) { vfmadd132ps(a, b, r); });
  const Xbyak::Address lowest = constant(offsetof(TileConstants, add_lowest)),
                       highest = constant(offsetof(TileConstants, add_highest));
  if (c_.adds_clamp_low) with(lowest, [&](const Xbyak::Operand& bound) { vmaxps(a, a, bound); });
  if (c_.adds_clamp_high) with(highest, [&](const Xbyak::Operand& bound) { vminps(a, a, bound); });
  vcvtps2dq(acc, a);
}

// f32(residual - its zero point, or the addition's shift).
void TileEmitter::load_residual(const Xbyak::Xmm& to, int p, int v) {
  widen_residual(to, p, v);
  if (c_.subtracts_from_residual)
    with(constant(offsetof(TileConstants, residual_zero_point)), [&](const Xbyak::Operand& z) { vpsubd(to, to, z); });
  vcvtdq2ps(to, to);
}

void TileEmitter::widen_residual(const Xbyak::Xmm& to, int p, int v) {
  const int bytes = c_.residual_bytes();
  const Xbyak::RegExp from = residual_ + (p * c_.out_channels + v * c_.target.lanes) * bytes;
  const auto widen = [&](const Xbyak::Xmm& target, const Xbyak::Operand& source) {
    if (c_.residual_type == DType::s16) return vpmovsxwd(target, source);
    c_.residual_type == DType::s8 ? vpmovsxbd(target, source) : vpmovzxbd(target, source);
  };
  if (!is_partial(v)) return widen(to, ptr[from]);
  if (is_wide()) return widen(to | lane_mask_ | T_z, ptr[from]);
  const Xbyak::Xmm narrow(to.getIdx());
  load_few_bytes(narrow, from, tail() * bytes);
  widen(to, narrow);
}

// Never reads past the tensor: it may be the caller's.
void TileEmitter::load_few_bytes(const Xbyak::Xmm& to, const Xbyak::RegExp& from, int count) {
  vpxor(to, to, to);
  int done = 0;
  if (count & 8) {
    vpinsrq(to, to, ptr[from], 0);
    done = 8;
  }
  if (count & 4) {
    vpinsrd(to, to, ptr[from + done], done / 4);
    done += 4;
  }
  if (count & 2) {
    vpinsrw(to, to, ptr[from + done], done / 2);
    done += 2;
  }
  if (count & 1) vpinsrb(to, to, ptr[from + done], done);
}

// 32-bit lanes of the pixel's vectors to bytes of accumulator(p, 0), in channel order.
void TileEmitter::pack(int p) {
  const Xbyak::Xmm first = accumulator(p, 0);
  const auto add_zero_point = [&](const Xbyak::Xmm& words) {
    if (c_.adds_zero_point) vpaddsw(words, words, constant(offsetof(TileConstants, zero_point_words)));
  };
  vpackssdw(first, first, accumulator(p, std::min(1, c_.outputs() - 1)));
  add_zero_point(first);
  Xbyak::Xmm second = first;
  if (c_.outputs() > 2) {
    second = accumulator(p, 2);
    vpackssdw(second, second, accumulator(p, c_.outputs() - 1));
    add_zero_point(second);
  }
  c_.to == DType::u8 ? vpackuswb(first, first, second) : vpacksswb(first, first, second);
  const auto kind = static_cast<Xbyak::Operand::Kind>(first.getKind());
  vpermd(Xbyak::Ymm(first.getIdx(), kind), Xbyak::Ymm(temporary(2).getIdx(), kind), first);
}

void TileEmitter::store_bytes(int p) {
  const Xbyak::RegExp to = y_ + p * c_.out_channels;
  const int index = accumulator(p, 0).getIdx();
  if (!is_wide()) return store_few_bytes(Xbyak::Xmm(index), to, c_.channels);
  switch (c_.channels) {
    case 16: return vextracti32x4(ptr[to], Xbyak::Zmm(index), 0);
    case 32: return vextracti64x4(ptr[to], Xbyak::Zmm(index), 0);
    case 64: return vmovdqu8(ptr[to], Xbyak::Zmm(index));
    default: return vmovdqu8(ptr[to] | byte_mask_, Xbyak::Zmm(index));
  }
}

void TileEmitter::store_few_bytes(const Xbyak::Xmm& from, const Xbyak::RegExp& to, int count) {
  int done = 0;
  if (count >= 16) {
    vmovdqu(ptr[to], from);
    if (count == 16) return;
    vextracti128(from, Xbyak::Ymm(from.getIdx()), 1);
    done = 16;
  }
  const auto advance = [&](int bytes) {
    done += bytes;
    if (done < count) vpsrldq(from, from, bytes);
  };
  if (count & 8) {
    vmovq(ptr[to + done], from);
    advance(8);
  }
  if (count & 4) {
    vmovd(ptr[to + done], from);
    advance(4);
  }
  if (count & 2) {
    vpextrw(ptr[to + done], from, 0);
    advance(2);
  }
  if (count & 1) vpextrb(ptr[to + done], from, 0);
}

}  // namespace octavo
