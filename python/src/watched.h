// Long calls of the library: on a thread of their own, while the caller's tells progress and hears Ctrl-C. Part of the
// extension.
#ifndef OCTAVO_PYTHON_WATCHED_H_
#define OCTAVO_PYTHON_WATCHED_H_

#include <nanobind/nanobind.h>

#include <functional>

#include "bindings/bindings.h"

namespace octavo::python {

// Runs work(watch) to its end without the GIL. `progress`: None, or called as progress(phase, done, total) on the
// caller's thread with what is newest, some times a second. Where it raises, or a signal's handler does (Ctrl-C), the
// work is stopped, and that exception is thrown once it has ended.
void run_watched(const nanobind::object& progress, const std::function<void(const v1::Watch& watch)>& work);

}  // namespace octavo::python

#endif  // OCTAVO_PYTHON_WATCHED_H_
