// JSON documents that may be hostile. Part of import/.
#include "import/pt2/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace octavo::pt2_import {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kMostValues = std::size_t{1} << 24;
constexpr std::size_t kJsonErrorLimit = 100;

// Most of a document, and nothing that says what a program computes.
constexpr std::array<std::string_view, 4> kIgnored = {"from_node", "module_call_graph", "nn_module_stack", "torch_fn"};

const Json& no_value() {
  static const Json kNothing;
  return kNothing;
}

}  // namespace

Result<Json> parse_json(const std::string& text, const std::string& where) {
  bool is_too_deep = false;
  std::size_t values = 0;
  // Once a bound is passed everything else is dropped.
  const auto keep = [&](int depth, Json::parse_event_t event, Json& parsed) {
    is_too_deep = is_too_deep || depth > kDeepest;
    if (event != Json::parse_event_t::key) return !is_too_deep && ++values <= kMostValues;
    const auto& key = parsed.get_ref<const std::string&>();
    return std::find(kIgnored.begin(), kIgnored.end(), key) == kIgnored.end();
  };
  const auto invalid = [&](std::string found, std::string expected) {
    return Error{ErrorKind::invalid_input, where, std::move(found), std::move(expected), ""};
  };
  try {
    Json document = Json::parse(text, keep);
    if (is_too_deep)
      return invalid("JSON nested deeper than " + std::to_string(kDeepest), "the JSON of an exported program");
    if (values > kMostValues) return invalid("more than " + std::to_string(kMostValues) + " JSON values", "fewer");
    return document;
  } catch (const Json::parse_error& error) {
    return invalid("no JSON from byte " + std::to_string(error.byte) + " on", "the JSON of an exported program");
  } catch (const Json::out_of_range&) {
    return invalid("a number beyond any range", "the JSON of an exported program");
  }
}

void JsonPlace::report(ErrorKind kind, std::string found, std::string expected) const {
  if (errors_->size() >= kJsonErrorLimit) return;
  errors_->push_back({kind, path_, std::move(found), std::move(expected), ""});
}

void JsonPlace::fail(std::string found, std::string expected) const {
  report(ErrorKind::invalid_input, std::move(found), std::move(expected));
}

void JsonPlace::unsupported(std::string found, std::string expected) const {
  report(ErrorKind::unsupported, std::move(found), std::move(expected));
}

std::string JsonPlace::printed() const {
  constexpr std::size_t kShown = 60;
  if (value_->is_null()) return "nothing";
  if (value_->is_object()) return "an object";
  if (value_->is_array()) return "a list";
  return value_->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, kShown);
}

bool JsonPlace::has(std::string_view key) const {
  const auto found = value_->is_object() ? value_->find(key) : value_->end();
  return found != value_->end() && !found->is_null();
}

JsonPlace JsonPlace::member(std::string_view key) const {
  const JsonPlace missing(no_value(), path_ + "." + std::string(key), *errors_);
  if (!value_->is_object()) {
    fail(printed(), "an object with '" + std::string(key) + "'");
    return missing;
  }
  const auto found = value_->find(key);
  if (found != value_->end()) return {*found, missing.path_, *errors_};
  fail("no '" + std::string(key) + "'", "one");
  return missing;
}

void JsonPlace::for_each_item(const std::function<void(const JsonPlace&)>& visit) const {
  if (!value_->is_array()) return fail(printed(), "a list");
  std::size_t index = 0;
  for (const Json& item : *value_) visit({item, path_ + "[" + std::to_string(index++) + "]", *errors_});
}

void JsonPlace::for_each_member(const std::function<void(const std::string&, const JsonPlace&)>& visit) const {
  if (!value_->is_object()) return fail(printed(), "an object");
  for (const auto& [key, member] : value_->items()) visit(key, {member, path_ + "['" + key + "']", *errors_});
}

std::string JsonPlace::only_key() const {
  if (value_->is_object() && value_->size() == 1) return value_->begin().key();
  fail(value_->is_object() ? std::to_string(value_->size()) + " members" : printed(),
       "an object with one member that says its kind");
  return {};
}

std::int64_t JsonPlace::integer() const {
  const bool is_large =
      value_->is_number_unsigned() &&
      value_->get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value_->is_number_integer() && !is_large) return value_->get<std::int64_t>();
  fail(printed(), "an integer of 64 bits");
  return 0;
}

double JsonPlace::number() const {
  if (value_->is_number()) return value_->get<double>();
  const std::string name = value_->is_string() ? value_->get<std::string>() : "";
  if (name == "Infinity") return std::numeric_limits<double>::infinity();
  if (name == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  fail(printed(), "a number");
  return 0.0;
}

bool JsonPlace::boolean() const {
  if (value_->is_boolean()) return value_->get<bool>();
  fail(printed(), "true or false");
  return false;
}

std::string JsonPlace::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  fail(printed(), "a string");
  return {};
}

}  // namespace octavo::pt2_import
