// A thread for each context, in a closed loop. Part of analyze/.
#include "analyze/contexts.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <thread>

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

// What the work says, of context `index`; memory that it lacks is an error like others.
template <class Work>
Status attempt(std::size_t index, std::size_t count, const Work& work) {
  Errors errors;
  try {
    const Status done = work();
    if (done) return done;
    errors = done.errors();
  } catch (const std::bad_alloc&) {
    errors = {Error{.kind = ErrorKind::resource, .found = "not enough memory"}};
  }
  if (count == 1) return errors;
  const std::string which = "context " + std::to_string(index + 1) + " of " + std::to_string(count);
  for (Error& error : errors) error.where = which + (error.where.empty() ? "" : ", " + error.where);
  return errors;
}

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

// What the drivers of the contexts share.
struct Crew {
  explicit Crew(std::size_t count) : measuring(count), is_warm(static_cast<std::ptrdiff_t>(count), Begin{this}) {}
  struct Begin {
    Crew* crew;
    void operator()() noexcept { crew->begin = Clock::now(); }
  };
  const Clock::time_point start = Clock::now();
  Clock::time_point begin, end;        // of the time that all are busy
  std::atomic<std::size_t> measuring;  // contexts that have not measured enough
  std::atomic<bool> has_failed{false};
  std::barrier<Begin> is_warm;  // all have had their first run
};

// One context's runs, each with its times.
class Driver {
 public:
  Driver(Session& session, Crew& crew) : session_(&session), crew_(&crew) {}

  Status run() {
    run_begin_ = Clock::now();
    const Status done = session_->run();
    run_end_ = Clock::now();
    return done;
  }

  Status measure(std::int64_t count, double seconds) {
    const auto wants_more = [&] {
      return count > 0 ? static_cast<std::int64_t>(runs_ns.size()) < count
                       : seconds_between(crew_->start, Clock::now()) < seconds;
    };
    do {
      if (const Status done = run(); !done) return done;
      runs_ns.push_back((run_end_ - run_begin_).count());
    } while (wants_more() && !crew_->has_failed);
    return ok_status();
  }

  // Until the others have measured enough, too.
  Status keep_busy() {
    // Not the end of its own run: others that counted before may have ended later.
    if (--crew_->measuring == 0) crew_->end = Clock::now();
    while (crew_->measuring > 0 && !crew_->has_failed) {
      if (const Status done = run(); !done) return done;
      ++other_runs_;
    }
    return ok_status();
  }

  // Runs within the time that all were busy. Only the last one may have ended after it.
  double completed() const {
    const double beyond = seconds_between(crew_->end, run_end_) / seconds_between(run_begin_, run_end_);
    return static_cast<double>(runs_ns.size()) + other_runs_ - std::clamp(beyond, 0.0, 1.0);
  }

  std::vector<std::int64_t> runs_ns;  // measured

 private:
  Session* session_;
  Crew* crew_;
  double other_runs_ = 0.0;
  Clock::time_point run_begin_, run_end_;  // of the last one
};

}  // namespace

std::vector<Contexts> with_one_context_each(std::span<const int> counts, std::optional<int> threads, int cores) {
  std::vector<Contexts> list;
  const auto add = [&](const Contexts& contexts) {
    if (std::find(list.begin(), list.end(), contexts) == list.end()) list.push_back(contexts);
  };
  for (const int count : counts) {
    const Contexts contexts{count, threads.value_or(std::max(1, cores / count))};
    add({1, contexts.total_threads()});
    add(contexts);
  }
  return list;
}

Result<std::vector<Session>> create_sessions(const v1::Model& model, const RunChoice& choice, int count) {
  std::vector<Session> sessions;
  const auto add_one = [&]() -> Status {
    const v1::ThreadPool pool(model.threads());
    auto session = Session::create(model, choice, &pool);
    if (!session) return session.errors();
    sessions.push_back(std::move(*session));
    return ok_status();
  };
  const auto total = static_cast<std::size_t>(count);
  while (sessions.size() < total) {
    if (const Status done = attempt(sessions.size(), total, add_one); !done) return done.errors();
  }
  return sessions;
}

Result<RunTimes> run_at_once(std::span<Session> sessions, std::int64_t count, double seconds) {
  Crew crew(sessions.size());
  std::vector<Driver> drivers;
  for (Session& session : sessions) drivers.emplace_back(session, crew);
  std::vector<Status> ends(sessions.size(), ok_status());
  const auto drive = [&](std::size_t index) {
    Driver& driver = drivers[index];
    const auto go_on = [&](const auto& work) {
      if (crew.has_failed) return;
      ends[index] = attempt(index, sessions.size(), work);
      if (!ends[index]) crew.has_failed = true;
    };
    go_on([&] { return driver.run(); });
    crew.is_warm.arrive_and_wait();
    go_on([&] { return driver.measure(count, seconds); });
    go_on([&] { return driver.keep_busy(); });
  };
  std::vector<std::thread> others;
  try {
    others.reserve(sessions.size());
    while (others.size() + 1 < sessions.size()) others.emplace_back(drive, others.size() + 1);
  } catch (const std::exception& error) {
    const std::size_t missing = sessions.size() - 1 - others.size();
    ends.back() = Error{.kind = ErrorKind::resource,
                        .where = "threads for " + std::to_string(sessions.size()) + " contexts",
                        .found = std::to_string(missing) + " too few: " + error.what()};
    crew.has_failed = true;
    static_cast<void>(crew.is_warm.arrive(static_cast<std::ptrdiff_t>(missing)));
  }
  drive(0);
  for (std::thread& other : others) other.join();
  RunTimes times{.seconds = seconds_between(crew.begin, crew.end)};
  for (std::size_t i = 0; i < sessions.size(); ++i) {
    if (!ends[i]) return std::move(ends[i]).errors();
    times.completed += drivers[i].completed();
    times.runs_ns.push_back(std::move(drivers[i].runs_ns));
  }
  return times;
}

}  // namespace octavo
