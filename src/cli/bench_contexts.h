// bench --contexts: several requests in flight at a time. Part of cli/.
#ifndef OCTAVO_CLI_BENCH_CONTEXTS_H_
#define OCTAVO_CLI_BENCH_CONTEXTS_H_

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyze/bench.h"

namespace octavo::cli {

struct ContextsArguments {
  std::vector<int> counts;  // empty: not asked for
  std::optional<int> threads_per_context;
};

void add_contexts_options(CLI::App& verb, ContextsArguments& arguments);

// What to measure of each variant: what the options ask for, each beside one context with as many threads; without
// them the one that has no contexts. `threads`: what --threads says, or 0. Error: usage.
Result<std::vector<std::optional<Contexts>>> contexts_of(const ContextsArguments& arguments, int threads);

// "1x3x224x224" where the batch does not tell the plan, else nothing.
std::string shape_text(const BenchRun& run);
// That, or "batch 8".
std::string size_text(const BenchRun& run);

// Latency, throughput and memory, and what each number of contexts gains and costs against one.
void print_contexts(std::span<const BenchRun> runs);

}  // namespace octavo::cli

#endif  // OCTAVO_CLI_BENCH_CONTEXTS_H_
