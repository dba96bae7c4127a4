// Signals, standard descriptors, the end of the process. Part of cli/.
#include "cli/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <new>
#include <system_error>

#include "base/file.h"
#include "cli/common.h"

namespace octavo::cli {
namespace {

constexpr int kResources = 5;  // as exit_code() says of these errors

// The second signal, or the default action after this one, ends the process as the shell expects.
void end_by(int signal) {
  cleanup_unfinished_files();
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Pages of a mapped file that are not there any more; anything else that raises SIGBUS is none of ours.
void on_bus_error(int signal, siginfo_t* info, void*) {
  if (info->si_code != BUS_ADRERR) return end_by(signal);
  cleanup_unfinished_files();
  constexpr std::string_view kMessage =
      "octavo: a mapped .octv file: found it cut off or overwritten while it was in use, expected a file that stays as "
      "it is. Replace a file by renaming a new one over it\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  ::_exit(kResources);
}

// Reading from standard input finds its end, writing to the others fails.
void keep_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", O_RDONLY);
  }
}

int output_failed(int error) {
  if (error == EPIPE) end_by(SIGPIPE);
  return report({.kind = ErrorKind::resource,
                 .where = "standard output",
                 .found = "cannot be written: " + std::generic_category().message(error)});
}

}  // namespace

void prepare_process() {
  keep_standard_descriptors();
  std::signal(SIGINT, &end_by);
  std::signal(SIGTERM, &end_by);
  // Errors of the call that writes: a pipe that nobody reads, a file beyond the limit of its size.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction bus {};
  bus.sa_sigaction = &on_bus_error;
  bus.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &bus, nullptr);
}

void flush_output() {
  if (std::fflush(stdout) != 0) throw std::system_error(errno, std::generic_category(), "standard output");
}

int run_guarded(const std::function<int()>& verb) {
  try {
    const int code = verb();
    flush_output();
    return code;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) return output_failed(error.code().value());
    return report({.kind = ErrorKind::resource, .where = "system", .found = error.what()});
  } catch (const std::bad_alloc&) {
    return report({.kind = ErrorKind::resource, .where = "memory", .found = "less than this model needs"});
  }
}

void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace octavo::cli
