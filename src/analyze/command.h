// Other programs, run to their end. Part of analyze/.
#ifndef OCTAVO_ANALYZE_COMMAND_H_
#define OCTAVO_ANALYZE_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace octavo {

struct CommandLimits {
  double seconds = 600.0;
  std::function<bool()> goes_on;  // asked several times a second, where there is one; false ends the program
};

struct CommandEnd {
  int exit_code = 0;         // 128 and the signal's number where one ended it
  bool is_late = false;      // it was ended at its limit
  bool is_stopped = false;   // it was ended because goes_on said so
  std::string last_words;    // of standard output and error together, 16 KB at most
  std::string text() const;  // "ended with exit code 3" and the like
};

// Runs arguments[0], looked up as a shell does, in a process group of its own that ends with it, or with this process.
// It reads nothing from standard input. Error (resource): it cannot be started.
Result<CommandEnd> run_command(const std::vector<std::string>& arguments, const CommandLimits& limits);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_COMMAND_H_
