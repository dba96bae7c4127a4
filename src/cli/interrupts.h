// Ctrl-C as a wish to stop with what there is. Part of cli/.
#ifndef OCTAVO_CLI_INTERRUPTS_H_
#define OCTAVO_CLI_INTERRUPTS_H_

#include <csignal>

namespace octavo::cli {

// While it is in scope the first interrupt is only remembered; the next one ends the process.
class Interrupts {
 public:
  Interrupts() : before_(std::signal(SIGINT, &on_interrupt)) {}
  ~Interrupts() { std::signal(SIGINT, before_); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  static bool came() { return came_ != 0; }

 private:
  static void on_interrupt(int) {
    came_ = 1;
    std::signal(SIGINT, SIG_DFL);
  }
  static inline volatile std::sig_atomic_t came_ = 0;
  void (*before_)(int);
};

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_INTERRUPTS_H_
