// Contexts of one loaded model that run at the same time, each with threads of its own. Part of analyze/.
#ifndef OCTAVO_ANALYZE_CONTEXTS_H_
#define OCTAVO_ANALYZE_CONTEXTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyze/session.h"

namespace octavo {

// How many requests are in flight, and who computes each.
struct Contexts {
  int count = 1;
  int threads = 1;  // of each
  int total_threads() const { return count * threads; }
  bool operator==(const Contexts&) const = default;
};

// What `bench --contexts` measures: for each count one context with as many threads in all, then the count itself;
// nothing twice. Threads of each: as given, else the cores shared out, at least 1.
std::vector<Contexts> with_one_context_each(std::span<const int> counts, std::optional<int> threads, int cores);

// A session for each context, with the model's threads for each, in pools of their own. Error: as of Model::find_plan
// and Context::create, saying which context lacked memory.
Result<std::vector<Session>> create_sessions(const v1::Model& model, const RunChoice& choice, int count);

// What contexts did at the same time.
struct RunTimes {
  std::vector<std::vector<std::int64_t>> runs_ns;  // by context, in the order measured
  double seconds = 0.0;                            // that all were busy
  double completed = 0.0;                          // runs of all in that time; of one that it cuts off, the part in it
};

// Every session runs again and again, all at the same time: `count` times where that is above 0, else until `seconds`
// are over, and at least once. The first run of each is not counted. Who has measured enough goes on until all have, so
// that every measured run had the others beside it. Error: resource, saying which context failed; the others end with
// the run they are in.
Result<RunTimes> run_at_once(std::span<Session> sessions, std::int64_t count, double seconds);

}  // namespace octavo

#endif  // OCTAVO_ANALYZE_CONTEXTS_H_
