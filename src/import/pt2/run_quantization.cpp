// ATen readers: tensors quantized by their own range, in the run: pt2e's dynamic and per-token quantization, and
// torchao's. Part of import/.
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

// How a scale is chosen for x, and how the program sees it.
struct Choice {
  RowQuantizeAttrs attrs;
  DType type;  // of the bytes
  bool is_by_row = false;
  Extents scale_shape{1};
  DType scale_type = DType::f64, zero_point_type = DType::s64;
};

// A scale and a zero point for x, or for each row of it, in the shape and types of the program.
ValueId choose(NodeReader& in, ValueId x, Choice choice) {
  if (in.dtype(x) != DType::f32 && !in.failed())
    return in.unsupported("argument 'input'", std::string(octavo::name_of(in.dtype(x))), "f32");
  if (in.failed()) return {};
  ValueId image = x;
  if (choice.is_by_row) {
    const Dim inner = in.shape(x).to_vector().back();
    image = in.reshape(x, {in.shape(x).elements() / inner, inner}, "rows");
    choice.attrs.axis = 1;
  }
  const auto made = in.add_exactly(kRowQuantize, choice.attrs, {image}, "quantized");
  if (in.failed()) return {};
  in.building().is_quantized = true;
  const ValueId zero = in_program_type(in, made[2], choice.type, "zero_point");
  const ValueId scale = in.reshape(in.cast(made[1], choice.scale_type, "scale_real"), choice.scale_shape, "scale");
  in.output(1,
            in.reshape(in.cast(zero, choice.zero_point_type, "zero_point_whole"), choice.scale_shape, "zero_points"));
  if (in.failed()) return {};
  const bool is_symmetric = choice.attrs.form == DynamicForm::pt2e_symmetric;
  in.building().run_quantized[scale.index] = {x, {}, made[0], made[1], made[2], choice.type, is_symmetric};
  return scale;
}

// The shape of x with one scale for each row.
Extents row_scales(NodeReader& in, ValueId x) {
  Extents rows = in.shape(x).to_vector();
  rows.back() = 1;
  return rows;
}

// Both ends of an 8-bit type.
DType read_whole_range(NodeReader& in, std::string_view name = "dtype") {
  const DType type = in.element_type(name, DType::s8);
  const std::int64_t lowest = in.integer("quant_min"), highest = in.integer("quant_max");
  if (in.failed()) return type;
  if (!is_8bit(type)) in.unsupported(quoted("argument", name), std::string(octavo::name_of(type)), "s8 or u8");
  else if (const IntegerRange whole = range_of(type); lowest != whole.lowest || highest != whole.highest)
    in.unsupported("arguments 'quant_min' and 'quant_max'", std::to_string(lowest) + " to " + std::to_string(highest),
                   "all of " + std::string(octavo::name_of(type)));
  return type;
}

template <DynamicForm form>
ValueId read_choose(NodeReader& in) {
  const ValueId x = in.value("input");
  const float least = in.real("eps", 0.0f);
  return choose(in, x, {.attrs = {.form = form, .least_scale = least}, .type = read_whole_range(in)});
}

ValueId read_choose_by_token(NodeReader& in) {
  const ValueId x = in.value("input");
  const DType type = in.element_type("dtype", DType::s8);
  if (type != DType::s8) return in.unsupported("argument 'dtype'", std::string(octavo::name_of(type)), "s8");
  in.require_rank(x, 1, 8);
  if (in.failed()) return {};
  const RowQuantizeAttrs attrs{.form = DynamicForm::pt2e_token, .least_scale = std::numeric_limits<float>::epsilon()};
  return choose(in, x, {.attrs = attrs, .type = type, .is_by_row = true, .scale_shape = row_scales(in, x)});
}

// ---- torchao ----

// What a block of torchao spans: a row, which may be all there is, or everything.
enum class Block { row, everything, other };
Block block_of(NodeReader& in, ValueId x) {
  const Numbers sizes = in.integers("block_size");
  if (in.failed() || sizes.size() != static_cast<std::size_t>(in.rank(x)) || sizes.empty()) return Block::other;
  bool is_row = true, is_everything = true;
  for (int i = 0; i < in.rank(x); ++i) {
    const Dim& size = sizes[static_cast<std::size_t>(i)];
    const bool is_whole = is_same(size, in.shape(x)[i]);
    is_everything = is_everything && is_whole;
    is_row = is_row && (i + 1 == in.rank(x) ? is_whole : is_one(size));
  }
  return is_row ? Block::row : is_everything ? Block::everything : Block::other;
}

ValueId read_choose_affine(NodeReader& in) {
  const ValueId x = in.value("input");
  in.require_rank(x, 1, 8);
  const std::string mapping = in.text("mapping_type", "");
  const Block block = block_of(in, x);
  const DType type = read_whole_range(in, "target_dtype");
  Choice choice{.attrs = {.form = mapping == "SYMMETRIC" ? DynamicForm::pt2e_symmetric : DynamicForm::pt2e,
                          .least_scale = in.real("eps", std::numeric_limits<float>::min())},
                .type = type,
                .is_by_row = block == Block::row,
                .scale_type = in.element_type("scale_dtype", DType::f32),
                .zero_point_type = in.element_type("zero_point_dtype", DType::s32)};
  if (mapping != "SYMMETRIC" && mapping != "ASYMMETRIC")
    in.unsupported("argument 'mapping_type'", "'" + mapping + "'", "'SYMMETRIC' or 'ASYMMETRIC'");
  if (block == Block::other && !in.failed())
    in.unsupported("argument 'block_size'", "another block", "a row of the last axis, or the whole tensor");
  const bool keeps_dims = in.flag("keepdim");
  if (in.failed()) return {};
  choice.scale_shape = choice.is_by_row ? row_scales(in, x) : Extents(static_cast<std::size_t>(in.rank(x)), Dim(1));
  if (!keeps_dims && choice.is_by_row) choice.scale_shape.pop_back();
  else if (!keeps_dims) choice.scale_shape.clear();
  return choose(in, x, std::move(choice));
}

// Names of the arguments of quantize and dequantize.
struct Names {
  std::string_view scale, zero_point, type = "dtype";
};

// What a name of the program chose for x, given again to quantize or dequantize; an error where it is something else.
RunQuantized* chosen(NodeReader& in, const Names& names) {
  const ValueId given = in.value(names.scale);
  in.ignore(names.zero_point);
  if (in.failed()) return nullptr;
  const auto found = in.building().run_quantized.find(given.index);
  if (found == in.building().run_quantized.end()) {
    in.unsupported(quoted("argument", names.scale), "a tensor that the run computes",
                   "a constant, or one of choose_qparams");
    return nullptr;
  }
  const DType type = read_whole_range(in, names.type);
  if (!in.failed() && type != found->second.type)
    in.fail(quoted("argument", names.type), std::string(octavo::name_of(type)),
            std::string(octavo::name_of(found->second.type)) + ", for which its scale was chosen");
  return in.failed() ? nullptr : &found->second;
}

ValueId quantize_chosen(NodeReader& in, const Names& names) {
  const ValueId x = in.value("input");
  RunQuantized* known = chosen(in, names);
  if (known == nullptr) return {};
  if (known->x != x)
    return in.unsupported("argument 'input'", "another tensor than its scale was chosen for", "the same");
  ++in.building().activation_types[known->type];
  const ValueId bytes = in.reshape(known->bytes, in.shape(x).to_vector(), "bytes");
  return known->q = in_program_type(in, bytes, known->type, "signed");
}

// One scale for each row of x, or one for all.
ValueId dequantize_chosen(NodeReader& in, const Names& names) {
  const ValueId q = in.value("input");
  const RunQuantized* known = chosen(in, names);
  if (in.element_type("out_dtype", DType::f32) != DType::f32 ||
      in.element_type("output_dtype", DType::f32) != DType::f32)
    in.unsupported("the type of the result", "another", "FLOAT");
  if (known == nullptr || in.failed()) return {};
  if (known->q != q) return in.unsupported("argument 'input'", "another tensor than was quantized", "the same");
  return in.reshape(real_of(in, *known), in.shape(q).to_vector());
}

ValueId read_quantize_by_token(NodeReader& in) { return quantize_chosen(in, {"scales", "zero_points"}); }
ValueId read_dequantize_by_token(NodeReader& in) { return dequantize_chosen(in, {"scales", "zero_points"}); }

constexpr Operator kReaders[] = {
    {"quantized_decomposed.choose_qparams", "tensor", Aliasing::fresh, read_choose<DynamicForm::pt2e>},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric", "default", Aliasing::fresh, read_choose_by_token},
    {"quantized_decomposed.choose_qparams_symmetric", "tensor", Aliasing::fresh,
     read_choose<DynamicForm::pt2e_symmetric>},
    {"quantized_decomposed.dequantize_per_token", "default", Aliasing::fresh, read_dequantize_by_token},
    {"quantized_decomposed.quantize_per_token", "default", Aliasing::fresh, read_quantize_by_token},
    {"torchao.choose_qparams_affine", "default", Aliasing::fresh, read_choose_affine},
};

}  // namespace

const std::span<const Operator> kQuantizedInRun = kReaders;

ValueId quantize_in_run(NodeReader& in) { return quantize_chosen(in, {"scale", "zero_point"}); }
ValueId dequantize_in_run(NodeReader& in) { return dequantize_chosen(in, {"scale", "zero_point"}); }

ValueId quantize_blocks_in_run(NodeReader& in) {
  in.ignore("block_size");  // the scale's
  return quantize_chosen(in, {"scale", "zero_point", "output_dtype"});
}

ValueId dequantize_blocks_in_run(NodeReader& in) {
  in.ignore("block_size");
  return dequantize_chosen(in, {"scale", "zero_point", "input_dtype"});
}

ValueId real_of(NodeReader& in, const RunQuantized& known) {
  if (in.built().options.dequantizes_dynamic) return known.x;
  const bool is_by_row = in.rank(known.scale) == 1;
  return dequantize(in, known.bytes, {known.scale, known.zero_point, is_by_row ? 0 : -1}, "rows");
}

}  // namespace octavo::pt2_import
