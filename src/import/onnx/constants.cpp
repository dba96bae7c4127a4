// ONNX readers: constants, and what is constant because every shape is known. Part of import/.
#include <algorithm>
#include <cmath>

#include "import/onnx/operators.h"
#include "import/onnx/tensor.h"
#include "ops/list.h"

namespace octavo::onnx_import {
namespace {

constexpr std::int64_t kRangeLimit = std::int64_t{1} << 24;

// An empty one, the shape of a scalar, has no memory to copy.
Tensor list_of(const std::vector<std::int64_t>& values) {
  if (values.empty()) return Tensor(DType::s64, Shape{0});
  return Tensor::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// Record the errors of a tensor inside a node.
ValueId add_tensor(NodeReader& in, const onnx::TensorProto& proto) {
  auto tensor = read_tensor(proto, in.folder(), "its tensor");
  if (tensor) return in.add_constant(*std::move(tensor), "value");
  for (const Error& error : tensor.errors()) {
    if (error.kind == ErrorKind::unsupported) in.unsupported(error.where, error.found, error.expected);
    else in.fail(error.where, error.found, error.expected);
  }
  return {};
}

}  // namespace

void read_constant(NodeReader& in) {
  auto& attributes = in.attributes;
  if (const auto* tensor = attributes.tensor("value")) return in.output(0, add_tensor(in, *tensor));
  if (attributes.has("value_int")) {
    return in.output(0, in.add_constant(Tensor::scalar<std::int64_t>(attributes.integer("value_int", 0)), "value"));
  }
  if (attributes.has("value_ints"))
    return in.output(0, in.add_constant(list_of(attributes.integers("value_ints")), "value"));
  if (attributes.has("value_float"))
    return in.output(0, in.add_constant(Tensor::scalar<float>(attributes.number("value_float", 0.0f)), "value"));
  if (attributes.has("value_floats")) {
    const std::vector<float> values = attributes.numbers("value_floats");
    return in.output(
        0, in.add_constant(Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values), "value"));
  }
  in.unsupported("attributes", "no value that Octavo reads",
                 "value, value_int, value_ints, value_float or value_floats");
}

void read_constant_of_shape(NodeReader& in) {
  const std::vector<std::int64_t> dims = in.constant_integers(0, "shape");
  const auto* proto = in.attributes.tensor("value");
  const ValueId value =
      proto != nullptr ? add_tensor(in, *proto) : in.add_constant(Tensor::scalar<float>(0.0f), "value");
  if (in.failed()) return;
  if (in.shape(value).elements() != 1)
    return in.fail("attribute 'value'", "shape " + in.shape(value).to_string(), "one element");
  in.output(0, in.add(kExpand, ExpandAttrs{.shape = dims}, {in.reshape(value, {}, "scalar")}));
}

void read_range(NodeReader& in) {
  const auto start = in.constant(0, "start"), limit = in.constant(1, "limit"), delta = in.constant(2, "delta");
  if (in.failed()) return;
  const DType type = start->dtype();
  for (const auto& tensor : {start, limit, delta}) {
    if (tensor->dtype() != type || tensor->elements() != 1)
      return in.fail("inputs", "tensors of different types or sizes", "three scalars of one type");
  }
  const double first = element_as_double(start->view(), 0), step = element_as_double(delta->view(), 0);
  const double count = std::ceil((element_as_double(limit->view(), 0) - first) / step);
  // NaN, where the step is 0, is refused too.
  if (!(count <= static_cast<double>(kRangeLimit)))
    return in.fail("inputs", "a range that does not end", "at most 2^24 elements");
  const std::int64_t elements = std::max<std::int64_t>(0, static_cast<std::int64_t>(count));
  if (elements > in.building().fold_budget)
    return in.fail("inputs", std::to_string(elements) + " elements", "fewer, for constants of this file");
  in.building().fold_budget -= elements;
  Tensor values(type, Shape{elements});
  for (std::int64_t i = 0; i < values.elements(); ++i)
    store_double(values.view(), i, first + static_cast<double>(i) * step);
  in.output(0, in.add_constant(std::move(values), "value"));
}

void read_shape(NodeReader& in) {
  const ValueId x = in.value(0);
  const std::int64_t rank = in.rank(x);
  // Positions beyond the ends are cut, as in Python.
  const auto position = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = position(in.attributes.integer("start", 0));
  const std::int64_t end = position(in.attributes.integer("end", rank));
  std::vector<std::int64_t> dims;
  for (std::int64_t i = start; i < end; ++i) dims.push_back(in.shape(x)[static_cast<int>(i)]);
  in.output(0, in.add_constant(list_of(dims), "value"));
}

void read_size(NodeReader& in) {
  const ValueId x = in.value(0);
  in.output(0, in.add_constant(Tensor::scalar<std::int64_t>(in.shape(x).elements()), "value"));
}

}  // namespace octavo::onnx_import
