// What programs with exceptions catch, and those without leave out. Part of base/.
#ifndef OCTAVO_BASE_EXCEPTIONS_H_
#define OCTAVO_BASE_EXCEPTIONS_H_

#include <cstdlib>
#include <new>

namespace octavo {

// Without exceptions, an allocation that the library does not ask for in advance (base/memory.h) ends the program.
#if defined(__cpp_exceptions)

inline constexpr bool kHasExceptions = true;

// body(), or otherwise() where an E was thrown.
template <class E, class Body, class Otherwise>
auto attempt(const Body& body, const Otherwise& otherwise) -> decltype(body()) {
  try {
    return body();
  } catch (const E&) {
    return otherwise();
  }
}

// The same for whatever was thrown.
template <class Body, class Otherwise>
auto attempt_all(const Body& body, const Otherwise& otherwise) -> decltype(body()) {
  try {
    return body();
  } catch (...) {
    return otherwise();
  }
}

[[noreturn]] inline void throw_bad_alloc() { throw std::bad_alloc(); }

#else

inline constexpr bool kHasExceptions = false;

template <class E, class Body, class Otherwise>
auto attempt(const Body& body, const Otherwise&) -> decltype(body()) {
  return body();
}

template <class Body, class Otherwise>
auto attempt_all(const Body& body, const Otherwise&) -> decltype(body()) {
  return body();
}

[[noreturn]] inline void throw_bad_alloc() { std::abort(); }

#endif

}  // namespace octavo

#endif  // OCTAVO_BASE_EXCEPTIONS_H_
