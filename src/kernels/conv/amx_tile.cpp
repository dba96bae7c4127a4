// Writes the code of AMX tiles. Part of kernels/conv/.
#include "kernels/conv/amx_tile.h"

#include <xbyak/xbyak.h>

#include <cstddef>
#include <vector>

#include "kernels/shared_cache.h"

namespace octavo {
namespace {

constexpr int kRowBytes = 64;  // of a register of sums or w: 16 lanes of 4 bytes

// Sums of `rows` pixels by 16 channels stay in registers over all of K; x and w are loaded from where they lie, x with
// the distance of two pixels from row to row. Only caller-saved registers are used.
class AmxEmitter : public Xbyak::CodeGenerator {
 public:
  AmxEmitter(const AmxConfig& config, void* buffer, std::size_t bytes) : CodeGenerator(bytes, buffer), c_(config) {}

  void emit() {
    mov(x_stride_, c_.pixel_bytes);
    mov(w_stride_, c_.vectors * kRowBytes);
    for_each_sum([&](int m, int v) { tilezero(sum(m, v)); });
    emit_rows();
    mov(y_, ptr[args_ + offsetof(TileArgs, y)]);
    for_each_sum([&](int m, int v) {
      tilestored(ptr[y_ + w_stride_ + (m * c_.layout.rows * c_.vectors + v) * kRowBytes], sum(m, v));
    });
    ret();
  }

 private:
  Xbyak::Tmm sum(int m, int v) const { return Xbyak::Tmm(m * c_.layout.vectors + v); }
  Xbyak::Tmm x_register(int m) const { return Xbyak::Tmm(c_.layout.sums() + m % c_.layout.x_registers()); }
  Xbyak::Tmm w_register(int v) const {
    return Xbyak::Tmm(c_.layout.sums() + c_.layout.x_registers() + v % c_.layout.w_registers());
  }

  template <class Use>
  void for_each_sum(Use use) const {
    for (int m = 0; m < c_.layout.row_groups; ++m) {
      for (int v = 0; v < c_.vectors; ++v) use(m, v);
    }
  }

  // `body` as often as said, with a counter only where that is more than once.
  template <class Body>
  void repeat(const Xbyak::Reg64& counter, int times, Body body) {
    if (times == 1) return body();
    Xbyak::Label again;
    mov(counter, times);
    L(again);
    body();
    dec(counter);
    jnz(again, T_NEAR);
  }

  void emit_rows() {
    mov(rows_, ptr[args_ + offsetof(TileArgs, rows)]);
    mov(w_, ptr[args_ + offsetof(TileArgs, weights)]);
    mov(row_count_, ptr[args_ + offsetof(TileArgs, row_count)]);
    Xbyak::Label row;
    L(row);
    mov(x_, ptr[rows_]);
    add(x_, ptr[args_ + offsetof(TileArgs, x_offset)]);
    const int tap_rest = c_.tap_bytes - c_.run_steps * c_.layout.dwords * 4;
    repeat(tap_count_, c_.taps, [&] {
      repeat(step_count_, c_.run_steps, [&] { emit_step(); });
      if (c_.taps > 1) add(x_, tap_rest);
    });
    add(rows_, 8);
    dec(row_count_);
    jnz(row, T_NEAR);
  }

  void emit_step() {
    const AmxLayout& layout = c_.layout;
    for (int v = 0; v < c_.vectors; ++v) {
      tileloadd(w_register(v), ptr[w_ + w_stride_ + v * kRowBytes]);
      for (int m = 0; m < layout.row_groups; ++m) {
        const bool is_loaded = v > 0 && layout.x_registers() == layout.row_groups;
        if (!is_loaded) tileloadd(x_register(m), ptr[x_ + x_stride_ + m * layout.rows * c_.pixel_bytes]);
        tdpbusd(sum(m, v), x_register(m), w_register(v));
      }
    }
    add(x_, layout.dwords * 4);
    add(w_, layout.dwords * c_.vectors * kRowBytes);
  }

  const AmxConfig& c_;
  const Xbyak::Reg64 args_ = rdi, rows_ = rsi, x_ = rax, w_ = rdx, row_count_ = rcx, tap_count_ = r8, step_count_ = r10;
  const Xbyak::Reg64 x_stride_ = r9, w_stride_ = r11, y_ = rax;
};

template <class Emit>
Result<std::shared_ptr<const Code>> code_of(Emit emit) {
  try {
    return emit();
  } catch (const Xbyak::Error& error) {
    return Error{.kind = ErrorKind::internal,
                 .where = "AMX tile",
                 .found = error.what(),
                 .expected = "code that can be encoded"};
  }
}

Result<std::shared_ptr<const Code>> emit_tile(const AmxConfig& config) {
  return code_of([&] {
    std::vector<std::uint8_t> buffer(4096);
    AmxEmitter emitter(config, buffer.data(), buffer.size());
    emitter.emit();
    return Code::create({buffer.data(), emitter.getSize()});
  });
}

enum class RegisterUse { configure, release };

Result<std::shared_ptr<const Code>> emit_use(const RegisterUse& use) {
  return code_of([&] {
    std::vector<std::uint8_t> buffer(64);
    Xbyak::CodeGenerator code(buffer.size(), buffer.data());
    use == RegisterUse::configure ? code.ldtilecfg(code.ptr[code.rdi]) : code.tilerelease();
    code.ret();
    return Code::create({buffer.data(), code.getSize()});
  });
}

}  // namespace

AmxLayout AmxLayout::of(const PixelTiles& tiles, const ChannelBlocks& blocks, const ConvGeometry& geometry) {
  AmxLayout layout{.vectors = blocks.max_vectors, .dwords = static_cast<int>(geometry.step_dwords)};
  layout.row_groups = static_cast<int>(ceil_div(tiles.pixels, kMostRows));
  layout.rows = static_cast<int>(ceil_div(tiles.pixels, layout.row_groups));
  return layout;
}

AmxPalette AmxPalette::of(const AmxLayout& layout) {
  AmxPalette palette;
  std::size_t next = 0;
  const auto add = [&](int count, int height, int width) {
    for (int i = 0; i < count; ++i, ++next) {
      palette.rows[next] = static_cast<std::uint8_t>(height);
      palette.row_bytes[next] = static_cast<std::uint16_t>(width);
    }
  };
  add(layout.sums(), layout.rows, kRowBytes);
  add(layout.x_registers(), layout.rows, layout.dwords * 4);
  add(layout.w_registers(), layout.dwords, kRowBytes);
  return palette;
}

Result<std::shared_ptr<const Code>> amx_code(const AmxConfig& config) {
  static SharedCache<AmxConfig, Code> cache;
  return cache.find(config, emit_tile);
}

Result<AmxRegisters> AmxRegisters::create() {
  static SharedCache<RegisterUse, Code> cache;
  AmxRegisters registers;
  auto configure = cache.find(RegisterUse::configure, emit_use);
  if (!configure) return configure.errors();
  auto release = cache.find(RegisterUse::release, emit_use);
  if (!release) return release.errors();
  registers.configure_ = *configure;
  registers.release_ = *release;
  return registers;
}

}  // namespace octavo
