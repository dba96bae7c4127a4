// bench --contexts. Part of cli/.
#include "cli/bench_contexts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "analyze/table.h"
#include "base/machine.h"
#include "cli/describe.h"

namespace octavo::cli {
namespace {

// Of all contexts together: far above any machine's cores, far below what a system refuses.
constexpr int kMaxThreads = 4096;

CLI::Validator count_up_to_max() {
  const auto check = [](const std::string& text) {
    int number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const bool is_good = error == std::errc{} && rest == end && number >= 1 && number <= kMaxThreads;
    return is_good ? "" : fmt::format("found '{}', expected a whole number from 1 to {}", text, kMaxThreads);
  };
  return CLI::Validator(check, "");
}

Error bench_contexts_usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string said(const Contexts& contexts) {
  return counted(contexts.count, "context") + " of " + counted(contexts.threads, "thread");
}

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.2f} MB", static_cast<double>(bytes) / (1 << 20)); }

// "2 contexts of 1 thread against 1 of 2: 1.31 times the inferences per second, 1.52 times the median latency, ..."
void print_gain(const BenchRun& run, const BenchRun& one, bool is_only_plan) {
  if (!is_only_plan) fmt::print("{} {} {}: ", run.variant.model, run.precision_name(), size_text(run));
  fmt::print(
      "{} against 1 of {}: {:.2f} times the inferences per second, {:.2f} times the median latency ({:.2f} times the "
      "p99), {} of contexts instead of {}\n",
      said(*run.variant.contexts), run.threads, run.runs_per_second() / one.runs_per_second(),
      run.latency_ms(0.5) / one.latency_ms(0.5), run.latency_ms(0.99) / one.latency_ms(0.99),
      megabytes(run.context_bytes * run.times.runs_ns.size()), megabytes(one.context_bytes));
}

}  // namespace

std::string shape_text(const BenchRun& run) { return run.variant.tells_shapes ? brief(run.shapes) : ""; }

std::string size_text(const BenchRun& run) {
  return run.variant.tells_shapes ? shape_text(run) : fmt::format("batch {}", run.batch);
}

void add_contexts_options(CLI::App& verb, ContextsArguments& arguments) {
  verb.add_option("--contexts", arguments.counts,
                  "so many requests in flight, each in a context of its own, beside one context with as many threads")
      ->delimiter(',')
      ->type_name("N[,N...]")
      ->check(count_up_to_max());
  verb.add_option("--threads-per-context", arguments.threads_per_context,
                  "threads of each of --contexts (default: the cores shared out, at least 1)")
      ->type_name("M")
      ->check(count_up_to_max());
}

Result<std::vector<std::optional<Contexts>>> contexts_of(const ContextsArguments& arguments, int threads) {
  const std::optional<int> each = arguments.threads_per_context;
  if (arguments.counts.empty()) {
    if (each)
      return bench_contexts_usage("--threads-per-context", std::to_string(*each),
                                  "--contexts beside it; --threads without");
    return std::vector<std::optional<Contexts>>{std::nullopt};
  }
  if (threads > 0)
    return bench_contexts_usage("--threads", counted(threads, "thread") + " beside --contexts",
                                "--threads-per-context");
  for (const int count : arguments.counts) {
    if (each.value_or(1) > kMaxThreads / count) {
      return bench_contexts_usage("--contexts", said({count, *each}),
                                  fmt::format("at most {} threads in all", kMaxThreads));
    }
  }
  const auto list = with_one_context_each(arguments.counts, each, host_machine().cores);
  return std::vector<std::optional<Contexts>>(list.begin(), list.end());
}

void print_contexts(std::span<const BenchRun> runs) {
  Table table({"", "shape", "#contexts", "#threads", "#batch", "#min", "#median", "#p90", "#p99", "#medians by context",
               "#inferences/s", "#samples/s", "#context", "#all contexts", "#model", "#process"});
  for (const BenchRun& run : runs) {
    const auto [lowest, highest] = run.lowest_highest_median();
    const bool is_one = run.variant.contexts->count == 1;
    table.add_row({fmt::format("{} {}", run.variant.model, run.precision_name()), shape_text(run),
                   std::to_string(run.variant.contexts->count), std::to_string(run.variant.contexts->threads),
                   std::to_string(run.batch), ms_text(run.latency_ms(0.0)), ms_text(run.latency_ms(0.5)),
                   ms_text(run.latency_ms(0.9)), ms_text(run.latency_ms(0.99)),
                   is_one ? "" : fmt::format("{} to {}", ms_text(lowest), ms_text(highest)),
                   fmt::format("{:.1f}", run.runs_per_second()), fmt::format("{:.1f}", run.throughput()),
                   megabytes(run.context_bytes), megabytes(run.context_bytes * run.times.runs_ns.size()),
                   megabytes(run.model_bytes), fmt::format("{:.0f} MB", run.peak_rss_mb)});
  }
  fmt::print("{}", table.text());
  const auto has_first_plan = [&](const BenchRun& run) { return run.is_of_plan_of(runs.front()); };
  const bool is_only_plan = std::all_of(runs.begin(), runs.end(), has_first_plan);
  for (const BenchRun& run : runs) {
    if (const BenchRun* one = one_context_beside(run, runs)) print_gain(run, *one, is_only_plan);
  }
  const int cores = host_machine().cores;
  for (const BenchRun& run : runs) {
    if (run.threads > cores && has_first_plan(run))
      fmt::print("note: {} for {}\n", counted(cores, "core"), said(*run.variant.contexts));
  }
}

}  // namespace octavo::cli
