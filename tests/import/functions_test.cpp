// Local functions of ONNX models. Part of tests/import/.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "support/control_flow.h"

namespace octavo::testing {
namespace {

using Values = std::vector<float>;

// A function of the domain "local" with one input "x" and one output "y".
onnx::FunctionProto& add_function(ModelBuilder& model, const std::string& name, const ModelBuilder& nodes) {
  onnx::FunctionProto& function = *model.proto().add_functions();
  ModelBuilder copy = nodes;
  function.set_name(name);
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  *function.mutable_node() = copy.proto().graph().node();
  onnx::OperatorSetIdProto& opset = *function.add_opset_import();
  opset.set_domain("");
  opset.set_version(17);
  return function;
}

NodeText called(const std::string& function, const std::string& input, const std::string& output,
                std::vector<NamedAttribute> attributes = {}) {
  return {function, {input}, {output}, std::move(attributes), "local", ""};
}

ModelBuilder functions_model_of(const Tensor& x) {
  ModelBuilder model(17);
  model.opset_import("local", 1);
  model.input("x", DType::f32, x.shape().to_vector()).output("y");
  return model;
}

const Tensor kX = floats({1, 4}, {-4, -1, 2, 8});

TEST(Functions, StandWhereTheyAreCalled) {
  ModelBuilder nodes(17);
  nodes.node({"Relu", {"x"}, {"inner"}}).node({"Neg", {"inner"}, {"y"}});
  ModelBuilder model = functions_model_of(kX);
  add_function(model, "Less", nodes);
  model.node(called("Less", "x", "a")).node(called("Less", "x", "b")).node({"Add", {"a", "b"}, {"y"}});
  EXPECT_EQ(as_floats(answers(model, {kX})[0]), (Values{0, 0, -4, -16}));
}

TEST(Functions, HaveTheCallsAttributesOrTheirOwn) {
  ModelBuilder nodes(17);
  nodes.node({"LeakyRelu", {"x"}, {"y"}});
  ModelBuilder model = functions_model_of(kX);
  onnx::FunctionProto& function = add_function(model, "Leak", nodes);
  onnx::AttributeProto& reference = *function.mutable_node(0)->add_attribute();
  reference.set_name("alpha");
  reference.set_ref_attr_name("slope");
  reference.set_type(onnx::AttributeProto::FLOAT);
  onnx::AttributeProto standard;
  standard.set_name("slope");
  standard.set_type(onnx::AttributeProto::FLOAT);
  standard.set_f(0.5f);
  // FunctionProto::attribute_proto, which Debian's onnx does not know.
  function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(11, standard.SerializeAsString());
  model.node(called("Leak", "x", "a")).node(called("Leak", "a", "y", {{"slope", 0.25f}}));
  EXPECT_EQ(as_floats(answers(model, {kX})[0]), (Values{-0.5f, -0.125f, 2, 8}));
}

TEST(Functions, CallEachOtherAlsoFromGraphsInside) {
  ModelBuilder inner(17), outer(17), yes(17), no(17);
  inner.node({"Abs", {"x"}, {"y"}});
  outer.node(called("Inner", "x", "t")).node({"Neg", {"t"}, {"y"}});
  ModelBuilder model = functions_model_of(kX);
  yes.output("a").node(called("Outer", "x", "a"));
  no.output("b").node(called("Inner", "x", "b"));
  add_function(model, "Inner", inner);
  add_function(model, "Outer", outer);
  model.initializer("c", truth(true));
  add_if(model, "c", {"y"}, yes, no);
  EXPECT_EQ(as_floats(answers(model, {kX})[0]), (Values{-4, -1, -2, -8}));
}

TEST(Functions, MayPassOnWhatTheyTake) {
  ModelBuilder nodes(17), model = functions_model_of(kX);
  onnx::FunctionProto& function = add_function(model, "Same", nodes);
  function.set_output(0, "x");
  model.node(called("Same", "x", "a")).node({"Neg", {"a"}, {"y"}});
  EXPECT_EQ(as_floats(answers(model, {kX})[0]), (Values{4, 1, -2, -8}));
}

Errors errors_of(const ModelBuilder& model) {
  const auto imported = model.import();
  EXPECT_FALSE(imported.ok());
  return imported.ok() ? Errors{} : imported.errors();
}

TEST(Functions, AreRefusedWhereTheyCallThemselves) {
  ModelBuilder one(17), two(17), model = functions_model_of(kX);
  one.node(called("Two", "x", "y"));
  two.node(called("One", "x", "y"));
  add_function(model, "One", one);
  add_function(model, "Two", two);
  model.node(called("One", "x", "y"));
  const Errors errors = errors_of(model);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].kind, ErrorKind::invalid_input);
  EXPECT_NE(errors[0].found.find("'One', which calls itself"), std::string::npos) << errors[0].found;
}

// Ten calls in ten calls, seven times over: ten million nodes.
TEST(Functions, AreRefusedWhereTheyBecomeTooManyNodes) {
  ModelBuilder model = functions_model_of(kX);
  for (int level = 0; level < 7; ++level) {
    ModelBuilder nodes(17);
    for (int i = 0; i < 10; ++i) {
      const std::string from = i == 0 ? "x" : "t" + std::to_string(i - 1), to = i == 9 ? "y" : "t" + std::to_string(i);
      if (level == 0) nodes.node({"Neg", {from}, {to}});
      else nodes.node(called("F" + std::to_string(level - 1), from, to));
    }
    add_function(model, "F" + std::to_string(level), nodes);
  }
  model.node(called("F6", "x", "y"));
  const Errors errors = errors_of(model);
  EXPECT_EQ(errors[0].kind, ErrorKind::unsupported);
  EXPECT_NE(errors[0].found.find("nodes"), std::string::npos) << errors[0].found;
}

TEST(Functions, AreRefusedWithAnotherOpset) {
  ModelBuilder nodes(17), model = functions_model_of(kX);
  nodes.node({"Neg", {"x"}, {"y"}});
  add_function(model, "Old", nodes).mutable_opset_import(0)->set_version(11);
  model.node(called("Old", "x", "y"));
  EXPECT_NE(errors_of(model)[0].found.find("opset 11"), std::string::npos);
}

}  // namespace
}  // namespace octavo::testing
