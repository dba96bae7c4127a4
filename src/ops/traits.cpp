// Traits that several operators share. Part of ops/.
#include "ops/traits.h"

#include "ops/check.h"

namespace octavo {
namespace {

template <class Entry>
bool is_all(const std::vector<Entry>& list, std::int64_t value) {
  return std::all_of(list.begin(), list.end(), [&](const Entry& entry) { return entry == value; });
}

}  // namespace

int pointwise_per_tensor(const Attrs&, InputFacts inputs) {
  const bool is_whole = std::all_of(inputs.begin() + 1, inputs.end(), [](const Fact* parameter) {
    return parameter == nullptr || (parameter->is_constant() && parameter->shape.elements() == 1);
  });
  return is_whole ? 1 : 0;
}

bool identity_by_type(const Attrs&, InputFacts) { return true; }

bool covers_one_element(const Window& window) {
  return is_all(window.kernel, 1) && is_all(window.strides, 1) && is_all(window.pad_begin, 0) &&
         is_all(window.pad_end, 0);
}

std::int64_t depth_of_weights(const Attrs&, InputFacts inputs) {
  const OpenShape& weights = inputs[1]->shape;
  return weights.rank() == 0 || weights[0] == 0 ? 0 : (weights.elements() / weights[0]).example();
}

std::int64_t depth_of_rows(const Attrs&, InputFacts inputs) {
  const OpenShape& rows = inputs[0]->shape;
  return rows.rank() == 0 ? 1 : rows[rows.rank() - 1].example();
}

Axes without_axes(const Axes& axes, const std::vector<std::int64_t>& dropped) {
  const auto is_dropped = [&](std::int64_t axis) {
    return std::find(dropped.begin(), dropped.end(), axis) != dropped.end();
  };
  Axes left;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (is_dropped(static_cast<std::int64_t>(i))) continue;
    const auto lower = std::count_if(dropped.begin(), dropped.end(),
                                     [&](std::int64_t axis) { return axes[static_cast<std::size_t>(axis)] < axes[i]; });
    left.push_back(axes[i] - lower);
  }
  return left;
}

std::optional<Reordered> reordered_as_is(const Attrs& attrs, InputFacts, const Axes& axes) {
  return Reordered{attrs, axes};
}

Window with_unit_height(Window window) {
  for (auto* ones : {&window.strides, &window.dilations}) ones->insert(ones->begin(), 1);
  window.kernel.insert(window.kernel.begin(), 1);
  for (auto* zeros : {&window.pad_begin, &window.pad_end}) zeros->insert(zeros->begin(), 0);
  return window;
}

NodeRole stays_floating(std::string reason) { return {Role::floating, std::move(reason)}; }

bool is_f32_constant(const Fact& fact) { return fact.is_constant() && fact.dtype == DType::f32; }

NodeRole role_of_convolution(const Window& window, InputFacts inputs) {
  if (!is_f32_constant(*inputs[1])) return stays_floating("weights are not constant");
  const Fact* bias = fact_at(inputs, 2);
  if (bias != nullptr && !is_f32_constant(*bias)) return stays_floating("bias is not constant");
  if (window.rank() > 3) return stays_floating("convolution over " + std::to_string(window.rank()) + " axes");
  return {Role::product, {}};
}

}  // namespace octavo
