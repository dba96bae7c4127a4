// TFLite readers: operators that only arrange elements. They take values as
// they are stored: scale and zero point pass through. Part of import/.
#include <algorithm>

#include "import/tflite/operators.h"
#include "ops/list.h"

namespace octavo::tflite_import {
namespace {

using Integers = std::vector<std::int64_t>;

// The dimensions that a RESHAPE names: by an input, or in older files by its
// options.
Integers wanted_dims(OperatorReader& in) {
  if (in.has(1)) return in.constant_integers(1, "shape");
  const auto* given = in.options<file::ReshapeOptions>();
  if (given != nullptr && given->new_shape() != nullptr)
    return {given->new_shape()->begin(), given->new_shape()->end()};
  in.fail("shape", "none", "an input or an option");
  return {};
}

// Fills in one dimension of -1. A file made for batch 1 may say so in the
// shape: the first dimension then follows the batch.
std::optional<Integers> completed(Integers dims, std::int64_t elements, std::int64_t batch) {
  std::int64_t known = 1;
  std::size_t open = dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1 || (dims[i] == -1 && open < dims.size())) return std::nullopt;
    if (dims[i] == -1) open = i;
    else if (__builtin_mul_overflow(known, dims[i], &known)) return std::nullopt;
  }
  if (open < dims.size()) {
    if (known == 0 || elements % known != 0) return std::nullopt;
    dims[open] = elements / known;
    return dims;
  }
  if (known != elements && !dims.empty() && dims[0] == 1 && known * batch == elements) dims[0] = batch;
  else if (known != elements) return std::nullopt;
  return dims;
}

}  // namespace

void read_reshape(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Integers wanted = wanted_dims(in);
  if (in.failed()) return;
  const auto dims = completed(wanted, in.shape(x).elements(), in.building().batch);
  if (!dims)
    return in.fail("shape", print(wanted),
                   "one for the " + std::to_string(in.shape(x).elements()) + " elements of " + in.shape(x).to_string());
  in.output_stored(0, in.reshape(x, *dims));
}

void read_squeeze(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const auto* given = in.options<file::SqueezeOptions>();
  if (in.failed()) return;
  const Shape& from = in.shape(x);
  std::vector<bool> is_dropped(static_cast<std::size_t>(from.rank()));
  const bool names_axes = given != nullptr && given->squeeze_dims() != nullptr && given->squeeze_dims()->size() > 0;
  for (int axis = 0; !names_axes && axis < from.rank(); ++axis)
    is_dropped[static_cast<std::size_t>(axis)] = from[axis] == 1;
  if (names_axes) {
    for (const std::int32_t one : *given->squeeze_dims()) {
      const std::int64_t axis = in.axis("option 'squeeze_dims'", one, from.rank());
      if (in.failed()) return;
      if (from[static_cast<int>(axis)] != 1)
        return in.fail("option 'squeeze_dims'", "axis " + std::to_string(one) + " of " + from.to_string(), "1 there");
      is_dropped[static_cast<std::size_t>(axis)] = true;
    }
  }
  Integers dims;
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (!is_dropped[static_cast<std::size_t>(axis)]) dims.push_back(from[axis]);
  }
  in.output_stored(0, in.reshape(x, dims));
}

void read_expand_dims(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Integers given = in.constant_integers(1, "axis");
  if (in.failed()) return;
  if (given.size() != 1) return in.fail("input 'axis'", std::to_string(given.size()) + " numbers", "one");
  const std::int64_t axis = in.axis("input 'axis'", given[0], in.rank(x) + 1);
  if (in.failed()) return;
  Integers dims = in.shape(x).to_vector();
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  in.output_stored(0, in.reshape(x, dims));
}

void read_transpose(OperatorReader& in) {
  const ValueId x = in.stored(0);
  Integers perm = in.constant_integers(1, "perm");
  for (std::int64_t& axis : perm) axis = in.axis("input 'perm'", axis, in.rank(x));
  in.output_stored(0, in.transpose(x, perm));
}

void read_shape(OperatorReader& in) {
  const ValueId x = in.stored(0);
  const Integers dims = in.shape(x).to_vector();
  Tensor shape(in.output_tensor(0).dtype, Shape{static_cast<std::int64_t>(dims.size())});
  if (shape.dtype() != DType::s32 && shape.dtype() != DType::s64) {
    return in.fail("output", std::string(name_of(shape.dtype())), "s32 or s64");
  }
  for (std::size_t i = 0; i < dims.size(); ++i)
    store_double(shape.view(), static_cast<std::int64_t>(i), static_cast<double>(dims[i]));
  in.output_stored(0, in.add_constant(std::move(shape), "shape"));
}

}  // namespace octavo::tflite_import
