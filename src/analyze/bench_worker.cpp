// One variant of a benchmark in its own process. Part of analyze/.
// Orders, one per line: "runs N" (N runs of each context), "slice SECONDS" (at least one run), "end". Answers, one JSON
// object per line. The first run of a slice finds the caches full of another variant's data: run_at_once leaves it out.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "analyze/bench.h"

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

// A line of what the system knows of this process: "VmHWM:", the largest resident size so far (getrusage would count
// the parent's before exec), or "RssAnon:", what is resident and of no file. 0 where it is not told.
std::uint64_t memory_bytes(const std::string& line) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::uint64_t kilobytes = 0;
    if (word == line && status >> kilobytes) return kilobytes << 10;
  }
  return 0;
}

Status obey(std::vector<Session>& sessions, const std::string& line, nlohmann::json& reply) {
  std::istringstream words(line);
  std::string order;
  double amount = 0.0;
  words >> order >> amount;
  const bool is_count = order == "runs";
  const auto times =
      run_at_once(sessions, is_count ? std::max<std::int64_t>(1, static_cast<std::int64_t>(amount)) : 0, amount);
  if (!times) return times.errors();
  reply = {{"runs_ns", times->runs_ns},
           {"seconds", times->seconds},
           {"completed", times->completed},
           {"peak_rss_mb", static_cast<double>(memory_bytes("VmHWM:")) / (1 << 20)}};
  return ok_status();
}

nlohmann::json described(const Session& session) {
  return {{"precision", name_of(session.plan().precision)},
          {"batch", session.plan().batch},
          {"shapes", shapes_of(session.plan().inputs)},
          {"threads", session.threads()},
          {"macs", session.plan().macs},
          {"is_for_device", session.plan().is_for_device},
          {"context_bytes", session.memory_bytes()}};
}

// Until the end.
int obey_all(std::vector<Session>& sessions) {
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    nlohmann::json reply;
    if (const Status done = obey(sessions, line, reply); !done) return fail(done.errors());
    answer(reply);
  }
  return 0;
}

// A model of several parts: what it plans for sizes that come is part of the first run.
int bench_program(const v1::CompiledModel& compiled, const BenchVariant& variant, const Contexts& contexts,
                  const FillInputs& fill, Clock::time_point start) {
  std::vector<Session> sessions;
  for (int i = 0; i < contexts.count; ++i) {
    auto session = Session::of_program(compiled, variant.choice, contexts.threads);
    if (!session) return fail(session.errors());
    if (const Status filled = fill(*session); !filled) return fail(filled.errors());
    sessions.push_back(std::move(*session));
  }
  const double load_ms = ms_since(start);
  const auto before = Clock::now();
  if (const Status done = sessions.front().run(); !done) return fail(done.errors());
  nlohmann::json told = described(sessions.front());
  told["load_ms"] = load_ms;
  told["first_run_ms"] = ms_since(before);
  told["model_bytes"] = compiled.info().constant_bytes;
  answer(told);
  return obey_all(sessions);
}

}  // namespace

int bench_worker(const BenchVariant& variant, const Contexts& contexts, const FillInputs& fill) {
  const std::uint64_t bytes_before = memory_bytes("RssAnon:");
  const auto start = Clock::now();
  const auto compiled = v1::open(variant.file);
  if (!compiled) return fail(compiled.errors());
  if (!compiled->info().parts.empty()) return bench_program(*compiled, variant, contexts, fill, start);
  const auto model = v1::Model::load(*compiled, variant.choice.settings.with(contexts.threads));
  if (!model) return fail(model.errors());
  const double model_ms = ms_since(start);
  const std::uint64_t bytes_loaded = memory_bytes("RssAnon:");
  const auto loaded = Clock::now();
  auto sessions = create_sessions(*model, variant.choice, contexts.count);
  if (!sessions) return fail(sessions.errors());
  const double contexts_ms = ms_since(loaded);
  const v1::PlanCacheInfo made = model->plan_cache();
  const double planning_ms = made.made > 0 ? contexts_ms : 0.0;  // which a request of a new size waits for
  for (Session& session : *sessions) {
    if (const Status filled = fill(session); !filled) return fail(filled.errors());
    if (!variant.choice.keeps_tensors_there) continue;
    if (const Status moved = session.move_to_device(variant.choice.settings.device); !moved)
      return fail(moved.errors());
  }
  Session& first = sessions->front();
  const auto before = Clock::now();
  if (const Status done = first.run(); !done) return fail(done.errors());
  nlohmann::json told = described(first);
  told["load_ms"] = model_ms + contexts_ms - planning_ms;
  told["first_run_ms"] = planning_ms + ms_since(before);
  told["model_bytes"] =
      model->info().constant_bytes + made.packed_bytes + std::max(bytes_loaded, bytes_before) - bytes_before;
  answer(told);
  return obey_all(*sessions);
}

}  // namespace octavo
