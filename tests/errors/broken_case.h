// One broken file or wrong request: how it is made, what the program must answer. Part of tests/errors/.
#ifndef OCTAVO_TESTS_ERRORS_BROKEN_CASE_H_
#define OCTAVO_TESTS_ERRORS_BROKEN_CASE_H_

#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "support/child.h"

namespace octavo::testing {

// Exit codes of the command line.
inline constexpr int kUsage = 2;
inline constexpr int kInvalid = 3;
inline constexpr int kUnsupported = 4;
inline constexpr int kResource = 5;

struct BrokenCase {
  std::string name;                                 // of the test: letters and digits
  std::function<void(const ScratchFolder&)> write;  // makes the files
  std::string arguments;                            // of the program, which runs in that folder
  int exit_code = kInvalid;
  std::vector<std::string> parts;  // of the message: file, node, attribute or input, what was found
};

inline void PrintTo(const BrokenCase& broken, std::ostream* out) { *out << "octavo " << broken.arguments; }

// Each case is a test of its own. The program must give that exit code and name all of `parts`, and leave no file
// behind.
class Broken : public ::testing::TestWithParam<BrokenCase> {
 protected:
  void check() {
    if (!has_program()) GTEST_SKIP() << "needs program: it was not built";
    const BrokenCase& broken = GetParam();
    const ScratchFolder folder;
    broken.write(folder);
    const auto before = folder.names();
    const Outcome outcome = run_program(folder, broken.arguments);
    EXPECT_EQ(outcome.exit_code, broken.exit_code) << outcome.text;
    for (const std::string& part : broken.parts)
      EXPECT_NE(outcome.text.find(part), std::string::npos) << "no \"" << part << "\" in\n" << outcome.text;
    EXPECT_EQ(folder.names(), before) << "a file was left behind or changed its name";
  }
};

inline std::string name_of_case(const ::testing::TestParamInfo<BrokenCase>& info) { return info.param.name; }

}  // namespace octavo::testing

#endif  // OCTAVO_TESTS_ERRORS_BROKEN_CASE_H_
