// One variant of a benchmark in its own process. Part of analyze/.
// Orders, one per line: "runs N" (N runs), "slice SECONDS" (at least one run), "end". Answers, one JSON object per
// line.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analyze/bench.h"
#include "analyze/model_file.h"
#include "base/file.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void answer(const nlohmann::json& object) { std::cout << object.dump() << std::endl; }

int fail(const Errors& errors) {
  answer({{"error", to_string(errors)}, {"exit_code", exit_code(errors)}});
  return exit_code(errors);
}

// Largest resident size so far, of this process only (getrusage would count the parent's before exec).
double peak_rss_mb() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return 0.0;
  char line[256];
  long kilobytes = 0;
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::sscanf(line, "VmHWM: %ld", &kilobytes) == 1) break;
  }
  std::fclose(file);
  return static_cast<double>(kilobytes) / 1024.0;
}

// Runs until `count` runs or `seconds` are over, whichever the order gives; at least one. The first run of a slice
// finds the caches full of another variant's data, so it is not counted unless it is the only one.
Status measure(Session& session, std::int64_t count, double seconds, std::vector<std::int64_t>& runs_ns) {
  const auto start = Clock::now();
  if (const Status done = session.run(); !done) return done;
  do {
    const auto before = Clock::now();
    if (const Status done = session.run(); !done) return done;
    runs_ns.push_back((Clock::now() - before).count());
  } while (count > 0 ? static_cast<std::int64_t>(runs_ns.size()) < count : ms_since(start) < seconds * 1e3);
  return ok_status();
}

Status obey(Session& session, const std::string& line, nlohmann::json& reply) {
  std::istringstream words(line);
  std::string order;
  double amount = 0.0;
  words >> order >> amount;
  std::vector<std::int64_t> runs_ns;
  const bool is_count = order == "runs";
  const Status done =
      measure(session, is_count ? std::max<std::int64_t>(1, static_cast<std::int64_t>(amount)) : 0, amount, runs_ns);
  reply = {{"runs_ns", runs_ns}, {"peak_rss_mb", peak_rss_mb()}};
  return done;
}

}  // namespace

int bench_worker(const BenchVariant& variant, int threads) {
  const auto start = Clock::now();
  const auto compiled = v1::open(variant.file);
  if (!compiled) return fail(compiled.errors());
  auto session = Session::create(*compiled, {variant.precision, variant.batch}, threads);
  if (!session) return fail(session.errors());
  const double load_ms = ms_since(start);
  if (const Status filled = fill_random(session->inputs()); !filled) return fail(filled.errors());
  const auto before = Clock::now();
  if (const Status done = session->run(); !done) return fail(done.errors());
  answer({{"load_ms", load_ms},
          {"first_run_ms", ms_since(before)},
          {"threads", session->threads()},
          {"macs", session->plan().macs}});
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    nlohmann::json reply;
    if (const Status done = obey(*session, line, reply); !done) return fail(done.errors());
    answer(reply);
  }
  return 0;
}

}  // namespace octavo
