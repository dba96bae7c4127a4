// The loop over K of a register tile, and the cache of emitted tiles. Part of kernels/conv/.
#include <algorithm>

#include "kernels/conv/x86/tile_code.h"
#include "kernels/conv/x86/tile_emitter.h"
#include "kernels/shared_cache.h"

namespace octavo {
namespace {

constexpr std::size_t kCodeBytes = 128 * 1024;  // far above the largest tile

}  // namespace

TileEmitter::TileEmitter(const TileConfig& config, void* buffer, std::size_t bytes)
    : CodeGenerator(bytes, buffer), c_(config) {}

Xbyak::Xmm TileEmitter::vector(int index) const {
  return Xbyak::Xmm(is_wide() ? Xbyak::Operand::ZMM : Xbyak::Operand::YMM, index);
}

void TileEmitter::emit() {
  mov(constants_, ptr[args_ + offsetof(TileArgs, constants)]);
  switch (c_.kind) {
    case TileKind::convolution: emit_convolution(); break;
    case TileKind::products: emit_products(); break;
    case TileKind::sums: emit_sums(); break;
  }
  vzeroupper();
  ret();
}

void TileEmitter::emit_convolution() {
  load_bias();
  emit_rows();
  if (c_.sums_x) add_sums_of_x();
  load_epilogue_registers();
  emit_epilogue();
}

// While a tile is multiplied, x of the next is fetched into L1, and its lines of y for writing (measured: a sixth); the
// weights of the next position come into L2.
void TileEmitter::emit_products() {
  constexpr int kRound = 16;  // dwords in a line
  const int tile_bytes = c_.pixels * c_.vectors * c_.target.vector_bytes(), y_lines = tile_bytes / 64;
  const int rounds = c_.run_dwords / kRound, rest = c_.run_dwords % kRound;
  const auto share = [&](int lines) { return rounds > 0 ? (lines + rounds - 1) / rounds : 0; };
  mov(x_, ptr[args_ + offsetof(TileArgs, rows)]);
  mov(x_, ptr[x_]);
  mov(first_w_, ptr[args_ + offsetof(TileArgs, weights)]);
  mov(y_, ptr[args_ + offsetof(TileArgs, y)]);
  mov(repeats_, ptr[args_ + offsetof(TileArgs, repeats)]);
  if (c_.ahead_lines > 0) mov(ahead_, ptr[args_ + offsetof(TileArgs, prefetch)]);
  Xbyak::Label again;
  L(again);
  mov(w_, first_w_);
  lea(next_y_, ptr[y_ + tile_bytes]);
  for (int i = 0; i < c_.pixels * c_.vectors; ++i) {
    const Xbyak::Xmm acc = vector(i);
    if (c_.adds_to_y) vmovups(acc, ptr[y_ + i * c_.target.vector_bytes()]);
    else is_wide() ? vpxord(acc, acc, acc) : vpxor(acc, acc, acc);
  }
  if (rounds > 0) {
    Xbyak::Label round;
    mov(rounds_, rounds);
    L(round);
    emit_product_dwords(kRound, share(y_lines), share(c_.ahead_lines));
    dec(rounds_);
    jnz(round, T_NEAR);
  }
  if (rest > 0) emit_product_dwords(rest, rounds > 0 ? 0 : y_lines, rounds > 0 ? 0 : c_.ahead_lines);
  store_wide_elements();
  add(x_, c_.pixels * c_.pixel_bytes - 4 * c_.run_dwords);
  add(y_, tile_bytes);
  dec(repeats_);
  jnz(again, T_NEAR);
}

// y_lines: of the next tile's y to fetch.
void TileEmitter::emit_product_dwords(int count, int y_lines, int ahead_lines) {
  for (int d = 0; d < count; ++d) {
    if (d < c_.pixels) prefetcht0(ptr[x_ + (c_.pixels + d) * c_.pixel_bytes]);
    for (int line = y_lines * d / count; line < y_lines * (d + 1) / count; ++line) prefetchw(ptr[next_y_ + 64 * line]);
    for (int line = ahead_lines * d / count; line < ahead_lines * (d + 1) / count; ++line)
      prefetcht1(ptr[ahead_ + 64 * line]);
    mac(d);
  }
  add(next_y_, 64 * y_lines);
  if (ahead_lines > 0) add(ahead_, 64 * ahead_lines);
  advance(count);
}

// acc = zero point of x * what meets it: one for all pixels, or each its own.
void TileEmitter::load_zero_points() {
  const bool is_shared = c_.run_scales == RunScales::shared;
  mov(bias_, ptr[args_ + offsetof(TileArgs, bias)]);
  mov(x_zero_points_, ptr[args_ + offsetof(TileArgs, x_zero_points)]);
  for (int p = 0; p < c_.pixels; ++p) {
    if (p == 0 || !is_shared) load_zero_point(p);
    for (int v = 0; v < c_.vectors; ++v) {
      if (p == 0 || !is_shared) vpmaddwd(accumulator(p, v), temporary(0), ptr[bias_ + v * c_.target.vector_bytes()]);
      else vmovaps(accumulator(p, v), accumulator(0, v));
    }
  }
}

void TileEmitter::load_bias() {
  if (c_.run_scales != RunScales::none) return load_zero_points();
  mov(rax, ptr[args_ + offsetof(TileArgs, bias)]);
  for (int v = 0; v < c_.vectors; ++v) vmovups(accumulator(0, v), ptr[rax + v * c_.target.vector_bytes()]);
  for (int p = 1; p < c_.pixels; ++p) {
    for (int v = 0; v < c_.vectors; ++v) vmovaps(accumulator(p, v), accumulator(0, v));
  }
}

void TileEmitter::emit_rows() {
  mov(rows_, ptr[args_ + offsetof(TileArgs, rows)]);
  mov(w_, ptr[args_ + offsetof(TileArgs, weights)]);
  mov(row_count_, ptr[args_ + offsetof(TileArgs, row_count)]);
  if (c_.prefetches) mov(prefetch_, ptr[args_ + offsetof(TileArgs, prefetch)]);
  Xbyak::Label row;
  L(row);
  mov(x_, ptr[rows_]);
  add(x_, ptr[args_ + offsetof(TileArgs, x_offset)]);
  if (c_.taps == 1) {
    emit_run();
  } else {
    Xbyak::Label tap;
    mov(tap_count_, c_.taps);
    L(tap);
    emit_run();
    add(x_, c_.tap_bytes - 4 * c_.run_dwords);
    dec(tap_count_);
    jnz(tap, T_NEAR);
  }
  add(rows_, 8);
  dec(row_count_);
  jnz(row, T_NEAR);
}

// The halves of a single pixel's long run are read side by side: memory delivers two streams faster than one (measured:
// 4 to 10 %).
int TileEmitter::streams() const {
  constexpr int kLong = 256;  // dwords
  return c_.pixels == 1 && c_.run_dwords >= kLong && c_.run_dwords % 2 == 0 ? 2 : 1;
}

void TileEmitter::emit_run() {
  constexpr int kStraight = 8;  // dwords of a run that need no loop
  const int dwords = c_.run_dwords / streams();
  const int unroll = dwords <= kStraight ? dwords : (c_.pixels * c_.vectors >= 16 ? 2 : 4);
  const int rounds = dwords / unroll;
  if (rounds > 1) {
    Xbyak::Label round;
    mov(dword_count_, rounds);
    L(round);
    emit_dwords(unroll);
    dec(dword_count_);
    jnz(round, T_NEAR);
  } else {
    emit_dwords(unroll);
  }
  if (dwords % unroll != 0) emit_dwords(dwords % unroll);
  if (streams() > 1) advance(c_.run_dwords - dwords);
}

void TileEmitter::advance(int dwords) {
  add(x_, 4 * dwords);
  add(w_, dwords * c_.vectors * c_.target.weight_bytes());
}

// So many of each stream.
void TileEmitter::emit_dwords(int count) {
  const int part = c_.run_dwords / streams();
  for (int d = 0; d < count; ++d) {
    for (int index = d; index < c_.run_dwords; index += part) {
      if (c_.prefetches) prefetcht1(ptr[prefetch_ + 64 * (d * streams() + index / part)]);
      if (c_.pixels == 1) prefetch_weights(index);
      mac(index);
    }
  }
  if (c_.prefetches) add(prefetch_, 64 * count * streams());
  advance(count);
}

// A single pixel waits for its weights: so far ahead, they also cross the pages at which the machine's own fetching
// stops (measured: an eighth).
void TileEmitter::prefetch_weights(int index) {
  constexpr int kAheadBytes = 2048, kLine = 64;
  const int bytes = c_.vectors * c_.target.weight_bytes();
  for (int line = 0; line < bytes; line += kLine) prefetcht0(ptr[w_ + index * bytes + line + kAheadBytes]);
}

void TileEmitter::mac(int index) {
  switch (c_.target.step) {
    case MacStep::avx2_words: return mac_avx2_words(index);
    case MacStep::avx2_bytes: return mac_avx2_bytes(index);
    case MacStep::pairs_avx2: return mac_pairs_avx2(index);
    default: return mac_vnni(index);
  }
}

// One register holds x, as many as are left hold w, the rest of w comes from memory (measured: free, the load ports
// have room).
void TileEmitter::mac_vnni(int index) {
  const int in_registers = c_.pixels == 1 ? 0 : std::min(c_.vectors, registers() - c_.pixels * c_.vectors - 1);
  const auto w_address = [&](int v) { return ptr[w_ + (index * c_.vectors + v) * c_.target.vector_bytes()]; };
  for (int v = 0; v < in_registers; ++v) vmovups(temporary(1 + v), w_address(v));
  const Xbyak::Xmm x = temporary(0);
  for (int p = 0; p < c_.pixels; ++p) {
    vpbroadcastd(x, ptr[x_ + p * c_.pixel_bytes + 4 * index]);
    for (int v = 0; v < c_.vectors; ++v) {
      if (v < in_registers) dot(accumulator(p, v), x, temporary(1 + v));
      else dot(accumulator(p, v), x, w_address(v));
    }
  }
}

void TileEmitter::dot(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& w) {
  switch (c_.target.step) {
    case MacStep::pairs512:
    case MacStep::pairs256_evex: return vpdpwssd(acc, x, w, Xbyak::EvexEncoding);
    case MacStep::pairs256: return vpdpwssd(acc, x, w, Xbyak::VexEncoding);
    case MacStep::vnni256: return vpdpbusd(acc, x, w, Xbyak::VexEncoding);
    default: return vpdpbusd(acc, x, w, Xbyak::EvexEncoding);
  }
}

// w is packed as all pairs of even bytes (k0, k2), then all pairs of odd ones (k1, k3).
void TileEmitter::mac_avx2_bytes(int index) {
  const Xbyak::Xmm x = temporary(0), product = temporary(1);
  const int half_bytes = c_.target.weight_bytes() / 2;
  for (int half = 0; half < 2; ++half) {
    for (int v = 0; v < c_.vectors; ++v)
      vpmovsxbw(temporary(2 + v), ptr[w_ + ((index * 2 + half) * c_.vectors + v) * half_bytes]);
    for (int p = 0; p < c_.pixels; ++p) {
      vpbroadcastd(x, ptr[x_ + p * c_.pixel_bytes + 4 * index]);
      if (half == 0) vpand(x, x, constant(offsetof(TileConstants, even_bytes)));
      else vpsrlw(x, x, 8);
      for (int v = 0; v < c_.vectors; ++v) multiply_add(accumulator(p, v), x, temporary(2 + v), product);
    }
  }
}

// The same order, two bytes each: no widening, and x is taken apart once.
void TileEmitter::mac_avx2_words(int index) {
  const Xbyak::Xmm even = temporary(0), odd = temporary(1), product = temporary(2);
  const int half_bytes = c_.target.weight_bytes() / 2;
  for (int p = 0; p < c_.pixels; ++p) {
    vpbroadcastd(odd, ptr[x_ + p * c_.pixel_bytes + 4 * index]);
    vpand(even, odd, constant(offsetof(TileConstants, even_bytes)));
    vpsrlw(odd, odd, 8);
    for (int half = 0; half < 2; ++half) {
      for (int v = 0; v < c_.vectors; ++v) {
        multiply_add(accumulator(p, v), half == 0 ? even : odd,
                     ptr[w_ + ((index * 2 + half) * c_.vectors + v) * half_bytes], product);
      }
    }
  }
}

void TileEmitter::mac_pairs_avx2(int index) {
  const Xbyak::Xmm x = temporary(0), product = temporary(1);
  for (int v = 0; v < c_.vectors; ++v)
    vmovups(temporary(2 + v), ptr[w_ + (index * c_.vectors + v) * c_.target.vector_bytes()]);
  for (int p = 0; p < c_.pixels; ++p) {
    vpbroadcastd(x, ptr[x_ + p * c_.pixel_bytes + 4 * index]);
    for (int v = 0; v < c_.vectors; ++v) multiply_add(accumulator(p, v), x, temporary(2 + v), product);
  }
}

void TileEmitter::multiply_add(const Xbyak::Xmm& acc, const Xbyak::Xmm& x, const Xbyak::Operand& w,
                               const Xbyak::Xmm& product) {
  vpmaddwd(product, x, w);
  vpaddd(acc, acc, product);
}

namespace {

Result<std::shared_ptr<const Code>> conv_x86_tile_loop_emit_tile(const TileConfig& config) {
  const auto buffer = std::make_unique_for_overwrite<std::uint8_t[]>(kCodeBytes);
  try {
    TileEmitter emitter(config, buffer.get(), kCodeBytes);
    emitter.emit();
    return Code::create({buffer.get(), emitter.getSize()});
  } catch (const Xbyak::Error& error) {
    return Error{.kind = ErrorKind::internal,
                 .where = "convolution tile",
                 .found = error.what(),
                 .expected = "code that can be encoded"};
  }
}

}  // namespace

Result<std::shared_ptr<const Code>> tile_code(const TileConfig& config) {
  static SharedCache<TileConfig, Code> cache;
  return cache.find(config, conv_x86_tile_loop_emit_tile);
}

Result<Tile> tile_of(const TileConfig& config) {
  if (config.target.is_compiled())
    return Error{.kind = ErrorKind::internal,
                 .where = "convolution tile",
                 .found = "a tile of another processor",
                 .expected = "one of x86"};
  auto code = tile_code(config);
  if (!code) return code.errors();
  return Tile{(*code)->entry<TileFunction>(), nullptr, std::move(*code)};
}

}  // namespace octavo
