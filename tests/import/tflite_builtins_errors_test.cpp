// Files of TFLite's recurrent layers, spectra, matrices and counted results that make no sense: each is refused by a
// message that says where. Part of the tests of import/.
#include <gtest/gtest.h>

#include "import/one_operator.h"

namespace octavo::testing {
namespace {

constexpr DType kS8 = DType::s8, kS16 = DType::s16, kTfliteBuiltinsErrorsS32 = DType::s32, kF32 = DType::f32;
constexpr int kLstm = 16, kRnn = 24, kSvdf = 27, kSequenceLstm = 44, kTwoWayLstm = 52, kUnique = 103, kWhere = 109,
              kMatrixDiag = 113, kMatrixSetDiag = 115, kRfft2d = 131, kConv3d = 132, kImag = 133, kReal = 134,
              kHashtableLookup = 10, kRange = 96;
constexpr int kComplex = 8;  // the format's number of the type

using Dims = std::vector<std::int32_t>;

// An operator of graph inputs; one without a name is left out.
struct Case {
  int code = 0;
  std::vector<TfliteTensor> inputs;
  tfl::BuiltinOptions kind = tfl::BuiltinOptions::NONE;
  TfliteOptions options;
  std::vector<TfliteTensor> outputs{{.name = "y"}};
  std::vector<TfliteTensor> intermediates;
};

TfliteTensor tensor(DType dtype, Dims shape, float scale = 0.0f, std::int64_t zero_point = 0) {
  TfliteTensor made{.name = "t", .dtype = dtype, .shape = std::move(shape)};
  if (scale > 0.0f) made.scale = {scale}, made.zero_point = {zero_point};
  return made;
}
TfliteTensor constant(const Tensor& data) {
  TfliteTensor made{.name = "c", .dtype = data.dtype(), .data = data};
  for (const std::int64_t dim : data.shape()) made.shape.push_back(static_cast<std::int32_t>(dim));
  return made;
}

// All errors, or nothing.
std::string error_of(const Case& given) {
  TfliteBuilder builder;
  TfliteOperator op{.code = given.code, .kind = given.kind, .options = given.options};
  for (const TfliteTensor& input : given.inputs) {
    if (input.name.empty()) op.inputs.push_back(-1);
    else op.inputs.push_back(input.data || input.is_variable ? builder.tensor(input) : builder.input(input));
  }
  for (const TfliteTensor& output : given.outputs) op.outputs.push_back(builder.output(output));
  for (const TfliteTensor& inner : given.intermediates) op.intermediates.push_back(builder.tensor(inner));
  const auto made = builder.add(op).import();
  return made.ok() ? "" : to_string(made.errors());
}

void expect_error(const Case& given, const std::string& text) {
  const std::string error = error_of(given);
  EXPECT_NE(error.find(text), std::string::npos) << error;
}

TEST(TfliteRefusals, CountedResults) {
  expect_error({.code = kWhere, .inputs = {tensor(kF32, {})}, .outputs = {{.name = "y", .dtype = DType::s64}}},
               "operator 0 (WHERE), input 0");
  expect_error({.code = kWhere, .inputs = {tensor(kF32, {2}), tensor(kF32, {2})}}, "(WHERE): found 2 inputs");
  expect_error({.code = kWhere, .inputs = {tensor(kF32, {2})}}, "found the declared type f32, expected s64");
  expect_error({.code = kUnique,
                .inputs = {tensor(kTfliteBuiltinsErrorsS32, {2, 2})},
                .outputs = {{.name = "y"}, {.name = "i"}}},
               "(UNIQUE), input 0");
  expect_error({.code = kUnique, .inputs = {tensor(kTfliteBuiltinsErrorsS32, {2})}},
               "(UNIQUE): found 1 outputs, expected 2");
}

TEST(TfliteRefusals, RangesOfInputsAndWithoutAnEnd) {
  const TfliteTensor one = constant(floats({}, {1})), ten = constant(floats({}, {10}));
  expect_error({.code = kRange, .inputs = {one, ten, tensor(kF32, {})}}, "(RANGE), input 'delta'");
  expect_error({.code = kRange, .inputs = {one, ten, constant(floats({}, {0}))}}, "found a range that does not end");
  expect_error({.code = kRange, .inputs = {one, ten, constant(floats({}, {1e-30f}))}}, "a range that does not end");
  expect_error({.code = kRange, .inputs = {one, constant(s32s({}, {4})), one}}, "expected three scalars of one type");
  EXPECT_EQ(error_of({.code = kRange, .inputs = {one, ten, constant(floats({}, {-1e-30f}))}}), "");
}

TEST(TfliteRefusals, Matrices) {
  expect_error({.code = kMatrixDiag, .inputs = {tensor(kF32, {})}}, "(MATRIX_DIAG), input 0");
  expect_error({.code = kMatrixSetDiag, .inputs = {tensor(kF32, {2, 3}), tensor(kF32, {3})}},
               "input 1: found shape 3, expected 2");
  expect_error({.code = kMatrixSetDiag, .inputs = {tensor(kF32, {2, 3}), tensor(kF32, {1, 2})}}, "input 1");
  expect_error(
      {.code = kHashtableLookup,
       .inputs = {tensor(kTfliteBuiltinsErrorsS32, {2}), tensor(kTfliteBuiltinsErrorsS32, {3}), tensor(kF32, {2, 4})},
       .outputs = {{.name = "y"}, {.name = "hits", .dtype = DType::u8}}},
      "input 2: found shape 2x4, expected a row for each of the keys");
}

TEST(TfliteRefusals, SlicesOfMoreAxesThanThereAre) {
  const auto slice = [](int entries, int ellipsis_mask, int new_axis_mask) {
    const TfliteTensor list =
        constant(s32s({entries}, std::vector<std::int32_t>(static_cast<std::size_t>(entries), 1)));
    return Case{.code = 45,
                .inputs = {tensor(kF32, {2, 3}), list, list, list},
                .kind = tfl::BuiltinOptions::StridedSliceOptions,
                .options = options_of(tfl::CreateStridedSliceOptions, 0, 0, ellipsis_mask, new_axis_mask, 0, false)};
  };
  const std::string expected = "expected lists of one length, for at most 2 axes and one ellipsis";
  EXPECT_EQ(error_of(slice(2, 0, 0)), "");
  EXPECT_EQ(error_of(slice(4, 2, 4)), "");
  expect_error(slice(3, 0, 0), expected);
  expect_error(slice(3, 3, 0), expected);
  expect_error(slice(33, 0, -1), expected);
}

TEST(TfliteRefusals, BatchesThatIndicesDoNotHave) {
  const auto gather = [](int axis, int batch_dims) {
    return Case{.code = 36,
                .inputs = {tensor(kF32, {2, 3, 4}), tensor(kTfliteBuiltinsErrorsS32, {2, 3})},
                .kind = tfl::BuiltinOptions::GatherOptions,
                .options = options_of(tfl::CreateGatherOptions, axis, batch_dims)};
  };
  EXPECT_EQ(error_of(gather(2, 1)), "");
  expect_error(gather(0, 1), "option 'batch_dims': found 1, expected axes of the indices, at most 0");
  expect_error(gather(2, -3), "option 'batch_dims': found -3, expected axes of the indices, at most 2");
  EXPECT_NE(error_of(gather(2, 3)), "");
  EXPECT_NE(error_of(gather(3, 1)), "");
  Case other = gather(2, 1);
  other.inputs[1].shape = {3, 3};
  expect_error(other, "indices: found 3x3x1, expected leading axes of 2x4x3");
}

TEST(TfliteRefusals, ComplexNumbersOutsideOfSpectra) {
  TfliteTensor pairs{.name = "p", .shape = {2, 3}, .type = kComplex};
  expect_error({.code = kImag, .inputs = {pairs}}, "input 'p': found complex numbers, expected real ones");
  expect_error({.code = kReal, .inputs = {tensor(kF32, {2, 2})}}, "input 0: found f32, expected complex numbers");
  const TfliteTensor length = constant(s32s({2}, {4, 4}));
  expect_error({.code = kRfft2d, .inputs = {tensor(kF32, {4, 4}), length}}, "output 0: found f32, expected complex");
  expect_error({.code = kRfft2d, .inputs = {tensor(kF32, {4}), length}, .outputs = {pairs}}, "(RFFT2D), input 0");
  expect_error({.code = kRfft2d, .inputs = {tensor(kF32, {4, 4}), constant(s32s({1}, {4}))}, .outputs = {pairs}},
               "found 1 numbers, expected two");
  expect_error({.code = kRfft2d, .inputs = {tensor(kF32, {4, 4}), constant(s32s({2}, {4, 0}))}, .outputs = {pairs}},
               "found a length of 0, expected 1 to 2^24");
  pairs.shape.assign(8, 1);
  expect_error({.code = kImag, .inputs = {pairs}}, "shape: found 8 axes, expected at most 7");
}

TEST(TfliteRefusals, ConvolutionsOverThreeAxes) {
  const auto kind = tfl::BuiltinOptions::Conv3DOptions;
  const auto options = options_of(tfl::CreateConv3DOptions, std::int8_t{0}, 1, 1, 1, std::int8_t{0}, 1, 1, 1);
  const auto conv = [&](TfliteTensor x, TfliteTensor w, TfliteTensor bias) {
    return Case{.code = kConv3d, .inputs = {x, w, bias}, .kind = kind, .options = options};
  };
  const TfliteTensor x = tensor(kF32, {1, 2, 2, 2, 3}), w = tensor(kF32, {1, 1, 1, 3, 4});
  EXPECT_EQ(error_of(conv(x, w, tensor(kF32, {4}))), "");
  expect_error(conv(x, w, tensor(kF32, {3})), "input 'bias': found shape 3, expected 4 values");
  expect_error(conv(tensor(kS8, {1, 2, 2, 2, 3}), w, {}), "input 'x': found s8, expected f32");
  expect_error(conv(tensor(kF32, {2, 2, 2, 3}), w, {}), "input 'x'");
  expect_error(conv(x, tensor(kF32, {1, 1, 1, 2, 4}), {}), "expected channels that divide 3");
  expect_error({.code = kConv3d, .inputs = {x, w}}, "options: found none of the operator's kind");
}

// ---- recurrent layers ----

const auto kLstmOptions =
    options_of(tfl::CreateUnidirectionalSequenceLSTMOptions, std::int8_t{4}, 0.0f, 0.0f, false, false);

// x [2, 5, 4], three hidden elements, all parts that are needed.
Case lstm(DType type = kF32) {
  const bool is_integer = type == kS8;
  const auto weights = [&](Dims shape) { return tensor(type, std::move(shape), is_integer ? 0.01f : 0.0f); };
  const auto bias = [&] { return tensor(is_integer ? kTfliteBuiltinsErrorsS32 : kF32, {3}); };
  Case made{.code = kSequenceLstm,
            .kind = tfl::BuiltinOptions::UnidirectionalSequenceLSTMOptions,
            .options = kLstmOptions,
            .outputs = {is_integer ? tensor(kS8, {2, 5, 3}, 0.01f) : TfliteTensor{.name = "y"}}};
  made.inputs.push_back(tensor(type, {2, 5, 4}, is_integer ? 0.02f : 0.0f));
  for (int i = 0; i < 4; ++i) made.inputs.push_back(weights({3, 4}));
  for (int i = 0; i < 4; ++i) made.inputs.push_back(weights({3, 3}));
  made.inputs.resize(12);
  for (int i = 0; i < 4; ++i) made.inputs.push_back(bias());
  made.inputs.resize(18);
  made.inputs.push_back(tensor(type, {2, 3}, is_integer ? 0.01f : 0.0f));
  made.inputs.push_back(is_integer ? tensor(kS16, {2, 3}, 0x1p-11f) : tensor(kF32, {2, 3}));
  made.inputs[18].is_variable = made.inputs[19].is_variable = true;
  if (is_integer) made.intermediates.assign(5, tensor(kS8, {}, 0.01f));
  for (std::size_t i = 0; i < made.inputs.size(); ++i) {
    if (!made.inputs[i].name.empty()) made.inputs[i].name += std::to_string(i);
  }
  return made;
}

TEST(TfliteRefusals, LstmsOfFloats) {
  EXPECT_EQ(error_of(lstm()), "");
  Case given = lstm();
  given.inputs.pop_back();
  expect_error(given, "found 19 inputs, expected 20 to 24");
  for (const int missing : {2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15}) {
    given = lstm();
    given.inputs[static_cast<std::size_t>(missing)] = {};
    expect_error(given, "input " + std::to_string(missing) + ": found none, expected a tensor");
  }
  // Every part in a wrong shape, rank or type.
  for (std::size_t i = 0; i < 20; ++i) {
    if (lstm().inputs[i].name.empty() || i >= 18) continue;
    given = lstm();
    given.inputs[i].shape.back() += 1;
    EXPECT_NE(error_of(given), "") << i;
    for (const Dims& shape : {Dims{12}, Dims{3, 3, 3}}) {
      given = lstm();
      given.inputs[i].shape = shape;
      if (shape != Dims{12} || i < 12) {
        EXPECT_NE(error_of(given), "") << i;
      }
    }
    given = lstm();
    given.inputs[i].shape = {};
    EXPECT_NE(error_of(given), "") << i;
    given = lstm();
    given.inputs[i].dtype = kTfliteBuiltinsErrorsS32;
    EXPECT_NE(error_of(given), "") << i;
  }
  given = lstm();
  given.options = options_of(tfl::CreateUnidirectionalSequenceLSTMOptions, std::int8_t{5}, 0.0f, 0.0f, false, false);
  expect_error(given, "fused activation function: found 5, expected none, RELU, RELU_N1_TO_1, RELU6 or TANH");
  given = lstm();
  given.kind = tfl::BuiltinOptions::NONE;
  given.options = {};
  expect_error(given, "options: found none of the operator's kind");
}

TEST(TfliteRefusals, LstmsOfIntegers) {
  EXPECT_EQ(error_of(lstm(kS8)), "");
  Case given = lstm(kS8);
  given.intermediates.pop_back();
  expect_error(given, "intermediates: found 4, expected 5: the form with 16-bit cells");
  given = lstm(kS8);
  given.intermediates.back().scale = {};
  expect_error(given, "intermediate 4: found s8 without a scale, expected s8 with one scale");
  given = lstm(kS8);
  given.inputs[19].scale = {0.001f};
  expect_error(given, "input 19: found the scale 0.001000, expected 2^-15 to 2^-9");
  given = lstm(kS8);
  given.inputs[2].zero_point = {3};
  expect_error(given, "input 2: found the zero point 3, expected 0");
  given = lstm(kS8);
  given.inputs[9] = given.inputs[10] = given.inputs[11] = tensor(kS16, {3}, 0.01f);
  expect_error(given, "input 9: found peepholes in integers, expected none");
  for (std::size_t i = 0; i < 18; ++i) {
    if (lstm(kS8).inputs[i].name.empty()) continue;
    given = lstm(kS8);
    given.inputs[i].shape.back() += 1;
    EXPECT_NE(error_of(given), "") << i;
    given = lstm(kS8);
    given.inputs[i] = {};
    EXPECT_EQ(error_of(given).empty(), false) << i;
  }
}

TEST(TfliteRefusals, WeightsOf8BitsBesideFloats) {
  Case given = lstm();
  for (const std::size_t i : {1, 2, 3, 4, 5, 6, 7, 8}) given.inputs[i] = tensor(kS8, given.inputs[i].shape, 0.01f);
  EXPECT_EQ(error_of(given), "");
  given.inputs[6].scale = {};
  expect_error(given, "input 6: found s8 without a scale, expected s8 with one scale");
  given.inputs[6] = tensor(kF32, {3, 3});
  expect_error(given, "input 6: found f32 without a scale, expected s8 with one scale");
}

TEST(TfliteRefusals, OtherRecurrentLayers) {
  const TfliteTensor x = tensor(kF32, {2, 4}), w = tensor(kF32, {3, 4}), r = tensor(kF32, {3, 3}),
                     b = tensor(kF32, {3});
  TfliteTensor h = tensor(kF32, {2, 3});
  h.is_variable = true;
  const auto rnn = [&](std::vector<TfliteTensor> inputs) {
    return Case{.code = kRnn,
                .inputs = std::move(inputs),
                .kind = tfl::BuiltinOptions::RNNOptions,
                .options = options_of(tfl::CreateRNNOptions, std::int8_t{4}, false)};
  };
  EXPECT_EQ(error_of(rnn({x, w, r, b, h})), "");
  expect_error(rnn({x, w, r, b}), "found 4 inputs, expected 5");
  expect_error(rnn({x, w, {}, b, h}), "input 2: found none");
  expect_error(rnn({x, tensor(kS8, {3, 4}, 0.01f), r, b, h}), "weights: found s8, expected f32 beside f32");
  EXPECT_NE(error_of(rnn({x, w, tensor(kF32, {3, 4}), b, h})), "");
  EXPECT_NE(error_of(rnn({x, tensor(kF32, {12}), r, b, h})), "");
  EXPECT_NE(error_of(rnn({x, w, tensor(kF32, {}), b, h})), "");
  EXPECT_NE(error_of(rnn({tensor(kF32, {2, 5, 4}), w, r, b, h})), "");

  Case step{.code = kLstm, .kind = tfl::BuiltinOptions::LSTMOptions};
  step.options = options_of(tfl::CreateLSTMOptions, std::int8_t{4}, 0.0f, 0.0f, std::int8_t{1}, false);
  step.inputs = {x, tensor(kF32, {2, 3}), tensor(kF32, {12, 7}), tensor(kF32, {12}), tensor(kF32, {2, 3})};
  step.outputs = {{.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "d"}};
  EXPECT_EQ(error_of(step), "");
  step.inputs[3].shape = {};
  EXPECT_NE(error_of(step), "");
  step.inputs[3].shape = {12};
  step.inputs[2].shape = {12, 8};
  expect_error(step, "input 2: found shape 12x8, expected 12x7");
  step.inputs[2] = tensor(DType::u8, {12, 7}, 0.01f);
  expect_error(step, "input 2: found u8, expected f32");
  step.outputs.pop_back();
  EXPECT_NE(error_of(step), "");
}

TEST(TfliteRefusals, Svdf) {
  const auto svdf = [&](std::vector<TfliteTensor> inputs, int rank = 2) {
    inputs.back().is_variable = true;
    return Case{.code = kSvdf,
                .inputs = std::move(inputs),
                .kind = tfl::BuiltinOptions::SVDFOptions,
                .options = options_of(tfl::CreateSVDFOptions, rank, std::int8_t{1}, false)};
  };
  const TfliteTensor x = tensor(kF32, {2, 6}), features = tensor(kF32, {8, 6}), by_time = tensor(kF32, {8, 5}),
                     bias = tensor(kF32, {4}), state = tensor(kF32, {2, 40});
  EXPECT_EQ(error_of(svdf({x, features, by_time, bias, state})), "");
  expect_error(svdf({x, features, by_time, bias, state}, 3),
               "option 'rank': found 3, expected a number that divides the 8");
  expect_error(svdf({x, features, by_time, bias, state}, 0), "option 'rank': found 0");
  expect_error(svdf({x, tensor(kS8, {8, 6}, 0.01f), by_time, bias, state}), "input 1: found s8, expected f32");
  EXPECT_NE(error_of(svdf({x, tensor(kF32, {8, 7}), by_time, bias, state})), "");
  EXPECT_NE(error_of(svdf({x, features, tensor(kF32, {8}), bias, state})), "");
  Case integers = svdf({tensor(kS8, {2, 6}, 0.1f),
                        tensor(kS8, {8, 6}, 0.1f),
                        tensor(kS16, {8, 5}, 0.1f),
                        {},
                        tensor(kS16, {2, 40}, 0.1f)});
  expect_error(integers, "output 0: found f32 without a scale, expected s8 with one scale");
  integers.outputs = {tensor(kS8, {2, 4}, 0.1f)};
  EXPECT_EQ(error_of(integers), "");
  integers.inputs[4].scale = {};
  expect_error(integers, "input 4: found s16 without a scale, expected s16 with one scale");
}

TEST(TfliteRefusals, OperatorsOfTensorflow) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1, 4}});
  builder.add({.code = 32, .inputs = {x}, .outputs = {builder.output({.name = "y"})}, .custom = "FlexErf"});
  const auto made = builder.import();
  ASSERT_FALSE(made.ok());
  const std::string error = to_string(made.errors());
  EXPECT_NE(error.find("operator CUSTOM 'FlexErf': found it as operator 0 'y', expected operators of TFLite: "
                       "TensorFlow's flex delegate runs this one. Convert the model with TFLITE_BUILTINS alone"),
            std::string::npos)
      << error;
}

TEST(TfliteRefusals, LayersOfBothDirections) {
  Case given{.code = kTwoWayLstm, .kind = tfl::BuiltinOptions::BidirectionalSequenceLSTMOptions};
  given.options =
      options_of(tfl::CreateBidirectionalSequenceLSTMOptions, std::int8_t{4}, 0.0f, 0.0f, false, true, false);
  given.inputs.resize(39);
  given.inputs[0] = tensor(kF32, {5, 2, 4});
  given.inputs[38] = tensor(kF32, {2, 3});
  given.inputs[38].is_variable = true;
  expect_error(given, "found 1 outputs, expected 2");
  given.outputs.push_back({.name = "z"});
  expect_error(given, "input 2: found none, expected a tensor");
}

}  // namespace
}  // namespace octavo::testing
