// The child, and what is said between the two. Part of tuner/.
#include "tuner/measurer.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

namespace octavo {
namespace {

struct Order {
  std::uint64_t task = 0, way = 0;
};

struct Answer {
  double ns = 0.0, median_ns = 0.0;
  std::array<char, 512> failure{};
};

// What a process for a device says first: whether it has it.
struct Greeting {
  ErrorKind kind = ErrorKind::resource;
  std::array<char, 512> where{}, found{}, expected{};  // found nothing: it has
};

bool write_all(int fd, const void* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t written = ::send(fd, static_cast<const char*>(data) + done, size - done, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    done += static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int fd, void* data, std::size_t size) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t count = ::read(fd, static_cast<char*>(data) + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// Whether there is something to read, or the other end is gone, in time.
bool wait_for(int fd, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

Error no_process() {
  return {.kind = ErrorKind::resource, .found = "no process for measuring: " + std::string(std::strerror(errno))};
}

template <std::size_t size>
void copy_text(const std::string& text, std::array<char, size>& to) {
  std::strncpy(to.data(), text.c_str(), size - 1);
}

Answer measurer_failed(const std::string& reason) {
  Answer answer;
  copy_text(reason, answer.failure);
  return answer;
}

Answer time(Trial& trial, const Way& way, int threads, const TimeEvaluator& evaluator) {
  // A step is cut into parts by what is predicted for one thread.
  if (const Status prepared = trial.prepare(*way.kernel, way.schedule, way.predicted_ns * threads); !prepared)
    return measurer_failed(prepared.errors()[0].message());
  auto times = trial.time(evaluator);
  if (!times) return measurer_failed(times.errors()[0].message());
  std::sort(times->begin(), times->end());
  return {.ns = times->front(), .median_ns = (*times)[times->size() / 2]};
}

}  // namespace

Status Measurer::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return no_process();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    serve(ends[1]);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  if (child_ > 0) return options_.is_on_device ? hear_greeting() : ok_status();
  end();
  return no_process();
}

// The device is opened there and never here: what was opened before a process was forked is of no use to it.
Status Measurer::greet(int socket, std::shared_ptr<const void>& device) const {
  auto opened = open_device(options_.trial.device);
  Greeting greeting;
  if (opened) {
    device = std::move(*opened);
  } else {
    const Error& error = opened.errors()[0];
    greeting.kind = error.kind;
    copy_text(error.where, greeting.where);
    copy_text(error.found, greeting.found);
    copy_text(error.expected, greeting.expected);
  }
  return write_all(socket, &greeting, sizeof greeting) ? ok_status() : no_process();
}

Status Measurer::hear_greeting() {
  constexpr double kSecondsToOpen = 60.0;
  Greeting greeting;
  if (!wait_for(socket_, kSecondsToOpen) || !read_all(socket_, &greeting, sizeof greeting))
    return Error{.kind = ErrorKind::resource, .found = "a device that is not opened: the process for it " + end()};
  if (greeting.found[0] == '\0') return ok_status();
  end();
  return Error{.kind = greeting.kind,
               .where = greeting.where.data(),
               .found = greeting.found.data(),
               .expected = greeting.expected.data()};
}

void Measurer::serve(int socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // the parent decides what is left to do
  std::shared_ptr<const void> device;
  if (options_.is_on_device && !greet(socket, device)) ::_exit(1);
  std::unique_ptr<Trial> trial;
  std::uint64_t task_of_trial = 0;
  for (Order order; read_all(socket, &order, sizeof order);) {
    const TuningTask& task = tasks_[order.task];
    if (trial == nullptr || task_of_trial != order.task) {
      trial.reset();
      trial = std::make_unique<Trial>(task.call->call(), task.threads, options_.trial);
      task_of_trial = order.task;
    }
    const Answer answer = time(*trial, task.ways[order.way], task.threads, options_.evaluator);
    if (!write_all(socket, &answer, sizeof answer)) break;
  }
  ::_exit(0);
}

// One that died before keeps the status that it died with.
std::string Measurer::end() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  if (child_ <= 0) return {};
  int status = 0;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFSIGNALED(status)) return "ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

Result<TrialTimes> Measurer::measure(std::size_t task, std::size_t way) {
  if (child_ < 0) {
    if (const Status started = start(); !started) return started.errors();
  }
  const Order order{task, way};
  Answer answer;
  if (!write_all(socket_, &order, sizeof order)) return TrialTimes{.failure = end()};
  if (!wait_for(socket_, options_.timeout_seconds)) {
    end();
    std::ostringstream limit;
    limit << "ran into the limit of " << options_.timeout_seconds << " s";
    return TrialTimes{.failure = limit.str()};
  }
  if (!read_all(socket_, &answer, sizeof answer)) return TrialTimes{.failure = end()};
  return TrialTimes{answer.ns, answer.median_ns, answer.failure.data()};
}

}  // namespace octavo
