// Writes the code of AMX blocks. Part of kernels/conv/.
#include "kernels/conv/amx_tile.h"

#include <xbyak/xbyak.h>

#include <iterator>
#include <vector>

#include "kernels/conv/geometry.h"
#include "kernels/shared_cache.h"

namespace octavo {
namespace {

constexpr int kRowBytes = 64;  // of a register of sums or w: 16 lanes of 4 bytes

// Between the steps of K, the vector units finish the block before: multiplies take 16 cycles each of a unit of their
// own, so that both work at the same time. What must outlive a call is in callee-saved registers or on the stack.
class AmxEmitter : public Xbyak::CodeGenerator {
 public:
  AmxEmitter(const AmxConfig& config, void* buffer, std::size_t bytes) : CodeGenerator(bytes, buffer), c_(config) {}

  void emit() {
    for (const Xbyak::Reg64& reg : kSaved) push(reg);
    sub(rsp, kFrame);
    mov(args_, rdi);
    for (int u = 0; u < c_.units; ++u) mov(x(u), ptr[args_ + offsetof(AmxArgs, x) + u * 8]);
    mov(w_, ptr[args_ + offsetof(AmxArgs, weights)]);
    for_each_sum([&](int u, int v) { tilezero(sum(u, v)); });
    emit_lines();
    mov(y_, ptr[args_ + offsetof(AmxArgs, sums)]);
    mov(w_stride_, c_.vectors * kRowBytes);
    for_each_sum([&](int u, int v) {
      tilestored(ptr[y_ + w_stride_ + (u * c_.layout.rows * c_.vectors + v) * kRowBytes], sum(u, v));
    });
    add(rsp, kFrame);
    for (auto reg = std::rbegin(kSaved); reg != std::rend(kSaved); ++reg) pop(*reg);
    ret();
  }

 private:
  Xbyak::Reg64 x(int u) const { return Xbyak::Reg64(Xbyak::Operand::R12 + u); }
  Xbyak::Tmm sum(int u, int v) const { return Xbyak::Tmm(u * c_.layout.vectors + v); }
  Xbyak::Tmm x_register(int u) const { return Xbyak::Tmm(c_.layout.sums() + u % c_.layout.x_registers()); }
  Xbyak::Tmm w_register(int v) const {
    return Xbyak::Tmm(c_.layout.sums() + c_.layout.x_registers() + v % c_.layout.w_registers());
  }

  template <class Use>
  void for_each_sum(Use use) const {
    for (int u = 0; u < c_.units; ++u) {
      for (int v = 0; v < c_.vectors; ++v) use(u, v);
    }
  }

  void move_x(std::int64_t bytes) {
    if (bytes == 0) return;
    mov(rax, bytes);
    for (int u = 0; u < c_.units; ++u) add(x(u), rax);
  }

  // `body` as often as said, with a counter on the stack only where that is more than once.
  template <class Body>
  void repeat(int slot, std::int64_t times, Body body) {
    if (times == 1) return body();
    Xbyak::Label again;
    mov(qword[rsp + slot * 8], static_cast<std::uint32_t>(times));
    L(again);
    body();
    dec(qword[rsp + slot * 8]);
    jnz(again, T_NEAR);
  }

  void emit_lines() {
    const std::int64_t run_bytes = c_.run_steps * c_.layout.dwords * 4;
    repeat(0, c_.lines, [&] {
      repeat(1, c_.taps, [&] {
        emit_run();
        if (c_.taps > 1) move_x(c_.tap_bytes - run_bytes);
      });
      if (c_.lines > 1) move_x(c_.line_bytes - (c_.taps > 1 ? c_.taps * c_.tap_bytes : run_bytes));
    });
  }

  // Steps of a run, in groups after which a register is stored for nothing: the unit that stores them falls asleep after
  // some 2000 cycles, and takes 1000 to wake up (measured on Granite Rapids).
  void emit_run() {
    const std::int64_t groups = ceil_div(c_.run_steps, kAwakeSteps), least = c_.run_steps / groups;
    repeat(2, groups, [&] {
      repeat(3, least, [&] { emit_step(); });
      if (c_.steps() > kAwakeSteps) keep_awake();
    });
    for (std::int64_t i = least * groups; i < c_.run_steps; ++i) emit_step();
  }

  void keep_awake() {
    mov(y_, ptr[args_ + offsetof(AmxArgs, spare)]);
    mov(w_stride_, kRowBytes);
    tilestored(ptr[y_ + w_stride_], w_register(c_.vectors - 1));
  }

  void emit_step() {
    mov(x_stride_, c_.pixel_bytes);
    mov(w_stride_, c_.dword_bytes);
    for (int v = 0; v < c_.vectors; ++v) {
      const Xbyak::Address w = ptr[w_ + w_stride_ + static_cast<std::size_t>(v * c_.vector_bytes)];
      c_.streams_w ? tileloaddt1(w_register(v), w) : tileloadd(w_register(v), w);
      for (int u = 0; u < c_.units; ++u) {
        if (v == 0) tileloadd(x_register(u), ptr[x(u) + x_stride_]);
        tdpbusd(sum(u, v), x_register(u), w_register(v));
      }
    }
    for (int u = 0; u < c_.units; ++u) add(x(u), c_.layout.dwords * 4);
    add(w_, static_cast<std::uint32_t>(c_.layout.dwords * c_.dword_bytes));
    emit_finishes();
  }

  // As many after each step as do all of them in all steps.
  void emit_finishes() {
    Xbyak::Label done;
    for (std::int64_t i = 0; i < ceil_div(c_.most_finishes, c_.steps()); ++i) {
      mov(rdi, ptr[args_ + offsetof(AmxArgs, next)]);
      cmp(rdi, ptr[args_ + offsetof(AmxArgs, end)]);
      je(done, T_NEAR);
      call(ptr[rdi + offsetof(AmxFinish, code)]);
      add(qword[args_ + offsetof(AmxArgs, next)], static_cast<std::uint32_t>(sizeof(AmxFinish)));
    }
    L(done);
  }

  static constexpr int kFrame = 40;  // counters; with the saved registers and the return address a multiple of 16
  static constexpr std::int64_t kAwakeSteps = 24;
  const AmxConfig& c_;
  const Xbyak::Reg64 kSaved[6] = {rbx, rbp, r12, r13, r14, r15};
  const Xbyak::Reg64 args_ = rbx, w_ = rbp, x_stride_ = r9, w_stride_ = r11, y_ = rax;
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
    std::vector<std::uint8_t> buffer(8192);
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
