// Which node tests count: all but those of a list that says why not. Part of the conformance runner.
#ifndef OCTAVO_TESTS_CONFORMANCE_SCOPE_H_
#define OCTAVO_TESTS_CONFORMANCE_SCOPE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

namespace octavo::conformance {

// So many tests may be out of scope.
inline constexpr std::size_t kMostOutOfScope = 440;

// Names of tests, one a line; lines that are empty or start with '#' count for nothing.
std::set<std::string> read_names(const std::string& path);

// The same, each followed by a blank and the reason; by name.
std::map<std::string, std::string> read_reasons(const std::string& path);

struct Scope {
  std::size_t tests = 0, passed = 0;  // in scope

  // Of those in scope, in percent.
  double share() const { return tests == 0 ? 0.0 : 100.0 * static_cast<double>(passed) / static_cast<double>(tests); }
};
// Of all tests and of those that pass.
Scope scope_of(const std::set<std::string>& tests, const std::set<std::string>& passing,
               const std::map<std::string, std::string>& out_of_scope);

// What is wrong with the lists, in sentences: a test out of scope that passes or is to pass, one that gives no reason,
// too many of them.
std::vector<std::string> contradictions(const std::map<std::string, std::string>& out_of_scope,
                                        const std::set<std::string>& to_pass, const std::set<std::string>& passing);

}  // namespace octavo::conformance

#endif  // OCTAVO_TESTS_CONFORMANCE_SCOPE_H_
