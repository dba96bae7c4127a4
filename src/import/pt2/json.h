// JSON documents that may be hostile: bounded when parsed, then taken apart with errors that say where. Part of
// import/.
#ifndef OCTAVO_IMPORT_PT2_JSON_H_
#define OCTAVO_IMPORT_PT2_JSON_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace octavo::pt2_import {

using Json = nlohmann::json;

// Bounded: nesting, number of values. Members that no reader of ours asks for (what tracing left behind) are not kept.
Result<Json> parse_json(const std::string& text, const std::string& where);

// A place in a document, by a path for messages. Whoever asks for what is not there records an error and goes on with a
// harmless value.
class JsonPlace {
 public:
  JsonPlace(const Json& value, std::string path, Errors& errors)
      : value_(&value), path_(std::move(path)), errors_(&errors) {}

  bool has(std::string_view key) const;  // a member that is not null
  JsonPlace member(std::string_view key) const;
  void for_each_item(const std::function<void(const JsonPlace&)>& visit) const;
  void for_each_member(const std::function<void(const std::string&, const JsonPlace&)>& visit) const;
  // The one member of an object that stands for a union: its name; empty and an error where there are none or several.
  std::string only_key() const;

  std::int64_t integer() const;
  double number() const;  // "Infinity", "-Infinity" and "NaN" are spelled as strings
  bool boolean() const;
  std::string text() const;

  void fail(std::string found, std::string expected) const;
  void unsupported(std::string found, std::string expected) const;
  const std::string& path() const { return path_; }

 private:
  std::string printed() const;
  void report(ErrorKind kind, std::string found, std::string expected) const;

  const Json* value_;
  std::string path_;
  Errors* errors_;
};

}  // namespace octavo::pt2_import

#endif  // OCTAVO_IMPORT_PT2_JSON_H_
