// cumsum: its meaning, its kernel, and the files that have it. Part of tests/kernels/.
#include "ops/cumsum/cumsum.h"

#include <gtest/gtest.h>

#include "kernels/harness.h"
#include "ops/evaluate.h"
#include "support/onnx_builder.h"
#include "support/tflite_builder.h"
#include "support/zip_builder.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;

Values sums_of(const CumsumAttrs& attrs, const Tensor& x) {
  const std::vector<ConstTensorView> inputs{x.view()};
  const auto results = evaluate_op(kCumsum, attrs, inputs);
  EXPECT_TRUE(results.ok()) << to_string(results.errors());
  return results.ok() ? as_floats(results->front()) : Values{};
}

TEST(Cumsum, SumsFromEitherEndWithOrWithoutTheElement) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(sums_of({.axis = 1}, x), (Values{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true}, x), (Values{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(sums_of({.axis = 1, .reverse = true}, x), (Values{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true, .reverse = true}, x), (Values{5, 3, 0, 11, 6, 0}));
  EXPECT_EQ(sums_of({.axis = 0}, x), (Values{1, 2, 3, 5, 7, 9}));
}

TEST(Cumsum, ProductsStartWithOne) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const CumsumKind product = CumsumKind::product;
  EXPECT_EQ(sums_of({.axis = 1, .kind = product}, x), (Values{1, 2, 6, 4, 20, 120}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true, .kind = product}, x), (Values{1, 1, 2, 1, 4, 20}));
  EXPECT_EQ(sums_of({.axis = 1, .exclusive = true, .reverse = true, .kind = product}, x), (Values{6, 3, 1, 30, 6, 1}));
  const Tensor large = Tensor::of<std::int32_t>(Shape{2}, {65536, 65537});
  EXPECT_EQ(sums_of({.kind = product}, large), (Values{65536, 65536}));
}

TEST(Cumsum, FloatsAreSummedInDoublesAndIntegersWrap) {
  EXPECT_EQ(sums_of({}, floats({3}, {16777216.0f, 1, 1})), (Values{16777216, 16777216, 16777218}));
  const Tensor x = Tensor::of<std::int32_t>(Shape{2}, {2147483647, 2});
  EXPECT_EQ(sums_of({}, x), (Values{2147483648.0f, -2147483647.0f}));
}

TEST(Cumsum, RefusesAxesAndTypesThatItHasNot) {
  const Fact x{.dtype = DType::f32, .shape = Shape{2, 3}}, bytes{.dtype = DType::u8, .shape = Shape{2, 3}};
  const Fact* inputs[] = {&x};
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = 2}, inputs).ok());
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = -1}, inputs).ok());
  EXPECT_TRUE(infer_checked(kCumsum, CumsumAttrs{.axis = 1}, inputs).ok());
  inputs[0] = &bytes;
  EXPECT_FALSE(infer_checked(kCumsum, CumsumAttrs{.axis = 1}, inputs).ok());
}

const Tensor kRows = floats({2, 3}, {1, 2, 3, 4, 5, 6});

TEST(Cumsum, OfOnnx) {
  const auto sums = [](const Tensor& axis, std::int64_t exclusive, std::int64_t reverse) {
    return as_floats(answers_of("CumSum", 14, {kRows}, {axis}, {{"exclusive", exclusive}, {"reverse", reverse}})[0]);
  };
  EXPECT_EQ(sums(integers({}, {1}), 0, 0), (Values{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(sums(integers({1}, {-2}), 1, 0), (Values{0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(sums(integers({}, {-1}), 1, 1), (Values{5, 3, 0, 11, 6, 0}));
}

TEST(Cumsum, ProductsOfOnnx) {
  const auto y = answers_of("CumProd", 26, {kRows}, {integers({}, {1})}, {{"reverse", std::int64_t{1}}});
  EXPECT_EQ(as_floats(y[0]), (Values{6, 6, 3, 120, 30, 6}));
}

TEST(Cumsum, OfTflite) {
  for (const bool reverse : {false, true}) {
    TfliteBuilder model;
    const int x = model.input({.name = "x", .shape = {2, 3}});
    const int axis = model.constant(Tensor::of<std::int32_t>(Shape{}, {-1}));
    const int y = model.output({.name = "y", .shape = {2, 3}});
    model.add({.code = 128,
               .inputs = {x, axis},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::CumsumOptions,
               .options = options_of(tfl::CreateCumsumOptions, true, reverse)});
    const auto sums = answers(model, {kRows});
    ASSERT_EQ(sums.size(), 1u);
    EXPECT_EQ(as_floats(sums[0]), reverse ? (Values{5, 3, 0, 11, 6, 0}) : (Values{0, 1, 3, 0, 4, 9}));
  }
}

// An exported program of one node; numbers of element types as the format has them.
std::string program_of(const std::string& type, const std::string& result_type) {
  const auto tensor = [](const std::string& dtype) {
    return R"({"dtype":)" + dtype +
           R"(,"sizes":[{"as_int":2},{"as_int":3}],"requires_grad":false,"device":{"type":"cpu","index":null},)"
           R"("strides":[{"as_int":3},{"as_int":1}],"storage_offset":{"as_int":0},"layout":7})";
  };
  const std::string x = R"({"as_tensor":{"name":"x"}})", y = R"({"as_tensor":{"name":"y"}})";
  return R"({"graph_module":{"graph":{"inputs":[)" + x + R"(],"outputs":[)" + y +
         R"(],"nodes":[{"target":"torch.ops.aten.cumsum.default","inputs":[{"name":"self","arg":)" + x +
         R"(,"kind":1},{"name":"dim","arg":{"as_int":-1},"kind":1}],"outputs":[)" + y +
         R"(],"metadata":{},"is_hop_single_tensor_return":null,"name":"y"}],"tensor_values":{"x":)" + tensor(type) +
         R"(,"y":)" + tensor(result_type) +
         R"(},"sym_int_values":{},"sym_bool_values":{},"is_single_tensor_return":false,"custom_obj_values":{},)"
         R"("sym_float_values":{}},"signature":{"input_specs":[{"user_input":{"arg":)" +
         x + R"(}}],"output_specs":[{"user_output":{"arg":)" + y +
         R"(}}]},"module_call_graph":[]},"opset_version":{"aten":10},"range_constraints":{},)"
         R"("schema_version":{"major":8,"minor":20},"verifiers":["TRAINING"],"torch_version":"2.15.0"})";
}

Tensor sums_of_program(const std::string& program, const Tensor& x) {
  const std::string empty = R"({"config":{}})";
  const std::string bytes = zip_of({{"archive/models/model.json", program},
                                    {"archive/data/weights/model_weights_config.json", empty},
                                    {"archive/data/constants/model_constants_config.json", empty},
                                    {"archive/archive_format", "pt2"},
                                    {"archive/archive_version", "0"},
                                    {"archive/byteorder", "little"}});
  const auto model = import_pt2(std::as_bytes(std::span(bytes)), "test.pt2", {});
  EXPECT_TRUE(model.ok()) << to_string(model.errors());
  if (!model.ok()) return x;
  const std::vector<Tensor> inputs{x};
  auto sums = evaluate(model->graph, inputs);
  EXPECT_TRUE(sums.ok()) << to_string(sums.errors());
  return sums.ok() ? std::move(sums->front()) : x;
}

// Integers are summed in s64.
TEST(Cumsum, OfAten) {
  const std::string f32 = "7", s32 = "4", s64 = "5";
  EXPECT_EQ(as_floats(sums_of_program(program_of(f32, f32), kRows)), (Values{1, 3, 6, 4, 9, 15}));
  const Tensor x = Tensor::of<std::int32_t>(Shape{2, 3}, {2147483647, 1, 6, 1, 2, 3});
  const Tensor sums = sums_of_program(program_of(s32, s64), x);
  ASSERT_EQ(sums.dtype(), DType::s64);
  EXPECT_EQ(to_int64s(sums.view()), (std::vector<std::int64_t>{2147483647, 2147483648, 2147483654, 1, 3, 6}));
}

TEST(Cumsum, KernelsHaveTheReferencesBits) {
  std::mt19937 random(7);
  std::set<std::string> ran;
  for (const DType dtype : {DType::f32, DType::f64, DType::s32, DType::u32, DType::s64, DType::u64}) {
    for (const std::int64_t axis : {0, 1, 2}) {
      for (const bool exclusive : {false, true}) {
        for (const Shape& shape : {Shape{3, 5, 70}, Shape{40, 1, 7}, Shape{33, 9, 1}, Shape{2, 0, 4}}) {
          for (const CumsumKind kind : {CumsumKind::sum, CumsumKind::product}) {
            const CumsumAttrs attrs{.axis = axis, .exclusive = exclusive, .reverse = axis == 1, .kind = kind};
            ran.merge(check_kernels({&kCumsum, attrs, {random_tensor(random, dtype, shape)}, {}}));
          }
        }
      }
    }
  }
  EXPECT_TRUE(kernels_missing(ran, "plain_cumsum").empty());
}

}  // namespace
}  // namespace octavo::testing
