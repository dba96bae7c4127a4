// Lists of node tests. Part of the conformance runner.
#include "conformance/scope.h"

#include <fstream>

namespace octavo::conformance {
namespace {

std::vector<std::string> read_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::set<std::string> read_names(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  return {lines.begin(), lines.end()};
}

std::map<std::string, std::string> read_reasons(const std::string& path) {
  std::map<std::string, std::string> reasons;
  for (const std::string& line : read_lines(path)) {
    const std::size_t end = line.find(' ');
    reasons[line.substr(0, end)] = end == std::string::npos ? "" : line.substr(end + 1);
  }
  return reasons;
}

Scope scope_of(const std::set<std::string>& tests, const std::set<std::string>& passing,
               const std::map<std::string, std::string>& out_of_scope) {
  Scope scope;
  for (const std::string& test : tests) {
    if (out_of_scope.count(test) != 0) continue;
    ++scope.tests;
    scope.passed += passing.count(test);
  }
  return scope;
}

std::vector<std::string> contradictions(const std::map<std::string, std::string>& out_of_scope,
                                        const std::set<std::string>& to_pass, const std::set<std::string>& passing) {
  std::vector<std::string> wrong;
  for (const auto& [test, reason] : out_of_scope) {
    if (reason.empty()) wrong.push_back(test + " is out of scope without a reason");
    if (to_pass.count(test) != 0) wrong.push_back(test + " is out of scope and in the list of those that pass");
    else if (passing.count(test) != 0) wrong.push_back(test + " is out of scope and passes");
  }
  if (out_of_scope.size() > kMostOutOfScope) {
    wrong.push_back(std::to_string(out_of_scope.size()) + " tests are out of scope, more than " +
                    std::to_string(kMostOutOfScope));
  }
  return wrong;
}

}  // namespace octavo::conformance
