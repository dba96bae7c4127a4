// The built program as a child process, in a folder of its own. For the tests of cli/ and errors/.
#ifndef OCTAVO_TESTS_SUPPORT_CHILD_H_
#define OCTAVO_TESTS_SUPPORT_CHILD_H_

#include <set>
#include <string>

namespace octavo::testing {

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal, or by the time limit
  std::string text;    // standard output and error together
};

// A folder under the system's temporary one, removed with what is in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Files and folders in it, at any depth, relative to it.
  std::set<std::string> names() const;
  void write(const std::string& name, const std::string& bytes) const;

 private:
  std::string path_;
};

// The program of this build; tests skip where it was not built.
bool has_program();
// "octavo ARGUMENTS", with the folder as working directory; arguments are quoted for the shell by the caller.
Outcome run_program(const ScratchFolder& folder, const std::string& arguments);

// A shell command in which `octavo` is the program, in that folder; its output and error as in run_program. The signal
// that ends the command, not a shell around it, is an exit code above 128, as a shell tells it.
Outcome run_command(const ScratchFolder& folder, const std::string& command);

// Where a standard stream of a process may lead to.
enum class Stream { text, full_disk, closed_pipe, closed };
// "octavo ARGUMENTS" with such streams. `text` has what was written to those that are Stream::text; an exit code above
// 128 stands for a signal.
Outcome run_program_into(const ScratchFolder& folder, const std::string& arguments, Stream output, Stream error);

// All bytes of a file; none where it cannot be read.
std::string read_bytes(const std::string& path);
// The same of a file of the source tree.
std::string source_file(const std::string& path);

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_SUPPORT_CHILD_H_
