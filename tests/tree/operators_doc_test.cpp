// docs/operators.md is what the operators and kernels say of themselves. OCTAVO_WRITE_DOCS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/kernel.h"
#include "ops/list.h"

namespace octavo {
namespace {

constexpr std::string_view kHead = R"(# Operators

What Octavo computes: every operator of a graph, imported or made by lowering. Generated from the operators' own descriptions
(`src/ops/*/*.cpp`) and the lists of kernels; `OCTAVO_WRITE_DOCS=1 build/bin/tree_tests` writes it anew.

- *Read from*: an operator of each format that becomes it, where one does; lowering makes the others.
- *In an 8-bit network*: what lowering makes of it; of operators on integers, nothing else.
- *Kernels*: by instruction set, the reference apart. Those named `sliced` give slices of the work to the reference's scalar code.

| operator | meaning | read from | in an 8-bit network | kernels |
| --- | --- | --- | --- | --- |
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

std::string inputs_of(const OpSpec& op) {
  std::string text;
  for (const std::string_view input : op.inputs) text += (text.empty() ? "" : ", ") + std::string(input);
  return text;
}

std::string kernels_of(const OpSpec& op) {
  std::set<std::pair<bool, std::string>> found;  // oneDNN's last
  for (const KernelCode* kernel : all_codes()) {
    if (kernel->op != op.name) continue;
    const bool is_sliced = kernel->name.starts_with("sliced_"), is_onednn = kernel->name.ends_with("_onednn");
    found.insert({is_onednn, is_onednn ? "oneDNN" : is_sliced ? "sliced" : std::string(name_of(kernel->needs))});
  }
  std::string text;
  for (const auto& [is_onednn, name] : found) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string row_of(const OpSpec& op) {
  const std::string form = !op.integer_form.empty() ? std::string(op.integer_form) : op.is_integer ? "itself" : "float";
  return "| `" + std::string(op.name) + "(" + inputs_of(op) + ")` | " + escaped(op.summary) + " | " +
         std::string(op.read_from.empty() ? "-" : op.read_from) + " | " + form + " | " + kernels_of(op) + " |\n";
}

std::string document() {
  std::string text(kHead);
  for (const OpSpec* op : all_ops()) text += row_of(*op);
  return text;
}

TEST(OperatorsDoc, IsWhatTheOperatorsSay) {
  const std::string path = std::string(OCTAVO_SOURCE_DIR) + "/docs/operators.md";
  if (std::getenv("OCTAVO_WRITE_DOCS") != nullptr) std::ofstream(path) << document();
  std::ostringstream written;
  written << std::ifstream(path).rdbuf();
  EXPECT_EQ(written.str(), document()) << "OCTAVO_WRITE_DOCS=1 writes docs/operators.md anew";
}

}  // namespace
}  // namespace octavo
