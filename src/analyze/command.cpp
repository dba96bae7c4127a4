// Starting a program, listening to it, ending it. Part of analyze/.
#include "analyze/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>

namespace octavo {
namespace {

constexpr std::size_t kLastWords = 16384;
constexpr int kPollMs = 50;

Error not_started(const std::string& program, int error) {
  return {.kind = ErrorKind::resource,
          .where = program,
          .found = std::string("a program that cannot be started (") + std::strerror(error) + ")"};
}

// Both ends close with it.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  void close(std::size_t end) {
    if (ends[end] >= 0) ::close(ends[end]);
    ends[end] = -1;
  }
  ~Pipe() {
    close(0);
    close(1);
  }
};

// In the child: becomes the program, or tells the error number.
[[noreturn]] void become(char* const* arguments, const Pipe& words, const Pipe& failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  ::dup2(words.ends[1], STDOUT_FILENO);
  ::dup2(words.ends[1], STDERR_FILENO);
  ::execvp(arguments[0], arguments);
  const int error = errno;
  [[maybe_unused]] const ssize_t told = ::write(failure.ends[1], &error, sizeof error);
  ::_exit(127);
}

// What it says until nothing more is there now; waits a moment for the first of it.
void listen(int fd, std::string& words) {
  pollfd waiting{fd, POLLIN, 0};
  if (::poll(&waiting, 1, kPollMs) <= 0) return;
  char buffer[kLastWords];
  ssize_t got = 0;
  // A program that never stops talking is still asked for its time.
  for (int round = 0; round < 16 && (got = ::read(fd, buffer, sizeof buffer)) > 0; ++round) {
    words.append(buffer, static_cast<std::size_t>(got));
    if (words.size() > kLastWords) words.erase(0, words.size() - kLastWords);
  }
  if (got == 0) ::poll(nullptr, 0, kPollMs);  // it closed its output, and may go on
}

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void wait_for(pid_t child, int fd, const CommandLimits& limits, CommandEnd& end) {
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) != child) {
    listen(fd, end.last_words);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    end.is_stopped = limits.goes_on && !limits.goes_on();
    end.is_late = !end.is_stopped && passed.count() > limits.seconds;
    if (!end.is_stopped && !end.is_late) continue;
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    break;
  }
  ::kill(-child, SIGKILL);  // what it left behind
  listen(fd, end.last_words);
  end.exit_code = exit_code_of(status);
}

}  // namespace

std::string CommandEnd::text() const {
  std::ostringstream text;
  if (is_late) text << "was ended at its limit of time";
  else if (is_stopped) text << "was stopped";
  else if (exit_code > 128) text << "ended by signal " << exit_code - 128;
  else text << "ended with exit code " << exit_code;
  return text.str();
}

Result<CommandEnd> run_command(const std::vector<std::string>& arguments, const CommandLimits& limits) {
  std::vector<std::string> texts = arguments;
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  Pipe output, failure;
  if (!output.open() || !failure.open()) return not_started(arguments[0], errno);
  const pid_t child = ::fork();
  if (child == 0) become(words.data(), output, failure);
  if (child < 0) return not_started(arguments[0], errno);
  ::setpgid(child, child);  // before anyone kills the group; fails where the child was faster
  output.close(1);
  failure.close(1);
  int error = 0;
  if (::read(failure.ends[0], &error, sizeof error) == sizeof error) {
    ::waitpid(child, nullptr, 0);
    return not_started(arguments[0], error);
  }
  ::fcntl(output.ends[0], F_SETFL, O_NONBLOCK);
  CommandEnd end;
  wait_for(child, output.ends[0], limits, end);
  return end;
}

}  // namespace octavo
