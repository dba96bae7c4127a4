// One broken TFLite file per message: what the importer says and of which kind.
#include <gtest/gtest.h>

#include <cstring>

#include "support/onnx_builder.h"
#include "support/tflite_builder.h"

namespace octavo::testing {
namespace {

// The errors of a file, as text; the test fails where there is none or the first is of another kind.
std::string message_of(const Result<ImportedModel>& model, ErrorKind kind) {
  if (model) {
    ADD_FAILURE() << "was imported";
    return "";
  }
  EXPECT_EQ(model.errors().front().kind, kind) << to_string(model.errors());
  return to_string(model.errors());
}

// x -> RELU -> y, to be spoilt.
struct Simple {
  TfliteBuilder builder;
  TfliteTensor x{.name = "x", .shape = {1, 4}};
  TfliteTensor y{.name = "y", .shape = {1, 4}};
  TfliteOperator op{.code = 19};

  Result<ImportedModel> import() {
    if (op.inputs.empty()) op.inputs = {builder.input(x)};
    else builder.input(x);
    if (op.outputs.empty()) op.outputs = {builder.output(y)};
    else builder.output(y);
    return builder.add(op).import();
  }
};

std::string conv_model() {
  TfliteBuilder builder;
  const int x =
      builder.input({.name = "x", .dtype = DType::s8, .shape = {1, 4, 4, 2}, .scale = {0.5f}, .zero_point = {1}});
  const int w = builder.constant(Tensor(DType::s8, {3, 2, 2, 2}), {0.25f, 0.5f, 1.0f}, {0, 0, 0}, 0);
  const int bias = builder.constant(Tensor(DType::s32, {3}), {0.125f}, {0});
  const int y =
      builder.output({.name = "y", .dtype = DType::s8, .shape = {1, 3, 3, 3}, .scale = {1.0f}, .zero_point = {0}});
  builder.add({.code = 3,
               .inputs = {x, w, bias},
               .outputs = {y},
               .kind = tfl::BuiltinOptions::Conv2DOptions,
               .options = options_of(tfl::CreateConv2DOptions, std::int8_t{1}, 1, 1, std::int8_t{1}, 1, 1)});
  return builder.bytes();
}

// Found by fuzzing: 64-bit numbers of a vector may lie at any multiple of 4.
TEST(TfliteErrors, MisalignedZeroPointIsRead) {
  std::string bytes = conv_model();
  const auto* quantization = tfl::GetModel(bytes.data())->subgraphs()->Get(0)->tensors()->Get(0)->quantization();
  const auto* field = reinterpret_cast<const flatbuffers::Table*>(quantization)
                          ->GetAddressOf(tfl::QuantizationParameters::VT_ZERO_POINT);
  const auto at = static_cast<std::size_t>(reinterpret_cast<const char*>(field) - bytes.data());
  bytes.resize((bytes.size() + 7) / 8 * 8);
  const auto offset = static_cast<std::uint32_t>(bytes.size() - at);
  std::memcpy(bytes.data() + at, &offset, sizeof offset);
  const std::uint32_t length = 1;
  const std::int64_t zero_point = -7;
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length)
      .append(reinterpret_cast<const char*>(&zero_point), sizeof zero_point);
  const auto model = import_tflite_text(bytes);
  ASSERT_TRUE(model.ok()) << to_string(model.errors());
  const auto& quant = model->graph.fact(model->graph.inputs()[0]).quant;
  ASSERT_TRUE(quant.has_value());
  EXPECT_EQ(quant->zero_point, std::vector<std::int32_t>{-7});
}

TEST(TfliteErrors, TruncatedFile) {
  const std::string bytes = conv_model();
  ASSERT_TRUE(import_tflite_text(bytes).ok());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto model = import_tflite_text(bytes.substr(0, size));
    ASSERT_FALSE(model.ok()) << size;
    EXPECT_EQ(model.errors().front().kind, ErrorKind::invalid_input) << size;
  }
  EXPECT_EQ(message_of(import_tflite_text(bytes.substr(0, bytes.size() / 2)), ErrorKind::invalid_input),
            "test.tflite: found offsets that leave the file, or tables nested too deeply, expected a TFLite model. The "
            "file may be truncated or damaged");
  EXPECT_EQ(message_of(import_tflite_text("TFL3"), ErrorKind::invalid_input),
            "test.tflite: found no identifier TFL3, expected a TFLite model. The file may be truncated or damaged");
}

TEST(TfliteErrors, FlippedBitsNeverCrash) {
  const std::string bytes = conv_model();
  int refused = 0;
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    refused += import_tflite_text(damaged) ? 0 : 1;
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()));
}

TEST(TfliteErrors, Version) {
  Simple simple;
  simple.builder.version = 4;
  EXPECT_EQ(message_of(simple.import(), ErrorKind::unsupported),
            "test.tflite: found version 4 of the format, expected version 3");
}

TEST(TfliteErrors, Subgraphs) {
  Simple none, same, two;
  none.builder.subgraphs = 0;
  EXPECT_EQ(message_of(none.import(), ErrorKind::invalid_input),
            "test.tflite: found no subgraph, expected a model with one");
  same.builder.signatures = two.builder.signatures = {"encode", "decode"};
  EXPECT_TRUE(same.import().ok());
  two.builder.signature_subgraph = 1;
  EXPECT_EQ(message_of(two.import(), ErrorKind::unsupported),
            "test.tflite: found the signature 'decode' of subgraph 1, expected signatures of subgraph 0 alone. Convert "
            "each signature to a file of its own");
}

TEST(TfliteErrors, SubgraphsThatNothingRunsAreTold) {
  const auto dialect_of = [](int subgraphs) {
    Simple simple;
    simple.builder.subgraphs = subgraphs;
    return simple.import()->dialect;
  };
  EXPECT_EQ(dialect_of(1), "TFLite fp32");
  EXPECT_EQ(dialect_of(2), "TFLite fp32, without subgraph 1 that nothing runs");
  EXPECT_EQ(dialect_of(11), "TFLite fp32, without subgraphs 1, 2, 3, 4, 5, 6, 7, 8, ... that nothing runs");
}

TEST(TfliteErrors, UnknownOperatorsAllAtOnce) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {1}});
  const int a = builder.tensor({.name = "a"}), b = builder.tensor({.name = "b"});
  const int y = builder.output({.name = "y"});
  builder.add({.code = 15, .inputs = {x}, .outputs = {a}})
      .add({.code = 32, .inputs = {a}, .outputs = {b}, .custom = "Detect"})
      .add({.code = 300, .inputs = {b}, .outputs = {y}});
  const std::string message = message_of(builder.import(), ErrorKind::unsupported);
  EXPECT_NE(message.find("test.tflite: operator CUSTOM 'Detect': found it as operator 1 'b'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("test.tflite: operator LSH_PROJECTION: found it as operator 0 'a'"), std::string::npos)
      << message;
  EXPECT_NE(message.find("test.tflite: operator builtin 300: found it as operator 2 'y'"), std::string::npos)
      << message;
}

TEST(TfliteErrors, SubgraphsOfOperators) {
  const auto message = [](std::int32_t yes, std::int32_t no, DType condition) {
    TfliteBuilder builder;
    const int c = builder.input({.name = "c", .dtype = condition, .shape = {1}});
    builder.add({.code = 118,
                 .inputs = {c},
                 .outputs = {builder.output({.name = "y"})},
                 .kind = tfl::BuiltinOptions::IfOptions,
                 .options = options_of(tfl::CreateIfOptions, yes, no)});
    const auto model = builder.import();
    return model ? std::string() : to_string(model.errors());
  };
  EXPECT_EQ(message(0, 7, DType::f32),
            "test.tflite: subgraph 0, operator 0 (IF), input 0: found f32 1, expected bool of one element");
  EXPECT_EQ(message(7, 0, DType::boolean),
            "test.tflite: subgraph 0, operator 0 (IF): found subgraph 7, expected 0 to 0");
  TfliteBuilder nothing;
  const int test = nothing.input({.name = "c", .dtype = DType::boolean, .shape = {1}});
  const int x = nothing.input({.name = "x", .shape = {1}});
  nothing.add({.code = 101, .inputs = {x}, .outputs = {nothing.output({.name = "y"})}});
  nothing.add({.code = 118,
               .inputs = {test},
               .outputs = {},
               .kind = tfl::BuiltinOptions::IfOptions,
               .options = options_of(tfl::CreateIfOptions, 0, 0)});
  EXPECT_NE(to_string(nothing.import().errors()).find("(IF), outputs: found none, expected one at least"),
            std::string::npos)
      << to_string(nothing.import().errors());
  // The subgraph of the operator itself.
  EXPECT_NE(message(0, 0, DType::boolean), "");
  TfliteBuilder loop;
  const int carried = loop.input({.name = "x", .shape = {1}});
  loop.add({.code = 119, .inputs = {carried}, .outputs = {loop.output({.name = "y"})}});
  EXPECT_EQ(message_of(loop.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, operator 0 (WHILE), options: found none of the operator's kind, expected them");
}

TEST(TfliteErrors, ArgumentsOfAnotherTypeThanTheSubgraphs) {
  TfliteBuilder builder;
  const int c = builder.input({.name = "c", .dtype = DType::boolean, .shape = {1}});
  const int x = builder.input({.name = "x", .shape = {1}});
  builder.add({.code = 118,
               .inputs = {c, x, c},
               .outputs = {builder.output({.name = "y"})},
               .kind = tfl::BuiltinOptions::IfOptions,
               .options = options_of(tfl::CreateIfOptions, 0, 0)});
  EXPECT_NE(
      to_string(builder.import().errors()).find("subgraph 0, input 'c': found bool, expected f32, which it is given"),
      std::string::npos)
      << to_string(builder.import().errors());
}

TEST(TfliteErrors, VariablesThatARunKeeps) {
  const auto file = [](bool reads_first, std::vector<std::int32_t> shape) {
    TfliteBuilder builder;
    const int x = builder.input({.name = "x", .shape = {1}});
    const int handle = builder.tensor({.name = "v", .type = 13});
    builder.add({.code = 142,
                 .outputs = {handle},
                 .kind = tfl::BuiltinOptions::VarHandleOptions,
                 .options = [](flatbuffers::FlatBufferBuilder& fbb) {
                   return tfl::CreateVarHandleOptions(fbb, 0, fbb.CreateString("v")).Union();
                 }});
    const TfliteOperator assign{.code = 144, .inputs = {handle, x}};
    const TfliteOperator read{
        .code = 143, .inputs = {handle}, .outputs = {builder.output({.name = "y", .shape = std::move(shape)})}};
    return reads_first ? builder.add(read).add(assign) : builder.add(assign).add(read);
  };
  EXPECT_EQ(file(false, {1}).import()->graph.inputs().size(), 1u);
  EXPECT_EQ(file(true, {1}).import()->graph.inputs().size(), 2u);
  EXPECT_EQ(
      message_of(file(true, {}).import(), ErrorKind::unsupported),
      "test.tflite: subgraph 0, operator 2 (ASSIGN_VARIABLE): found the state '/v', which becomes f32 1, expected "
      "f32 scalar, as it was");
}

TEST(TfliteErrors, IndicesOutOfRange) {
  Simple input;
  input.op.inputs = {7};
  EXPECT_EQ(message_of(input.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, operator 0 (RELU), inputs: found tensor 7, expected 0 to 1");
  Simple output;
  output.op.outputs = {-1};
  EXPECT_NE(message_of(output.import(), ErrorKind::invalid_input).find("outputs: found tensor -1"), std::string::npos);
  Simple code;
  code.op.opcode = 5;
  EXPECT_EQ(message_of(code.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, operator 0: found operator code 5, expected one of the file's codes");
  Simple buffer;
  buffer.x.buffer = 9;
  EXPECT_EQ(message_of(buffer.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, tensor 0 'x', buffer: found 9, expected below 1, the number of buffers");
}

TEST(TfliteErrors, Tensors) {
  const auto message = [](ErrorKind kind, auto change) {
    Simple simple;
    change(simple.x);
    const std::string text = message_of(simple.import(), kind);
    const std::string prefix = "test.tflite: subgraph 0, tensor 0 'x'";
    EXPECT_EQ(text.substr(0, prefix.size()), prefix) << text;
    return text.substr(std::min(prefix.size(), text.size()));
  };
  using T = TfliteTensor;
  constexpr auto kInvalid = ErrorKind::invalid_input, kUnsupported = ErrorKind::unsupported;
  EXPECT_EQ(
      message(kUnsupported, [](T& t) { t.type = 5; }),
      ": found elements of type STRING, expected integers of 4 or at least 8 bits, floats, pairs of them or bool");
  EXPECT_EQ(message(kUnsupported, [](T& t) { t.type = 99; }),
            ": found elements of type 99, expected integers of 4 or at least 8 bits, floats, pairs of them or bool");
  EXPECT_EQ(message(kInvalid, [](T& t) { t.sparsity = TfliteSparsity{}; }),
            ", sparse data, traversal order: found [], expected 2 numbers for 1x4");
  EXPECT_EQ(message(kInvalid,
                    [](T& t) {
                      t.shape = {1, -4};
                    }),
            ", shape: found [1,-4], expected dimensions of at least 0 and at most 2^33 elements");
  EXPECT_EQ(
      message(kInvalid,
              [](T& t) {
                t.shape = {1 << 30, 1 << 30, 1 << 30};
              }),
      ", shape: found [1073741824,1073741824,1073741824], expected dimensions of at least 0 and at most 2^33 elements");
  EXPECT_EQ(message(kInvalid, [](T& t) { t.shape = std::vector<std::int32_t>(9, 1); }),
            ", shape: found 9 axes, expected at most 8");
  EXPECT_EQ(message(kInvalid, [](T& t) { t.dtype = DType::s8, t.scale = {0.0f}, t.zero_point = {0}; }),
            ", quantization: found the scale 0, expected a finite number above 0");
  EXPECT_EQ(message(kInvalid, [](T& t) { t.dtype = DType::s8, t.scale = {1.0f}, t.zero_point = {128}; }),
            ", quantization: found the zero point 128, expected a value of s8");
  EXPECT_EQ(
      message(kInvalid,
              [](T& t) {
                t.dtype = DType::s8, t.scale = {1.0f, 1.0f}, t.zero_point = {0, 0}, t.axis = 1;
              }),
      ", quantization: found 2 scales along axis 1 of shape 1x4, expected one scale, or one per index of the axis");
  EXPECT_EQ(message(kInvalid,
                    [](T& t) {
                      t.dtype = DType::s8, t.scale = {1.0f, 1.0f, 1.0f, 1.0f}, t.zero_point = {0, 0}, t.axis = 1;
                    }),
            ", quantization: found 2 zero points for 4 scales, expected as many of each");
}

TEST(TfliteErrors, DataOfAnotherSize) {
  TfliteBuilder builder;
  const int c = builder.tensor({.name = "c", .shape = {2, 2}, .data = floats({3}, {1, 2, 3})});
  builder.add({.code = 19, .inputs = {c}, .outputs = {builder.output({.name = "y"})}});
  EXPECT_EQ(message_of(builder.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, tensor 0 'c', data: found 12 bytes, expected 16 for f32 2x2");
}

TEST(TfliteErrors, QuantizedTensorsWithoutScales) {
  Simple simple;
  simple.x.dtype = DType::u8;
  simple.y.dtype = DType::u8;
  EXPECT_EQ(
      message_of(simple.import(), ErrorKind::invalid_input),
      "test.tflite: subgraph 0, operator 0 (RELU), tensor 'x': found u8 without scale and zero point, expected both");
}

TEST(TfliteErrors, TypesDisagree) {
  Simple simple;
  simple.y.dtype = DType::s32;
  EXPECT_EQ(message_of(simple.import(), ErrorKind::invalid_input),
            "test.tflite: subgraph 0, operator 0 (RELU), output 'y': found the declared type s32, expected f32, which "
            "the operator makes");
}

TEST(TfliteErrors, WhatNothingMakes) {
  TfliteBuilder builder;
  const int loose = builder.tensor({.name = "loose", .shape = {2}});
  builder.add({.code = 19, .inputs = {loose}, .outputs = {builder.output({.name = "y"})}});
  EXPECT_NE(message_of(builder.import(), ErrorKind::invalid_input)
                .find("input 0: found 'loose', which nothing before it makes"),
            std::string::npos);
}

TEST(TfliteErrors, TwoMakersOfOneTensor) {
  TfliteBuilder builder;
  const int x = builder.input({.name = "x", .shape = {2}});
  const int y = builder.output({.name = "y"});
  builder.add({.code = 19, .inputs = {x}, .outputs = {y}}).add({.code = 19, .inputs = {x}, .outputs = {y}});
  EXPECT_EQ(
      message_of(builder.import(), ErrorKind::invalid_input),
      "test.tflite: subgraph 0, operator 1 (RELU): found the output 'y', expected a tensor that nothing else makes");
}

TEST(TfliteErrors, OptionsThatMakeNoSense) {
  const auto message = [](ErrorKind kind, std::int8_t padding, int stride, std::int8_t activation) {
    TfliteBuilder builder;
    const int x = builder.input({.name = "x", .shape = {1, 4, 4, 1}});
    const int w = builder.constant(floats({1, 2, 2, 1}, {1, 1, 1, 1}));
    builder.add({.code = 3,
                 .inputs = {x, w},
                 .outputs = {builder.output({.name = "y"})},
                 .kind = tfl::BuiltinOptions::Conv2DOptions,
                 .options = options_of(tfl::CreateConv2DOptions, padding, stride, stride, activation, 1, 1)});
    return message_of(builder.import(), kind);
  };
  const std::string where = "test.tflite: subgraph 0, operator 0 (CONV_2D), ";
  EXPECT_EQ(message(ErrorKind::invalid_input, 7, 1, 0), where + "padding: found 7, expected SAME (0) or VALID (1)");
  EXPECT_EQ(message(ErrorKind::invalid_input, 0, 0, 0),
            where + "strides: found 0x0, expected at least 1 in each direction");
  EXPECT_EQ(message(ErrorKind::unsupported, 0, 1, 4),
            where + "fused activation function: found 4, expected none, RELU, RELU_N1_TO_1 or RELU6");
}

TEST(TfliteErrors, Profiles) {
  EXPECT_NE(message_of(import_tflite_text(conv_model(), {.profile = Profile::onnx}), ErrorKind::usage)
                .find("found rounding onnx"),
            std::string::npos);
}

}  // namespace
}  // namespace octavo::testing
