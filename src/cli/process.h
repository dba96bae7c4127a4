// The process around a verb: signals, standard input, output and error, and how it ends. Part of cli/.
#ifndef OCTAVO_CLI_PROCESS_H_
#define OCTAVO_CLI_PROCESS_H_

#include <fmt/format.h>

#include <functional>
#include <string>

namespace octavo::cli {

// Before anything else. A descriptor among 0 to 2 that is closed is opened so that no file takes its place; what is
// written there fails, as before. SIGINT and SIGTERM remove half-written files and end the process as the shell
// expects. SIGBUS where a mapped file was cut off or overwritten under the process is an error of resources.
void prepare_process();

// The exit code of `verb`, or of what ended it: 5 where memory, threads or standard output gave out. Where nobody reads
// standard output any more, the process ends by SIGPIPE, without a word.
int run_guarded(const std::function<int()>& verb);

// What was printed so far is with the reader now. Throws std::system_error, as fmt::print does.
void flush_output();

// Prints on standard error. What cannot be written there is lost: the exit code tells, too.
void tell(const std::string& text);
template <class... Arguments>
void tell(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  tell(fmt::format(format, std::forward<Arguments>(arguments)...));
}

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_PROCESS_H_
