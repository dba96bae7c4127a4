// Result and Error: how every step of the library says that it could not do its work. Part of the public API. The
// library never prints and never ends the process; it returns these. What is thrown is std::bad_alloc, and what a
// caller's own function throws.
#ifndef OCTAVO_RESULT_H_
#define OCTAVO_RESULT_H_

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace octavo {

// Whose turn it is to act.
enum class ErrorKind {
  usage,          // the caller asked for something contradictory or absent (exit 2)
  invalid_input,  // the file or the data is broken (exit 3)
  unsupported,    // well-formed, but Octavo cannot do it (exit 4)
  resource,       // memory, disk, permission, missing instructions (exit 5)
  cancelled,      // the caller asked a long call to stop (exit 130)
  internal,       // a mistake of ours (exit 70)
};

// One problem. `where` names file, node, operator, attribute; `found` and `expected` complete the sentence
// "<where>: found <found>, expected <expected>. <hint>". Empty parts are left out.
struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string where;
  std::string found;
  std::string expected;
  std::string hint;

  std::string message() const;  // that sentence
  bool operator==(const Error&) const = default;
};

// Never empty where it stands for a failure: an importer reports all problems of a file at once.
using Errors = std::vector<Error>;

// One line per error.
std::string to_string(const Errors& errors);

// The exit code of the command line for these errors: that of the first one; 0 where there is none.
int exit_code(const Errors& errors);

// A value, or the errors that prevented it; never neither.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, Errors{std::move(error)}) {}
  Result(Errors errors) : state_(std::in_place_index<1>, std::move(errors)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only when not ok().
  const Errors& errors() const& { return std::get<1>(state_); }
  Errors&& errors() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Errors> state_;
};

// Success without a value, or the errors.
using Status = Result<std::monostate>;
inline Status ok_status() { return std::monostate{}; }

}  // namespace octavo

#endif  // OCTAVO_RESULT_H_
