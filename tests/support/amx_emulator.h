// AMX on machines that lack it: the tile instructions of emitted code, decoded from their bytes and executed. For tests
// only.
#ifndef OCTAVO_TESTS_SUPPORT_AMX_EMULATOR_H_
#define OCTAVO_TESTS_SUPPORT_AMX_EMULATOR_H_

#include <array>
#include <cstdint>

namespace octavo::testing {

// The tile registers of one thread.
struct AmxState {
  static constexpr int kRegisters = 8, kMostRows = 16, kMostRowBytes = 64;
  struct Register {
    int rows = 0, row_bytes = 0;  // 0: not configured
    std::uint8_t data[kMostRows][kMostRowBytes] = {};
  };
  bool is_configured = false;
  Register registers[kRegisters];
};

// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 ... r15, as instructions number them.
using GeneralRegisters = std::array<std::uint64_t, 16>;

struct AmxStep {
  int length = 0;  // of the instruction, in bytes
  const char* violation =
      nullptr;  // what the architecture forbids or this emulator does not know; the state is then as it was
};

// Executes the instruction at `code`: ldtilecfg, tileloadd, tileloaddt1, tilestored, tilezero, tdpbusd or tilerelease,
// by the rules of the architecture; whatever the processor would refuse is a violation. Reads and writes the memory
// that the instruction addresses.
AmxStep execute_amx(const std::uint8_t* code, const GeneralRegisters& general, AmxState& state);

// While it lives, and where the machine has no AMX, the process's SIGILL handler executes tile instructions. A
// violation ends the process with a message. On a machine with AMX it does nothing, so that the same test runs on the
// real instructions.
class AmxEmulation {
 public:
  AmxEmulation();
  ~AmxEmulation();
  AmxEmulation(const AmxEmulation&) = delete;
  AmxEmulation& operator=(const AmxEmulation&) = delete;

  // Whether instructions are emulated here.
  static bool is_needed();
  // Whether this machine can run the code around the tile instructions, which is AVX-512 VNNI.
  static bool is_possible();
  // Instructions executed so far, by all threads of the process.
  static std::uint64_t trapped();
  // Threads that executed one.
  static int threads();
  // Whether this thread's tile registers are given back.
  static bool is_released();
};

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_AMX_EMULATOR_H_
