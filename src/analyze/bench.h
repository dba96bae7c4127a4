// bench: how fast models run, each variant in a process of its own, in turns. Part of analyze/.
#ifndef OCTAVO_ANALYZE_BENCH_H_
#define OCTAVO_ANALYZE_BENCH_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/run.h"

namespace octavo {

// One row of the table: a compiled file and the plan to run.
struct BenchVariant {
  std::string model;  // as the user named it
  std::string file;   // the .octv that holds it
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  bool is_auto = false;  // the precision, whichever it came to, was chosen by time
  std::string_view precision_name() const { return is_auto ? "auto" : name_of(precision); }
};

struct BenchOptions {
  double seconds = 3.0;                       // per variant, measured runs only
  std::int64_t warmup = 3;                    // runs before measuring, per variant
  int threads = 0;                            // 0: all cores
  std::function<void(double done)> progress;  // share of the whole, 0 to 1
};

struct BenchRun {
  BenchVariant variant;
  int threads = 1;
  std::vector<std::int64_t> runs_ns;  // in the order measured
  double load_ms = 0.0;               // opening, verifying, preparing kernels, making the context
  double first_run_ms = 0.0;
  double peak_rss_mb = 0.0;             // of the variant's process
  double gmac = 0.0;                    // of one run
  std::optional<double> share_of_peak;  // of what the machine's multiply-add units can do in this precision

  double latency_ms(double quantile) const;  // 0: min, 0.5: median
  double throughput() const;                 // samples per second at the median
};

// Starts one child process per variant (this program again, with the hidden verb `bench-worker`), then lets them run
// one at a time, alternating in short slices, so that all see the same weather. Errors: what a child reports; resource
// where it dies.
Result<std::vector<BenchRun>> bench(const std::vector<BenchVariant>& variants, const BenchOptions& options);

// The child's side: reads orders from standard input, answers on standard output. Returns the exit code.
int bench_worker(const BenchVariant& variant, int threads);

// The object that `bench --json` writes.
nlohmann::json bench_json(const std::vector<BenchRun>& runs);
nlohmann::json machine_json();

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_BENCH_H_
