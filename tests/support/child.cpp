// Running the built program. For the tests of cli/ and errors/.
#include "support/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
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

Outcome run_program(const ScratchFolder& folder, const std::string& arguments) {
  Outcome outcome;
  std::FILE* pipe =
      ::popen(("cd '" + folder.path() + "' && " + kTimeLimit + kProgram + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.text.append(buffer, got);
  const int status = ::pclose(pipe);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // The shell and timeout report a signal as 128 + its number, and the time limit as 124.
  outcome.exit_code = code == 124 || code >= 128 ? -1 : code;
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
