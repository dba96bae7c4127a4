// Running the built program. For the tests of cli/ and errors/.
#include "support/child.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace octavo::testing {
namespace {

namespace fs = std::filesystem;

const char* const kProgram = OCTAVO_BINARY_DIR "/bin/octavo";
// Sanitized and on a busy machine, a case takes seconds; a hang must still end.
const char* const kTimeLimit = "timeout 120 ";

}  // namespace

ScratchFolder::ScratchFolder() {
  static std::atomic<int> count{0};
  const fs::path path =
      fs::temp_directory_path() / ("octavo_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
  fs::create_directories(path);
  path_ = path.string();
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::set<std::string> ScratchFolder::names() const {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_))
    names.insert(fs::relative(entry.path(), path_).string());
  return names;
}

void ScratchFolder::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

bool has_program() { return fs::exists(kProgram); }

namespace {

// In the child: fd leads to `stream`, or to `text`.
void connect(int fd, Stream stream, int text) {
  if (stream == Stream::text) ::dup2(text, fd);
  if (stream == Stream::full_disk) ::dup2(::open("/dev/full", O_WRONLY), fd);
  if (stream == Stream::closed) ::close(fd);
  if (stream != Stream::closed_pipe) return;
  int pipe[2];
  if (::pipe(pipe) != 0) ::_exit(126);
  ::dup2(pipe[1], fd);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

// Standard output and error as told; all that is written to the texts, and how the command ended.
Outcome run_shell(const std::string& command, Stream output, Stream error) {
  Outcome outcome;
  int text[2];
  if (::pipe2(text, O_CLOEXEC) != 0) return outcome;
  const pid_t pid = ::fork();
  if (pid == 0) {
    connect(STDOUT_FILENO, output, text[1]);
    connect(STDERR_FILENO, error, text[1]);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(text[1]);
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(text[0], buffer, sizeof buffer)) > 0;)
    outcome.text.append(buffer, static_cast<std::size_t>(got));
  ::close(text[0]);
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) return outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string in_folder(const ScratchFolder& folder) { return "cd '" + folder.path() + "' && "; }

}  // namespace

Outcome run_command(const ScratchFolder& folder, const std::string& command) {
  return run_shell(in_folder(folder) + "export PATH='" OCTAVO_BINARY_DIR "/bin':\"$PATH\" && " + command, Stream::text,
                   Stream::text);
}

Outcome run_program_into(const ScratchFolder& folder, const std::string& arguments, Stream output, Stream error) {
  return run_shell(in_folder(folder) + "exec " + kTimeLimit + kProgram + " " + arguments, output, error);
}

Outcome run_program(const ScratchFolder& folder, const std::string& arguments) {
  Outcome outcome = run_shell(in_folder(folder) + kTimeLimit + kProgram + " " + arguments, Stream::text, Stream::text);
  // The shell and timeout report a signal as 128 + its number, and the time limit as 124.
  if (outcome.exit_code == 124 || outcome.exit_code >= 128) outcome.exit_code = -1;
  return outcome;
}

std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string source_file(const std::string& path) { return read_bytes(OCTAVO_SOURCE_DIR "/" + path); }

}  // namespace octavo::testing
