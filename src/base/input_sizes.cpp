// Sizes by the shapes of inputs. Part of base/.
#include "base/input_sizes.h"

#include <optional>

namespace octavo {
namespace {

Error usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

std::string text_of(const SizedInput& input) {
  std::string text;
  for (const Dim& dim : input.declared) text += (text.empty() ? "" : "x") + to_string(dim);
  return text;
}

std::string place_of(const SizedInput& input, std::size_t axis) {
  return "input '" + input.name + "', dimension " + std::to_string(axis);
}

// Takes the values of one input after the other.
class Taker {
 public:
  explicit Taker(const Sizes& sizes) : sizes_(sizes), values_(sizes.sizes().size()) {}

  Status take(const SizedInput& input) {
    const Shape& given = *input.given;
    if (given.dims().size() != input.declared.size())
      return usage("input '" + input.name + "'", given.to_string(), text_of(input));
    for (std::size_t axis = 0; axis < input.declared.size(); ++axis) {
      const std::int64_t number = given.dims()[axis];
      const auto expected = refusal_of(input.declared[axis], number);
      if (!expected) continue;
      return usage(place_of(input, axis), std::to_string(number) + " (" + given.to_string() + ")",
                   *expected + " (" + text_of(input) + ")");
    }
    return ok_status();
  }

  Status check_known(const SizedInput& input) const {
    for (std::size_t axis = 0; axis < input.declared.size(); ++axis) {
      const auto size = sizes_.size_of(input.declared[axis]);
      if (size && !values_[*size])
        return usage(place_of(input, axis), "no shape that says it", to_string(sizes_.sizes()[*size]));
    }
    return ok_status();
  }

  // What is made of sizes, once these are known.
  Status check_made(const std::vector<SizedInput>& inputs) const {
    const auto is_made = [&](const Dim& dim) { return !dim.is_number() && !sizes_.size_of(dim); };
    std::optional<std::vector<std::int64_t>> made;
    for (const SizedInput& input : inputs) {
      for (std::size_t axis = 0; axis < input.declared.size(); ++axis) {
        const Dim& dim = input.declared[axis];
        if (input.given == nullptr || !is_made(dim)) continue;
        if (!made) {
          auto evaluated = sizes_.evaluate(values());
          if (!evaluated) return evaluated.errors();
          made = std::move(*evaluated);
        }
        const std::int64_t number = input.given->dims()[axis];
        const std::int64_t expected = (*made)[static_cast<std::size_t>(dim.expression()->index)];
        if (number != expected)
          return usage(place_of(input, axis), std::to_string(number) + " (" + input.given->to_string() + ")",
                       to_string(dim) + " = " + std::to_string(expected) + " (" + text_of(input) + ")");
      }
    }
    return ok_status();
  }

  std::vector<std::int64_t> values() const {
    std::vector<std::int64_t> values;
    for (const auto& value : values_) values.push_back(value.value_or(0));
    return values;
  }

 private:
  // What there should be instead, where the number cannot be.
  std::optional<std::string> refusal_of(const Dim& declared, std::int64_t number) {
    const auto size = sizes_.size_of(declared);
    if (!size) {
      const bool is_other = declared.is_number() && declared.example() != number;
      return is_other ? std::optional(to_string(declared)) : std::nullopt;  // what is made of sizes: check_made
    }
    const OpenSize& open = sizes_.sizes()[*size];
    if (values_[*size] && *values_[*size] != number) return std::to_string(*values_[*size]) + ", as before";
    if (number < open.range.lowest || number > open.range.highest || number % open.step != 0) return to_string(open);
    values_[*size] = number;
    return std::nullopt;
  }

  const Sizes& sizes_;
  std::vector<std::optional<std::int64_t>> values_;
};

}  // namespace

Result<std::vector<std::int64_t>> sizes_of(const Sizes& sizes, const std::vector<SizedInput>& inputs) {
  Taker taker(sizes);
  for (const SizedInput& input : inputs) {
    const Status taken = input.given == nullptr ? ok_status() : taker.take(input);
    if (!taken) return taken.errors();
  }
  for (const SizedInput& input : inputs) {
    if (const Status known = taker.check_known(input); !known) return known.errors();
  }
  if (const Status made = taker.check_made(inputs); !made) return made.errors();
  return taker.values();
}

}  // namespace octavo
