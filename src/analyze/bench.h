// bench: how fast models run, each variant in a process of its own, in turns. Part of analyze/.
#ifndef OCTAVO_ANALYZE_BENCH_H_
#define OCTAVO_ANALYZE_BENCH_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/contexts.h"
#include "octavo/run.h"

namespace octavo {

// One row of the table: a compiled file and what to run of it.
struct BenchVariant {
  std::string model;  // as the user named it
  std::string file;   // the .octv that holds it
  RunChoice choice;
  std::string_view word = "";             // "auto" or "tf32", where that was asked for, which the plan does not say
  bool tells_shapes = false;              // more than the batch is open: a batch does not tell the row
  std::optional<Contexts> contexts = {};  // none: one, with the threads of BenchOptions
  std::vector<std::string> inputs = {};   // NAME=FILE, for the child; others are filled with random numbers
};

struct BenchOptions {
  double seconds = 3.0;                       // per variant, measured runs only
  std::int64_t warmup = 3;                    // runs before measuring, per context
  int threads = 0;                            // of variants that say nothing of contexts; 0: all cores
  std::function<void(double done)> progress;  // share of the whole, 0 to 1
};

struct BenchRun {
  BenchVariant variant;
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  v1::InputShapes shapes;
  int threads = 1;                      // of all contexts together
  RunTimes times;                       // of all that was measured
  double load_ms = 0.0;                 // opening, verifying, preparing kernels, making the contexts
  double first_run_ms = 0.0;            // with planning and the contexts, where the file has no plan of the size
  double peak_rss_mb = 0.0;             // of the variant's process
  std::uint64_t context_bytes = 0;      // v1::Context::memory_bytes of each
  std::uint64_t model_bytes = 0;        // shared by all: packed weights, and what is resident of the rest once loaded
  double gmac = 0.0;                    // of one run
  bool is_for_device = false;           // a CUDA device runs it
  std::optional<double> share_of_peak;  // of what the host's multiply-add units can do in this precision

  std::string_view precision_name() const { return variant.word.empty() ? name_of(precision) : variant.word; }
  bool is_of_plan_of(const BenchRun& other) const;
  std::int64_t runs() const;                                // measured
  double latency_ms(double quantile) const;                 // of all of them; 0: min, 0.5: median
  std::pair<double, double> lowest_highest_median() const;  // in ms, of the contexts' own medians
  // At the median; where contexts were asked for, what they completed in the time that they all ran.
  double runs_per_second() const;
  double throughput() const { return static_cast<double>(batch) * runs_per_second(); }  // samples per second
};

// Starts one child process per variant (this program again, with the hidden verb `bench-worker`), then lets them run
// one at a time, alternating in short slices, so that all see the same weather. Errors: what a child reports; resource
// where it dies.
Result<std::vector<BenchRun>> bench(const std::vector<BenchVariant>& variants, const BenchOptions& options);

// The run of the same plan in one context with as many threads as the contexts of `run` have together; null where `run`
// is that itself.
const BenchRun* one_context_beside(const BenchRun& run, std::span<const BenchRun> runs);

// The child's side: reads orders from standard input, answers on standard output. Threads 0: all cores. Returns the
// exit code.
int bench_worker(const BenchVariant& variant, const Contexts& contexts, const FillInputs& fill);

// The object that `bench --json` writes.
nlohmann::json bench_json(const std::vector<BenchRun>& runs);
nlohmann::json machine_json();

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_BENCH_H_
