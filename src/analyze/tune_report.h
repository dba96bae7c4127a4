// TuneReport: what a tuner found, as a table, JSON and a page with curves. Part of analyze/.
#ifndef OCTAVO_ANALYZE_TUNE_REPORT_H_
#define OCTAVO_ANALYZE_TUNE_REPORT_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyze/bench.h"
#include "tuner/tuner.h"

namespace octavo {

// A call of the network: what plans took of it before, and take now.
struct TunedCall {
  std::string call;  // describe_call
  int threads = 1;
  double calls = 0.0;  // in a run, one after the other
  std::size_t ways = 0;
  std::int64_t trials = 0;
  double default_us = 0.0, best_us = 0.0;  // of one call, timed in turns
  std::string default_way, best_way;       // "kernel: tiles=2 chunks=4"
};

struct TuneReport {
  std::string model, machine;
  std::vector<TunedCall> calls;
  std::vector<TuneHistory> histories;  // of each tuner that was asked for
  double seconds = 0.0;
  std::vector<BenchRun> runs;  // of the whole network in turns: default, tuned, fp32
};

// Of all histories; in the last of them the winners of the others took part.
std::vector<TunedCall> tuned_calls(const std::vector<TuningTask>& tasks, const std::vector<TuneHistory>& histories);

// The calls that gained most, and what the network gained.
std::string tune_text(const TuneReport& report);
nlohmann::json tune_json(const TuneReport& report);
std::string tune_html(const TuneReport& report);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_TUNE_REPORT_H_
