// How errors read. Part of base/.
#include "base/result.h"

namespace octavo {

std::string Error::message() const {
  std::string text = where;
  if (!found.empty()) text += (text.empty() ? "found " : ": found ") + found;
  if (!expected.empty()) text += (text.empty() ? "expected " : ", expected ") + expected;
  if (!hint.empty()) text += (text.empty() ? "" : ". ") + hint;
  return text;
}

std::string to_string(const Errors& errors) {
  std::string text;
  for (const Error& error : errors) {
    if (!text.empty()) text += '\n';
    text += error.message();
  }
  return text;
}

int exit_code(const Errors& errors) {
  if (errors.empty()) return 0;
  switch (errors.front().kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::invalid_input: return 3;
    case ErrorKind::unsupported: return 4;
    case ErrorKind::resource: return 5;
    case ErrorKind::cancelled: return 130;
    case ErrorKind::internal: break;
  }
  return 70;
}

}  // namespace octavo
