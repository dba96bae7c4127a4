// ATen readers: tensors quantized by their own range, in the run: pt2e's dynamic and per-token quantization.
// Part of import/.
#include <limits>
#include <numeric>

#include "import/pt2/operators.h"
#include "ops/row_quantize/row_quantize.h"
#include "ops/table/table.h"

namespace octavo::pt2_import {
namespace {

// The bytes of row_quantize, which are u8, in the program's type.
ValueId in_program_type(NodeReader& in, ValueId bytes, DType type, std::string_view suffix) {
  if (in.failed() || type == DType::u8) return bytes;
  Tensor table(DType::s8, {256});
  std::iota(table.span<std::int8_t>().begin(), table.span<std::int8_t>().end(), std::int8_t{-128});
  return in.add(kTable, NoAttrs{}, {bytes, in.constant(std::move(table), std::string(suffix) + "_table")}, suffix);
}

// Rows of x with a scale and a zero point each, in the shape and types of the program, f64 and s64.
ValueId choose(NodeReader& in, ValueId x, RowQuantizeAttrs attrs, DType type) {
  if (in.dtype(x) != DType::f32 && !in.failed())
    return in.unsupported("argument 'input'", std::string(octavo::name_of(in.dtype(x))), "f32");
  if (in.failed()) return {};
  const bool is_by_row = attrs.form == DynamicForm::pt2e_token;
  Extents rows{1};
  ValueId image = x;
  if (is_by_row) {
    rows = in.shape(x).to_vector();
    const Dim inner = rows.back();
    rows.back() = 1;
    image = in.reshape(x, {in.shape(x).elements() / inner, inner}, "rows");
    attrs.axis = 1;
  }
  const auto made = in.add_exactly(kRowQuantize, attrs, {image}, "quantized");
  if (in.failed()) return {};
  in.building().is_quantized = true;
  const ValueId zero = in_program_type(in, made[2], type, "zero_point");
  const ValueId scale = in.reshape(in.cast(made[1], DType::f64, "scale_f64"), rows, "scale");
  in.output(1, in.reshape(in.cast(zero, DType::s64, "zero_point_s64"), rows, "zero_points"));
  if (in.failed()) return {};
  in.building().run_quantized[scale.index] = {x, {}, made[0], made[1], made[2], type};
  return scale;
}

// Both ends of an 8-bit type.
DType read_whole_range(NodeReader& in) {
  const DType type = in.element_type("dtype", DType::s8);
  const std::int64_t lowest = in.integer("quant_min"), highest = in.integer("quant_max");
  if (in.failed()) return type;
  if (!is_8bit(type)) in.unsupported("argument 'dtype'", std::string(octavo::name_of(type)), "s8 or u8");
  else if (const IntegerRange whole = range_of(type); lowest != whole.lowest || highest != whole.highest)
    in.unsupported("arguments 'quant_min' and 'quant_max'", std::to_string(lowest) + " to " + std::to_string(highest),
                   "all of " + std::string(octavo::name_of(type)));
  return type;
}

template <DynamicForm form>
ValueId read_choose(NodeReader& in) {
  const ValueId x = in.value("input");
  const float least = in.real("eps", 0.0f);
  return choose(in, x, {.form = form, .least_scale = least}, read_whole_range(in));
}

ValueId read_choose_by_token(NodeReader& in) {
  const ValueId x = in.value("input");
  const DType type = in.element_type("dtype", DType::s8);
  if (type != DType::s8) return in.unsupported("argument 'dtype'", std::string(octavo::name_of(type)), "s8");
  in.require_rank(x, 1, 8);
  return choose(in, x, {.form = DynamicForm::pt2e_token, .least_scale = std::numeric_limits<float>::epsilon()}, type);
}

// What a name of the program chose for x, given again to quantize or dequantize; an error where it is something else.
RunQuantized* chosen(NodeReader& in, std::string_view scale, std::string_view zero_point) {
  const ValueId given = in.value(scale);
  in.ignore(zero_point);
  if (in.failed()) return nullptr;
  const auto found = in.building().run_quantized.find(given.index);
  if (found == in.building().run_quantized.end()) {
    in.unsupported(quoted("argument", scale), "a tensor that the run computes", "a constant, or one of choose_qparams");
    return nullptr;
  }
  const DType type = read_whole_range(in);
  if (!in.failed() && type != found->second.type)
    in.fail("argument 'dtype'", std::string(octavo::name_of(type)),
            std::string(octavo::name_of(found->second.type)) + ", for which its scale was chosen");
  return in.failed() ? nullptr : &found->second;
}

ValueId quantize_chosen(NodeReader& in, std::string_view scale, std::string_view zero_point) {
  const ValueId x = in.value("input");
  RunQuantized* known = chosen(in, scale, zero_point);
  if (known == nullptr) return {};
  if (known->x != x)
    return in.unsupported("argument 'input'", "another tensor than its scale was chosen for", "the same");
  ++in.building().activation_types[known->type];
  const ValueId bytes = in.reshape(known->bytes, in.shape(x).to_vector(), "bytes");
  return known->q = in_program_type(in, bytes, known->type, "signed");
}

// One scale for each row of x, or one for all.
ValueId dequantize_chosen(NodeReader& in, std::string_view scale, std::string_view zero_point) {
  const ValueId q = in.value("input");
  const RunQuantized* known = chosen(in, scale, zero_point);
  if (in.element_type("out_dtype", DType::f32) != DType::f32 ||
      in.element_type("output_dtype", DType::f32) != DType::f32)
    in.unsupported("the type of the result", "another", "FLOAT");
  if (known == nullptr || in.failed()) return {};
  if (known->q != q) return in.unsupported("argument 'input'", "another tensor than was quantized", "the same");
  if (in.built().options.dequantizes_dynamic) return known->x;
  const bool is_by_row = in.rank(known->scale) == 1;
  const ValueId real = dequantize(in, known->bytes, {known->scale, known->zero_point, is_by_row ? 0 : -1}, "rows");
  return in.reshape(real, in.shape(q).to_vector());
}

ValueId read_quantize_by_token(NodeReader& in) { return quantize_chosen(in, "scales", "zero_points"); }
ValueId read_dequantize_by_token(NodeReader& in) { return dequantize_chosen(in, "scales", "zero_points"); }

constexpr Operator kReaders[] = {
    {"quantized_decomposed.choose_qparams", "tensor", Aliasing::fresh, read_choose<DynamicForm::pt2e>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric", "default", Aliasing::fresh, read_choose_by_token},
    {"quantized_decomposed.choose_qparams_symmetric", "tensor", Aliasing::fresh,
     read_choose<DynamicForm::pt2e_symmetric>},
    {"quantized_decomposed.dequantize_per_token", "default", Aliasing::fresh, read_dequantize_by_token},
    {"quantized_decomposed.quantize_per_token", "default", Aliasing::fresh, read_quantize_by_token},
};

}  // namespace

const std::span<const Operator> kQuantizedInRun = kReaders;

ValueId quantize_in_run(NodeReader& in) { return quantize_chosen(in, "scale", "zero_point"); }
ValueId dequantize_in_run(NodeReader& in) { return dequantize_chosen(in, "scale", "zero_point"); }

}  // namespace octavo::pt2_import
