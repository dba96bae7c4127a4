// Decodes and executes tile instructions; the SIGILL handler around that. For tests only.
#include "support/amx_emulator.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/machine.h"

namespace octavo::testing {
namespace {

// ---- decoding ----

enum class Prefix : std::uint8_t { none, p66, pf3, pf2 };

// A VEX instruction of map 0F38 with three bytes of prefix, as all tile instructions are.
struct Decoded {
  Prefix prefix = Prefix::none;
  std::uint8_t opcode = 0;
  int mod = 0, reg = 0, rm = 0, vvvv = 0;  // vvvv as the register it means; 0 where it is unused
  bool is_wide = false, is_256 = false, has_sib = false;
  std::uint64_t base = 0, stride = 0;  // of the memory operand, displacement included
  int length = 0;
  const char* violation = nullptr;

  bool is_memory() const { return mod != 3; }
};

std::int64_t displacement(const std::uint8_t* at, int bytes) {
  if (bytes == 1) return static_cast<std::int8_t>(*at);
  std::int32_t value = 0;
  if (bytes == 4) std::memcpy(&value, at, 4);
  return value;
}

// ModRM's memory operand, from the byte after it on. Sets base, stride, has_sib and length.
void decode_memory(const std::uint8_t* code, const GeneralRegisters& general, int x_bit, int b_bit, Decoded& d) {
  const std::uint8_t* at = code + 5;
  int base = d.rm;
  if (d.rm == 4) {
    d.has_sib = true;
    const int scale = *at >> 6, index = (*at >> 3 & 7) | x_bit << 3;
    base = *at & 7;
    ++at;
    if (index != 4) d.stride = general[static_cast<std::size_t>(index)] << scale;
  }
  const bool has_base = !(d.mod == 0 && base == 5);
  if (!has_base && !d.has_sib) return void(d.violation = "an address relative to rip, which no emitted code needs");
  const int bytes = d.mod == 1 ? 1 : (d.mod == 2 || !has_base ? 4 : 0);
  d.base = (has_base ? general[static_cast<std::size_t>(base | b_bit << 3)] : 0) +
           static_cast<std::uint64_t>(displacement(at, bytes));
  d.length = static_cast<int>(at + bytes - code);
}

Decoded decode(const std::uint8_t* code, const GeneralRegisters& general) {
  Decoded d;
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2) return {.violation = "not an instruction of VEX map 0F38"};
  const int r_bit = (code[1] >> 7 & 1) ^ 1, x_bit = (code[1] >> 6 & 1) ^ 1, b_bit = (code[1] >> 5 & 1) ^ 1;
  d.is_wide = (code[2] & 0x80) != 0;
  d.is_256 = (code[2] & 4) != 0;
  d.prefix = static_cast<Prefix>(code[2] & 3);
  d.vvvv = (code[2] >> 3 & 15) ^ 15;
  d.opcode = code[3];
  d.mod = code[4] >> 6;
  d.reg = (code[4] >> 3 & 7) | r_bit << 3;
  d.rm = code[4] & 7;
  d.length = 5;
  if (d.is_memory()) decode_memory(code, general, x_bit, b_bit, d);
  else d.rm |= b_bit << 3;
  if (d.is_wide || d.is_256) d.violation = "a tile instruction with W or L set";
  return d;
}

// ---- execution: each returns what is violated, or null ----

using Register = AmxState::Register;

bool is_usable(const AmxState& state, int index) {
  return index < AmxState::kRegisters && state.registers[index].rows != 0;
}

const char* load_config(const Decoded& d, AmxState& state) {
  if (d.vvvv != 0 || d.reg != 0 || !d.is_memory()) return "ldtilecfg with operands it has not";
  std::uint8_t config[64];
  std::memcpy(config, reinterpret_cast<const void*>(d.base), sizeof config);
  AmxState next;
  if (config[0] == 0) return state = next, nullptr;
  if (config[0] != 1) return "ldtilecfg of a palette that is not 1";
  if (config[1] != 0) return "ldtilecfg with a start row, which no emitted code needs";
  next.is_configured = true;
  for (int i = 2; i < 16; ++i) {
    if (config[i] != 0) return "ldtilecfg with reserved bytes that are not 0";
  }
  for (int i = 0; i < 16; ++i) {
    const int rows = config[48 + i], row_bytes = config[16 + 2 * i] | config[17 + 2 * i] << 8;
    if (i >= AmxState::kRegisters) {
      if (rows != 0 || row_bytes != 0) return "ldtilecfg of a ninth register";
      continue;
    }
    if (rows > AmxState::kMostRows || row_bytes > AmxState::kMostRowBytes)
      return "ldtilecfg of a register that is too large";
    if ((rows == 0) != (row_bytes == 0)) return "ldtilecfg of rows without bytes or bytes without rows";
    next.registers[i].rows = rows;
    next.registers[i].row_bytes = row_bytes;
  }
  state = next;
  return nullptr;
}

const char* check_access(const Decoded& d, const AmxState& state) {
  if (d.vvvv != 0 || !d.is_memory() || !d.has_sib) return "a tile load or store without base and index";
  if (!state.is_configured) return "a tile load or store before ldtilecfg";
  if (!is_usable(state, d.reg)) return "a load or store of a register that is not configured";
  return nullptr;
}

const char* load(const Decoded& d, AmxState& state) {
  if (const char* violation = check_access(d, state)) return violation;
  Register& to = state.registers[d.reg];
  std::memset(to.data, 0, sizeof to.data);
  for (int row = 0; row < to.rows; ++row) {
    const std::uint64_t from = d.base + static_cast<std::uint64_t>(row) * d.stride;
    std::memcpy(to.data[row], reinterpret_cast<const void*>(from), static_cast<std::size_t>(to.row_bytes));
  }
  return nullptr;
}

const char* store(const Decoded& d, const AmxState& state) {
  if (const char* violation = check_access(d, state)) return violation;
  const Register& from = state.registers[d.reg];
  for (int row = 0; row < from.rows; ++row) {
    const std::uint64_t to = d.base + static_cast<std::uint64_t>(row) * d.stride;
    std::memcpy(reinterpret_cast<void*>(to), from.data[row], static_cast<std::size_t>(from.row_bytes));
  }
  return nullptr;
}

const char* zero(const Decoded& d, AmxState& state) {
  if (d.vvvv != 0 || d.rm != 0) return "tilezero with operands it has not";
  if (!state.is_configured || !is_usable(state, d.reg)) return "tilezero of a register that is not configured";
  std::memset(state.registers[d.reg].data, 0, sizeof state.registers[d.reg].data);
  return nullptr;
}

// sum[m][n] += u8 a[m][k] * s8 b[k / 4][4 n + k % 4], modulo 2^32.
const char* multiply(const Decoded& d, AmxState& state) {
  if (d.is_memory()) return "tdpbusd of memory";
  if (!state.is_configured) return "tdpbusd before ldtilecfg";
  if (!is_usable(state, d.reg) || !is_usable(state, d.rm) || !is_usable(state, d.vvvv))
    return "tdpbusd of a register that is not configured";
  if (d.reg == d.rm || d.reg == d.vvvv || d.rm == d.vvvv) return "tdpbusd of one register twice";
  Register& sum = state.registers[d.reg];
  const Register &a = state.registers[d.rm], &b = state.registers[d.vvvv];
  if (sum.row_bytes % 4 != 0 || a.row_bytes % 4 != 0 || b.row_bytes % 4 != 0)
    return "tdpbusd of rows that are not whole dwords";
  if (sum.rows != a.rows || sum.row_bytes != b.row_bytes || a.row_bytes != 4 * b.rows)
    return "tdpbusd of registers that do not fit together";
  for (int m = 0; m < sum.rows; ++m) {
    for (int n = 0; n < sum.row_bytes / 4; ++n) {
      std::uint32_t value = 0;
      std::memcpy(&value, sum.data[m] + 4 * n, 4);
      for (int k = 0; k < a.row_bytes; ++k) {
        value +=
            static_cast<std::uint32_t>(int{a.data[m][k]} * int{static_cast<std::int8_t>(b.data[k / 4][4 * n + k % 4])});
      }
      std::memcpy(sum.data[m] + 4 * n, &value, 4);
    }
  }
  return nullptr;
}

const char* release(const Decoded& d, AmxState& state) {
  if (d.vvvv != 0 || d.reg != 0 || d.rm != 0) return "tilerelease with operands it has not";
  state = AmxState{};
  return nullptr;
}

const char* execute(const Decoded& d, AmxState& state) {
  if (d.violation != nullptr) return d.violation;
  if (d.opcode == 0x49 && d.prefix == Prefix::none) return d.is_memory() ? load_config(d, state) : release(d, state);
  if (d.opcode == 0x49 && d.prefix == Prefix::pf2 && !d.is_memory()) return zero(d, state);
  if (d.opcode == 0x4b && (d.prefix == Prefix::pf2 || d.prefix == Prefix::p66)) return load(d, state);
  if (d.opcode == 0x4b && d.prefix == Prefix::pf3) return store(d, state);
  if (d.opcode == 0x5e && d.prefix == Prefix::p66) return multiply(d, state);
  return "an instruction that no kernel is known to emit";
}

// ---- the signal ----

// Without constructors and fixed in size: a handler may not allocate.
thread_local constinit AmxState thread_state;
thread_local constinit bool is_counted = false;
std::atomic<std::uint64_t> trapped_count{0};
std::atomic<int> thread_count{0};
std::atomic<int> users{0};
struct sigaction previous;

constexpr int kGeneralRegisters[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                       REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

void say(const char* text) { [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text)); }

void say_bytes(const std::uint8_t* code) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[] = "xx ";
  for (int i = 0; i < 10; ++i) {
    text[0] = kDigits[code[i] >> 4];
    text[1] = kDigits[code[i] & 15];
    say(text);
  }
}

// Of a violation the instruction is executed again, and ends the process.
void on_illegal_instruction(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
  GeneralRegisters general;
  for (std::size_t i = 0; i < general.size(); ++i)
    general[i] = static_cast<std::uint64_t>(registers[kGeneralRegisters[i]]);
  const AmxStep step = execute_amx(code, general, thread_state);
  if (step.violation != nullptr) {
    say("AMX emulation: ");
    say(step.violation);
    say(": ");
    say_bytes(code);
    say("\n");
    ::signal(SIGILL, SIG_DFL);
    return;
  }
  registers[REG_RIP] += step.length;
  trapped_count.fetch_add(1, std::memory_order_relaxed);
  if (!is_counted) thread_count.fetch_add(1, std::memory_order_relaxed);
  is_counted = true;
}

}  // namespace

AmxStep execute_amx(const std::uint8_t* code, const GeneralRegisters& general, AmxState& state) {
  const Decoded d = decode(code, general);
  return {d.length, execute(d, state)};
}

AmxEmulation::AmxEmulation() {
  if (!is_needed() || users.fetch_add(1) > 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGILL, &action, &previous);
}

AmxEmulation::~AmxEmulation() {
  if (is_needed() && users.fetch_sub(1) == 1) sigaction(SIGILL, &previous, nullptr);
}

bool AmxEmulation::is_needed() { return !host_machine().isa.has(Isa::amx_int8); }
bool AmxEmulation::is_possible() { return host_machine().isa.has(Isa::avx512vnni); }
std::uint64_t AmxEmulation::trapped() { return trapped_count.load(); }
int AmxEmulation::threads() { return thread_count.load(); }
bool AmxEmulation::is_released() { return !is_needed() || !thread_state.is_configured; }

}  // namespace octavo::testing
