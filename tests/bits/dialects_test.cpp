// The same network in four dialects is the same model: one lowered graph, one answer. Part of the tests of whole
// models.
#include <gtest/gtest.h>

#include "bits/dialect_net.h"
#include "bits/same_bits.h"
#include "lower/lower.h"

namespace octavo::testing {
namespace {

std::vector<std::string> lowered_operators(const ModelBuilder& builder) {
  auto model = builder.import();
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return {};
  }
  const auto report = lower(model->graph, {});
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : to_string(report.errors()));
  if (report.ok()) {
    for (const Island& island : report->islands) ADD_FAILURE() << island.node << ": " << island.reason;
  }
  std::vector<std::string> operators;
  for (const NodeId id : model->graph.order()) operators.emplace_back(model->graph.node(id).spec->name);
  return operators;
}

std::vector<Tensor> compiled_answers(const ModelBuilder& builder, const std::vector<Tensor>& inputs) {
  const ModelFile file(builder);
  const auto compiled = v1::compile(file.path(), {});
  if (!compiled) {
    ADD_FAILURE() << to_string(compiled.errors());
    return {};
  }
  const auto model = v1::Model::load(*compiled, {.threads = 1});
  EXPECT_TRUE(model.ok());
  return model.ok() ? run(*model, 0, inputs) : std::vector<Tensor>{};
}

// u8 bytes as the dialect's type: the same real values.
Tensor shifted(const Tensor& bytes, DType dtype) {
  if (dtype == DType::u8) return bytes;
  Tensor result(DType::s8, bytes.shape());
  for (std::int64_t i = 0; i < bytes.elements(); ++i)
    result.as<std::int8_t>()[i] = static_cast<std::int8_t>(bytes.as<std::uint8_t>()[i] - 128);
  return result;
}

TEST(Dialects, LowerToOneListOfOperators) {
  const std::vector<std::string> expected = lowered_operators(dialect_network(kDialects[0], Ends::floats));
  EXPECT_FALSE(expected.empty());
  for (const Dialect& dialect : kDialects) {
    SCOPED_TRACE(name_of(dialect));
    EXPECT_EQ(lowered_operators(dialect_network(dialect, Ends::floats)), expected);
  }
}

TEST(Dialects, SameAnswersFromFloatToFloat) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::vector<Tensor> inputs =
        random_inputs({{.name = "x", .dtype = DType::f32, .shape = {1, 3, 13, 15}}}, seed);
    const std::vector<Tensor> expected = compiled_answers(dialect_network(kDialects[0], Ends::floats), inputs);
    for (const Dialect& dialect : kDialects) {
      SCOPED_TRACE(name_of(dialect));
      EXPECT_EQ(compiled_answers(dialect_network(dialect, Ends::floats), inputs), expected);
    }
  }
}

TEST(Dialects, SameAnswersUpToTheShiftOfTypes) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Tensor bytes = random_inputs({{.name = "x", .dtype = DType::u8, .shape = {1, 3, 13, 15}}}, seed)[0];
    const std::vector<Tensor> expected =
        compiled_answers(dialect_network({Form::qdq, DType::u8}, Ends::integers), {bytes});
    ASSERT_EQ(expected.size(), 1u);
    for (const Dialect& dialect : kDialects) {
      SCOPED_TRACE(name_of(dialect));
      const std::vector<Tensor> found =
          compiled_answers(dialect_network(dialect, Ends::integers), {shifted(bytes, dialect.activations)});
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(found[0], shifted(expected[0], dialect.activations));
    }
  }
}

}  // namespace
}  // namespace octavo::testing
