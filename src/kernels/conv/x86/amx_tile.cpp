// Writes the code of AMX blocks. Part of kernels/conv/.
#include "kernels/conv/amx_tile.h"

#include <xbyak/xbyak.h>

#include <iterator>
#include <limits>
#include <vector>

#include "kernels/conv/geometry.h"
#include "kernels/shared_cache.h"

namespace octavo {
namespace {

constexpr int kRowBytes = 64;  // of a register of sums or w: 16 lanes of 4 bytes

// Multiplies take 16 cycles each of a unit of their own; the vector units finish the block before meanwhile. Its sums
// are still in the registers: each is stored just before its register is needed again, since several stores in a row
// would keep the multiplies waiting. What must outlive a call is in callee-saved registers or on the stack.
class AmxEmitter : public Xbyak::CodeGenerator {
 public:
  AmxEmitter(const AmxConfig& config, void* buffer, std::size_t bytes) : CodeGenerator(bytes, buffer), c_(config) {}

  void emit() {
    for (const Xbyak::Reg64& reg : kSaved) push(reg);
    sub(rsp, kFrame);
    mov(args_, rdi);
    for (int u = 0; u < c_.units; ++u) mov(x(u), ptr[args_ + offsetof(AmxArgs, x) + u * 8]);
    mov(w_, ptr[args_ + offsetof(AmxArgs, weights)]);
    emit_steps();
    add(rsp, kFrame);
    for (auto reg = std::rbegin(kSaved); reg != std::rend(kSaved); ++reg) pop(*reg);
    ret();
  }

 private:
  // Loops around a step, from the outermost; their counters are on the stack.
  enum Loop { kLines, kTaps, kGroups, kSteps, kLoops };

  Xbyak::Reg64 x(int u) const { return Xbyak::Reg64(Xbyak::Operand::R12 + u); }
  Xbyak::Tmm sum(int u, int v) const { return Xbyak::Tmm(c_.layout.sum(u, v)); }
  Xbyak::Tmm x_register(int u) const { return Xbyak::Tmm(c_.layout.sums() + u % c_.layout.x_registers()); }
  Xbyak::Tmm w_register(int v) const {
    return Xbyak::Tmm(c_.layout.sums() + c_.layout.x_registers() + v % c_.layout.w_registers());
  }

  void move_x(std::int64_t bytes) {
    if (bytes == 0) return;
    mov(rax, bytes);
    for (int u = 0; u < c_.units; ++u) add(x(u), rax);
  }

  // Few steps are written out, without a branch that could be mispredicted while the multiplies wait.
  void emit_steps() {
    const std::int64_t reach = c_.lines * c_.line_bytes + c_.taps * c_.tap_bytes;
    if (c_.steps() > kUnrolledSteps || reach > std::numeric_limits<std::int32_t>::max() / 2) return emit_loops();
    for (std::int64_t line = 0; line < c_.lines; ++line) {
      for (std::int64_t tap = 0; tap < c_.taps; ++tap) {
        for (std::int64_t i = 0; i < c_.run_steps; ++i) {
          emit_step(line * c_.line_bytes + tap * c_.tap_bytes + i * c_.layout.dwords * 4, w_bytes_ * step_);
          if (step_ % kAwakeSteps == 0) keep_awake();
        }
      }
    }
  }

  // Steps of a run come in groups, after which a register is stored for nothing: the unit that stores them falls asleep
  // after some 2000 cycles, and takes 1000 to wake up (measured on Granite Rapids).
  void emit_loops() {
    const std::int64_t groups = ceil_div(c_.run_steps, kAwakeSteps), least = c_.run_steps / groups,
                       run_bytes = c_.run_steps * c_.layout.dwords * 4;
    const std::int64_t times[kLoops] = {c_.lines, c_.taps, groups, least};
    Xbyak::Label again[kLoops], entry;
    const auto begin = [&](int loop) {
      if (times[loop] > 1) mov(qword[rsp + loop * 8], static_cast<std::uint32_t>(times[loop]));
    };
    const auto end = [&](int loop) {
      if (times[loop] == 1) return;
      dec(qword[rsp + loop * 8]);
      jnz(again[loop], T_NEAR);
    };
    for (int loop = 0; loop < kLoops; ++loop) begin(loop);
    emit_moving_step();
    while (finishes_ < c_.finishes) emit_finish();
    jmp(entry, T_NEAR);
    for (int loop = 0; loop < kLoops; ++loop) {
      if (loop > 0) begin(loop);
      L(again[loop]);
    }
    emit_moving_step();
    L(entry);
    end(kSteps);
    keep_awake();
    end(kGroups);
    for (std::int64_t i = least * groups; i < c_.run_steps; ++i) emit_moving_step();
    if (c_.taps > 1) move_x(c_.tap_bytes - run_bytes);
    end(kTaps);
    if (c_.lines > 1) move_x(c_.line_bytes - (c_.taps > 1 ? c_.taps * c_.tap_bytes : run_bytes));
    end(kLines);
  }

  void keep_awake() {
    mov(y_, ptr[args_ + offsetof(AmxArgs, sums)]);
    mov(sums_stride_, kRowBytes);
    tilestored(ptr[y_ + sums_stride_ + c_.layout.spare()], w_register(c_.vectors - 1));
  }

  void emit_moving_step() {
    emit_step(0, 0);
    for (int u = 0; u < c_.units; ++u) add(x(u), c_.layout.dwords * 4);
    add(w_, static_cast<std::uint32_t>(w_bytes_));
  }

  void emit_step(std::int64_t x_at, std::int64_t w_at) {
    const bool is_first = step_ == 0;
    if (is_first) {
      mov(y_, ptr[args_ + offsetof(AmxArgs, sums)]);
      mov(sums_stride_, c_.layout.vectors * kRowBytes);
    }
    mov(x_stride_, c_.pixel_bytes);
    mov(w_stride_, c_.dword_bytes);
    for (int v = 0; v < c_.vectors; ++v) {
      const Xbyak::Address w = ptr[w_ + w_stride_ + static_cast<std::size_t>(w_at + v * c_.vector_bytes)];
      c_.streams_w ? tileloaddt1(w_register(v), w) : tileloadd(w_register(v), w);
      for (int u = 0; u < c_.units; ++u) {
        if (v == 0 || c_.layout.x_registers() < c_.units)
          tileloadd(x_register(u), ptr[x(u) + x_stride_ + static_cast<std::size_t>(x_at)]);
        if (is_first) give_back(u, v);
        tdpbusd(sum(u, v), x_register(u), w_register(v));
      }
    }
    if (is_first) give_back_others();
    fetch_ahead();
    ++step_;
    while (finishes_ < std::min(c_.finishes, ceil_div(c_.finishes * step_, c_.steps()))) emit_finish();
  }

  // About as much as memory delivers meanwhile.
  void fetch_ahead() {
    mov(x_stride_, ptr[args_ + offsetof(AmxArgs, ahead)]);
    for (std::int64_t line = 0; line < AmxArgs::kLinesAhead; ++line)
      prefetcht1(ptr[x_stride_ + static_cast<std::size_t>(line * AmxArgs::kLineBytes)]);
    add(x_stride_, ptr[args_ + offsetof(AmxArgs, ahead_bytes)]);
    mov(ptr[args_ + offsetof(AmxArgs, ahead)], x_stride_);
  }

  // Stores what the block before left in a register.
  void give_back(int u, int v) {
    tilestored(ptr[y_ + sums_stride_ + c_.layout.place(u, v)], sum(u, v));
    tilezero(sum(u, v));
  }

  // Of those that this block does not use.
  void give_back_others() {
    for (int u = 0; u < c_.layout.units; ++u) {
      for (int v = u < c_.units ? c_.vectors : 0; v < c_.layout.vectors; ++v) give_back(u, v);
    }
  }

  void emit_finish() {
    mov(rdi, ptr[args_ + offsetof(AmxArgs, finishes)]);
    add(rdi, static_cast<std::uint32_t>(finishes_++ * static_cast<std::int64_t>(sizeof(AmxFinish))));
    call(ptr[rdi + offsetof(AmxFinish, code)]);
  }

  static constexpr int kFrame = 40;  // counters; with what is pushed a multiple of 16
  static constexpr std::int64_t kAwakeSteps = 24, kUnrolledSteps = 80;
  const AmxConfig& c_;
  const std::int64_t w_bytes_ = c_.layout.dwords * c_.dword_bytes;  // of a step
  std::int64_t step_ = 0, finishes_ = 0;                            // emitted
  const Xbyak::Reg64 kSaved[6] = {rbx, rbp, r12, r13, r14, r15};
  const Xbyak::Reg64 args_ = rbx, w_ = rbp, x_stride_ = r9, w_stride_ = r11, sums_stride_ = r10, y_ = rax;
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

Result<std::shared_ptr<const Code>> conv_x86_amx_tile_emit_tile(const AmxConfig& config) {
  return code_of([&] {
    std::vector<std::uint8_t> buffer(32768);
    AmxEmitter emitter(config, buffer.data(), buffer.size());
    emitter.emit();
    return Code::create({buffer.data(), emitter.getSize()});
  });
}

// Writes the sums that a last block left in the registers.
Result<std::shared_ptr<const Code>> emit_store(const AmxLayout& layout) {
  return code_of([&] {
    std::vector<std::uint8_t> buffer(512);
    Xbyak::CodeGenerator code(buffer.size(), buffer.data());
    code.mov(code.rax, layout.vectors * kRowBytes);
    for (int u = 0; u < layout.units; ++u) {
      for (int v = 0; v < layout.vectors; ++v)
        code.tilestored(code.ptr[code.rdi + code.rax + layout.place(u, v)], Xbyak::Tmm(layout.sum(u, v)));
    }
    code.ret();
    return Code::create({buffer.data(), code.getSize()});
  });
}

enum class RegisterUse { configure, release, nothing };

Result<std::shared_ptr<const Code>> emit_use(const RegisterUse& use) {
  return code_of([&] {
    std::vector<std::uint8_t> buffer(64);
    Xbyak::CodeGenerator code(buffer.size(), buffer.data());
    if (use == RegisterUse::configure) code.ldtilecfg(code.ptr[code.rdi]);
    if (use == RegisterUse::release) code.tilerelease();
    code.ret();
    return Code::create({buffer.data(), code.getSize()});
  });
}

}  // namespace

AmxPalette palette_of(const AmxLayout& layout) {
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
  return cache.find(config, conv_x86_amx_tile_emit_tile);
}

Result<AmxRegisters> AmxRegisters::create(const AmxLayout& layout) {
  static SharedCache<RegisterUse, Code> cache;
  static SharedCache<AmxLayout, Code> stores;
  AmxRegisters registers;
  registers.palette_ = palette_of(layout);
  auto store = stores.find(layout, emit_store);
  if (!store) return store.errors();
  registers.store_ = *store;
  auto configure = cache.find(RegisterUse::configure, emit_use);
  if (!configure) return configure.errors();
  auto release = cache.find(RegisterUse::release, emit_use);
  if (!release) return release.errors();
  auto nothing = cache.find(RegisterUse::nothing, emit_use);
  if (!nothing) return nothing.errors();
  registers.nothing_ = *nothing;
  registers.configure_ = *configure;
  registers.release_ = *release;
  return registers;
}

}  // namespace octavo
