// What the tests of the built program share. Part of tests/cli/.
#ifndef OCTAVO_TESTS_CLI_FIXTURE_H_
#define OCTAVO_TESTS_CLI_FIXTURE_H_

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/child.h"

namespace octavo {

// A folder to run the program in.
class CliTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_program()) GTEST_SKIP() << "needs program: it was not built";
  }

  std::string path(const std::string& name) const { return folder_.path(name); }
  testing::Outcome octavo(const std::string& arguments) const { return testing::run_program(folder_, arguments); }

  void expect(const std::string& arguments, int exit_code, const std::string& part) const {
    const testing::Outcome outcome = octavo(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << "\n" << outcome.text;
  }

  nlohmann::json json(const std::string& name) const {
    std::ifstream file(path(name));
    return nlohmann::json::parse(file, nullptr, false);
  }

  testing::ScratchFolder folder_;
  const std::string digits_ = std::string(OCTAVO_SOURCE_DIR) + "/examples/digits/";
};

}  // namespace octavo

#endif  // OCTAVO_TESTS_CLI_FIXTURE_H_
