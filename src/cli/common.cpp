// Errors and progress of the command line. Part of cli/.
#include "cli/common.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/process.h"

namespace octavo::cli {
int report(const Errors& errors) {
  for (const Error& error : errors) tell("octavo: {}\n", error.message());
  return exit_code(errors);
}
int report(Error error) { return report(Errors{std::move(error)}); }

Progress::Progress(std::string what)
    : what_(std::move(what)),
      is_terminal_(::isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (is_shown_ && is_terminal_) tell("\r\x1b[K");
}

void Progress::show(double done) { show(done, {}); }

void Progress::count(std::int64_t done, std::int64_t total, const std::string& more) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  if (total == 0) return show(std::nullopt, fmt::format(" {}", done) + more);
  std::string note = fmt::format(" {} of {}", done, total);
  if (done > 0 && seconds > 0.0) {
    const double rate = static_cast<double>(done) / seconds;
    note += fmt::format(", {:.1f}/s, {:.0f} s left", rate, static_cast<double>(total - done) / rate);
  }
  show(static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(total, 1)), note + more);
}

void Progress::show(std::optional<double> done, const std::string& note) {
  const auto now = std::chrono::steady_clock::now();
  const auto interval = is_terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  if (now - last_ < interval) return;
  last_ = now;
  is_shown_ = true;
  if (!is_terminal_) {
    tell("{}:{}{}\n", what_, done ? fmt::format(" {:.0f} %", *done * 100.0) : "", note);
    return;
  }
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(done.value_or(0.0) * kWidth);
  const std::string bar = fmt::format(" [{:<{}}] {:3.0f} %", std::string(static_cast<std::size_t>(filled), '#'), kWidth,
                                      done.value_or(0.0) * 100.0);
  tell("\r{}{}{}\x1b[K", what_, done ? bar : "", note);
}

ProgressFunction PhaseProgress::function() {
  return [this](Phase phase, std::int64_t done, std::int64_t total) {
    if (!bar_ || phase != phase_) {
      bar_.reset();  // its line is cleared before the next one's
      bar_.emplace(std::string(name_of(phase)));
      phase_ = phase;
    }
    bar_->count(done, total);
  };
}

int write_json(const std::string& path, const nlohmann::json& object) {
  const Status written = write_text(path, object.dump(2) + "\n");
  return written ? 0 : report(written.errors());
}

}  // namespace octavo::cli
