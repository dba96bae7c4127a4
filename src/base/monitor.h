// How a long call tells what it is at and hears that it should stop. Part of base/.
#ifndef OCTAVO_BASE_MONITOR_H_
#define OCTAVO_BASE_MONITOR_H_

#include <cstdint>
#include <stop_token>

#include "base/result.h"
#include "octavo/progress.h"

namespace octavo {

struct Monitor {
  std::stop_token stop;
  ProgressFunction progress;

  // Error: cancelled, where the caller asked for the end.
  Status check() const {
    if (!stop.stop_requested()) return ok_status();
    return Error{.kind = ErrorKind::cancelled, .found = "a request to stop", .expected = "none"};
  }
  // The same, after telling. Whoever asked for the end, say in what another thread told, hears no more.
  Status at(Phase phase, std::int64_t done, std::int64_t total) const {
    if (Status asked = check(); !asked) return asked;
    if (progress) progress(phase, done, total);
    return check();
  }
};

}  // namespace octavo

#endif  // OCTAVO_BASE_MONITOR_H_
