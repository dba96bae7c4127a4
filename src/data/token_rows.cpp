// Sentences become rows. Part of data/.
#include "data/token_rows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace octavo {
namespace {

Error token_error(const std::string& where, std::string found, std::string expected) {
  return {.kind = ErrorKind::invalid_input, .where = where, .found = std::move(found), .expected = std::move(expected)};
}

bool is_mask(const std::string& name) { return name.find("mask") != std::string::npos; }

bool is_integer_array(const StoredArray& array) { return !is_float(array.dtype()) && array.shape().rank() == 2; }

// Of the types that take_tokens takes, of which a value is one.
void store(Tensor& tensor, std::int64_t i, std::int64_t value) {
  if (tensor.dtype() == DType::s64) tensor.as<std::int64_t>()[i] = value;
  else if (tensor.dtype() == DType::s32) tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
  else tensor.as<std::uint8_t>()[i] = value != 0 ? 1 : 0;
}

bool holds(DType dtype, std::int64_t value) {
  return dtype != DType::s32 || value == static_cast<std::int64_t>(static_cast<std::int32_t>(value));
}

// The array of an input, [sentences, tokens] like the others of the file.
Result<Tensor> array_of_input(const TokenFile& file, const InputSpec& input, const Shape* like) {
  const auto found = file.arrays.find(input.name);
  if (found == file.arrays.end())
    return token_error(file.path, "no array named '" + input.name + "'", "one array per input of the model");
  const StoredArray& array = found->second;
  if (!is_integer_array(array) || (like != nullptr && array.shape() != *like)) {
    return token_error(file.path + ": array '" + input.name + "'",
                       std::string(name_of(array.dtype())) + "[" + array.shape().to_string() + "]",
                       like != nullptr ? "integers [" + like->to_string() + "], as the first" : "integers [n, tokens]");
  }
  return array.whole();
}

class TokenRows final : public SampleSource {
 public:
  explicit TokenRows(std::vector<InputSpec> inputs) : inputs_(std::move(inputs)), tokens_(inputs_.size()) {}

  Status add(const TokenFile& file) {
    std::vector<std::vector<std::int64_t>> arrays;
    std::optional<Shape> shape;
    std::vector<bool> is_kept;
    for (const InputSpec& input : inputs_) {
      const auto array = array_of_input(file, input, shape ? &*shape : nullptr);
      if (!array) return array.errors();
      shape = array->shape();
      arrays.push_back(to_int64s(array->view()));
      const auto bad = std::find_if(arrays.back().begin(), arrays.back().end(),
                                    [&](std::int64_t value) { return !holds(input.dtype, value); });
      if (bad != arrays.back().end())
        return token_error(file.path + ": array '" + input.name + "'", std::to_string(*bad), "32 bits");
      is_kept.resize(arrays.back().size(), true);
      for (std::size_t i = 0; is_mask(input.name) && i < is_kept.size(); ++i)
        is_kept[i] = is_kept[i] && arrays.back()[i] != 0;
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      for (std::size_t i = 0; i < is_kept.size(); ++i) {
        if (is_kept[i]) tokens_[k].push_back(arrays[k][i]);
      }
    }
    return ok_status();
  }

  std::int64_t tokens() const { return static_cast<std::int64_t>(tokens_[0].size()); }
  std::int64_t size() const override { return std::max<std::int64_t>(1, tokens() / length()); }
  Result<std::vector<Tensor>> sample(std::int64_t index) const override {
    std::vector<Tensor> sample;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      sample.emplace_back(inputs_[k].dtype, inputs_[k].shape);
      for (std::int64_t i = 0; i < length(); ++i)
        store(sample.back(), i, tokens_[k][static_cast<std::size_t>((index * length() + i) % tokens())]);
    }
    return sample;
  }

 private:
  std::int64_t length() const { return inputs_[0].shape[1]; }

  std::vector<InputSpec> inputs_;
  std::vector<std::vector<std::int64_t>> tokens_;  // by input
};

}  // namespace

bool take_tokens(const std::vector<InputSpec>& inputs) {
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](const InputSpec& input) {
    const bool is_known = input.dtype == DType::s64 || input.dtype == DType::s32 || input.dtype == DType::boolean;
    return is_known && !input.scale && input.shape.rank() == 2 && input.shape == inputs[0].shape &&
           input.shape[0] == 1 && input.shape[1] > 0;
  });
}

Result<bool> needs_rows(const TokenFile& file, const std::vector<InputSpec>& inputs) {
  for (const InputSpec& input : inputs) {
    const auto found = file.arrays.find(input.name);
    if (found == file.arrays.end() || !is_integer_array(found->second)) return false;
    if (found->second.shape()[1] != input.shape[1]) return true;
    if (!is_mask(input.name)) continue;
    const auto mask = found->second.whole();
    if (!mask) return mask.errors();
    const std::vector<std::int64_t> values = to_int64s(mask->view());
    if (std::find(values.begin(), values.end(), 0) != values.end()) return true;
  }
  return false;
}

Result<std::unique_ptr<SampleSource>> token_rows(const std::vector<TokenFile>& files,
                                                 const std::vector<InputSpec>& inputs) {
  auto rows = std::make_unique<TokenRows>(inputs);
  for (const TokenFile& file : files) {
    if (const Status added = rows->add(file); !added) return added.errors();
  }
  if (rows->tokens() == 0) return token_error(files.front().path, "no position that counts", "at least one");
  return Result<std::unique_ptr<SampleSource>>(std::move(rows));
}

}  // namespace octavo
