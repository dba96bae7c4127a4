// det: shape rule and reference. Part of ops/.
#include "ops/det/det.h"

#include <cmath>
#include <utility>
#include <vector>

#include "graph/attrs_of.h"
#include "ops/check.h"
#include "ops/one_image.h"
#include "ops/traits.h"

namespace octavo {
namespace {

Result<std::vector<Fact>> infer_det(const Attrs&, InputFacts inputs) {
  const Fact& x = *inputs[0];
  const int rank = x.shape.rank();
  if (!is_float(x.dtype)) return shape_error("x", std::string(name_of(x.dtype)), "floats");
  if (rank < 2 || x.shape[rank - 1] != x.shape[rank - 2])
    return shape_error("x", x.shape.to_string(), "two equal axes at the end");
  return one_output(x.dtype, std::vector<Dim>(x.shape.begin(), x.shape.end() - 2));
}

void reference_det(const Attrs&, InputViews inputs, OutputViews outputs) {
  const ConstTensorView& x = inputs[0];
  const std::int64_t n = x.shape[x.shape.rank() - 1];
  std::vector<double> matrix(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    for (std::int64_t k = 0; k < n * n; ++k) matrix[static_cast<std::size_t>(k)] = element_as_double(x, i * n * n + k);
    store_double(outputs[0], i, determinant(matrix.data(), n));
  }
}

std::optional<Attrs> one_image_of_det(const Attrs& attrs, InputFacts inputs) {
  if (inputs[0]->shape.rank() < 3) return std::nullopt;
  return same_for_one_image(attrs, inputs);
}

}  // namespace

double determinant(double* matrix, std::int64_t n) {
  double product = 1.0;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i) {
      if (std::fabs(matrix[i * n + k]) > std::fabs(matrix[pivot * n + k])) pivot = i;
    }
    if (pivot != k) {
      product = -product;
      for (std::int64_t j = k; j < n; ++j) std::swap(matrix[k * n + j], matrix[pivot * n + j]);
    }
    product *= matrix[k * n + k];
    if (product == 0.0) return product;
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double factor = matrix[i * n + k] / matrix[k * n + k];
      for (std::int64_t j = k + 1; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
    }
  }
  return product;
}

const OpSpec kDet{
    .name = "det",
    .summary = "y = determinant of the last two axes, by elimination in f64",
    .inputs = {"x"},
    .infer = infer_det,
    .reference = reference_det,
    .decode_attrs = decode_attrs_as<NoAttrs>,
    .for_one_image = one_image_of_det,
    .read_from = "ONNX Det",
};

}  // namespace octavo
