// Places by an operator's own reference, which moves them as it would elements. Part of import/.
#include "import/places.h"

#include <utility>

#include "ops/concat/concat.h"
#include "ops/movement.h"

namespace octavo {

bool holds_elements(const OpSpec& spec, std::size_t index) { return &spec == &kConcat || index == 0; }

std::vector<std::size_t> moved_places(const OpSpec& spec, const Attrs& attrs, InputFacts inputs, const Fact& output) {
  std::vector<Tensor> places;
  std::vector<ConstTensorView> views;
  places.reserve(inputs.size());
  std::int64_t next = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!holds_elements(spec, i)) {
      views.push_back(inputs[i]->constant->view());
      continue;
    }
    Tensor& own = places.emplace_back(DType::s64, inputs[i]->shape);
    for (std::int64_t& place : own.span<std::int64_t>()) place = next++;
    views.push_back(std::as_const(own).view());
  }
  Tensor from(DType::s64, output.shape);
  const std::vector<TensorView> results = {from.view()};
  spec.reference(attrs, views, results);
  const auto found = from.span<std::int64_t>();
  return {found.begin(), found.end()};
}

std::vector<std::size_t> broadcast_places(const OpenShape& input, const OpenShape& output) {
  std::vector<std::size_t> places;
  const Shape whole = output;
  for_each_offset(whole, broadcast_strides(input, whole), 0,
                  [&](std::int64_t at) { places.push_back(static_cast<std::size_t>(at)); });
  return places;
}

}  // namespace octavo
