// Reading and writing machine files. Part of planner/.
#include "planner/machine_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/known_cores.h"

namespace octavo {
namespace {

using OrderedJson = nlohmann::ordered_json;
constexpr std::string_view kFormat = "octavo machine 1";
constexpr std::int64_t kMostCacheBytes = std::int64_t{1} << 40;
constexpr int kMostCores = 1 << 16;

Error wrong(const std::string& where, const std::string& key, const OrderedJson& object, std::string expected) {
  return {.kind = ErrorKind::invalid_input,
          .where = where + ", '" + key + "'",
          .found = object.contains(key) ? object[key].dump() : "nothing",
          .expected = std::move(expected)};
}

std::optional<IsaSet> parse_isa(const std::string& text) {
  IsaSet set;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string_view word = std::string_view(text).substr(begin, end - begin);
    int isa = 0;
    while (isa < kIsaCount && name_of(static_cast<Isa>(isa)) != word) ++isa;
    if (isa == kIsaCount) return std::nullopt;
    set.add(static_cast<Isa>(isa));
    begin = end + 1;
  }
  return set;
}

// Reads an object's members, and knows which of them nobody asked for.
class Reader {
 public:
  Reader(const OrderedJson& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string text(const std::string& key) {
    if (find(key) && object_[key].is_string()) return object_[key].get<std::string>();
    fail(key, "text");
    return {};
  }
  template <class Number>
  void number(const std::string& key, Number lowest, Number highest, Number& to) {
    const bool is_right =
        find(key) && object_[key].is_number() && (std::is_floating_point_v<Number> || object_[key].is_number_integer());
    const double value = is_right ? object_[key].get<double>() : NAN;
    if (value >= static_cast<double>(lowest) && value <= static_cast<double>(highest)) to = object_[key].get<Number>();
    else fail(key, "a number from " + OrderedJson(lowest).dump() + " to " + OrderedJson(highest).dump());
  }
  const OrderedJson* object(const std::string& key) {
    if (find(key) && object_[key].is_object()) return &object_[key];
    fail(key, "an object");
    return nullptr;
  }
  void fail(const std::string& key, std::string expected) {
    errors_.push_back(wrong(where_, key, object_, std::move(expected)));
  }
  // All errors; members that are not known are among them.
  Errors errors() {
    for (const auto& [key, value] : object_.items()) {
      if (!asked_.contains(key)) fail(key, "no such key");
    }
    return std::move(errors_);
  }

 private:
  bool find(const std::string& key) {
    asked_.insert(key);
    return object_.contains(key);
  }
  const OrderedJson& object_;
  std::string where_;
  std::set<std::string> asked_;
  Errors errors_;
};

// No file of this name: perhaps a core's was meant.
Errors with_core_names(Errors errors) {
  for (Error& error : errors) error.hint = "Cores that are known by name: " + arm64_core_names();
  return errors;
}

}  // namespace

std::string machine_text(const Machine& machine) {
  OrderedJson json{{"format", kFormat},
                   {"name", machine.name},
                   {"isa", machine.isa.to_string()},
                   {"l1_bytes", machine.l1_bytes},
                   {"l2_bytes", machine.l2_bytes},
                   {"l3_bytes", machine.l3_bytes},
                   {"cores", machine.cores}};
  for_each_speed([&](const std::string& name, double MachineSpeeds::*speed) {
    json["speeds"][name] = std::round(machine.speeds.*speed * 1000.0) / 1000.0;
  });
  return json.dump(2) + "\n";
}

Result<Machine> parse_machine(std::string_view text, const std::string& where) {
  const OrderedJson json = OrderedJson::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat)
    return Error{.kind = ErrorKind::invalid_input,
                 .where = where,
                 .found = "another kind of file",
                 .expected = "a machine file ('" + std::string(kFormat) + "')",
                 .hint = "octavo inspect --machine --calibrate -o F writes one"};
  Machine machine;
  Reader reader(json, where);
  reader.text("format");
  machine.name = reader.text("name");
  const auto isa = parse_isa(reader.text("isa"));
  if (isa) machine.isa = *isa;
  else
    reader.fail("isa", "instruction sets with spaces between them, such as '" + host_machine().isa.to_string() + "'");
  reader.number<std::int64_t>("l1_bytes", 1024, kMostCacheBytes, machine.l1_bytes);
  reader.number<std::int64_t>("l2_bytes", 1024, kMostCacheBytes, machine.l2_bytes);
  reader.number<std::int64_t>("l3_bytes", 1024, kMostCacheBytes, machine.l3_bytes);
  reader.number("cores", 1, kMostCores, machine.cores);
  Errors errors;
  if (const OrderedJson* speeds = reader.object("speeds"); speeds != nullptr) {
    Reader of_speeds(*speeds, where + ", 'speeds'");
    for_each_speed([&](const std::string& name, double MachineSpeeds::*speed) {
      of_speeds.number(name, MachineSpeeds::kLeast, MachineSpeeds::kMost, machine.speeds.*speed);
    });
    errors = of_speeds.errors();
  }
  Errors others = reader.errors();
  errors.insert(errors.begin(), others.begin(), others.end());
  if (!errors.empty()) return errors;
  return machine;
}

Result<Machine> compiled_for(const std::string& target, const std::string& machine_file) {
  auto machine = machine_for_target(target);
  if (!machine || machine_file.empty()) return machine;
  Result<Machine> found = Machine();
  if (auto core = arm64_core(machine_file)) {
    found = std::move(*core);
  } else {
    const auto bytes = read_file(machine_file);
    if (!bytes) return with_core_names(bytes.errors());
    found = parse_machine({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, machine_file);
  }
  if (!found || target == "host") return found;
  found->name = machine->name;
  found->isa = machine->isa;
  return found;
}

}  // namespace octavo
