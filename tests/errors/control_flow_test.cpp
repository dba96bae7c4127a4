// ONNX files whose control flow cannot be, compiled and run by the program. Part of tests/errors/.
#include "support/control_flow.h"

#include <limits>

#include "data/npy.h"
#include "errors/broken_case.h"

namespace octavo::testing {
namespace {

// A model with inputs x f32[1,3] and c (bool) and output y.
BrokenCase flow_case(std::string name, std::function<void(ModelBuilder&)> make, std::vector<std::string> parts,
                     int exit_code = kInvalid, std::string arguments = "compile m.onnx -o m.octv --precision fp32") {
  const auto write = [make = std::move(make)](const ScratchFolder& folder) {
    ModelBuilder model(17);
    model.input("x", DType::f32, {1, 3}).input("c", DType::boolean, {}).output("y");
    make(model);
    folder.write("m.onnx", model.bytes());
    static_cast<void>(write_npy(folder.path() + "/x.npy", floats({1, 3}, {1, 2, 3}).view()));
    static_cast<void>(write_npy(folder.path() + "/c.npy", truth(true).view()));
  };
  return {std::move(name), write, std::move(arguments), exit_code, std::move(parts)};
}

ModelBuilder branch(const NodeText& node) {
  ModelBuilder graph(17);
  graph.output(node.outputs[0]).node(node);
  return graph;
}

ModelBuilder body(const NodeText& node, const std::string& carried) {
  ModelBuilder graph(17);
  graph.input("i", DType::s64, {}).input("go", DType::boolean, {}).input("before", DType::f32, {1, 3});
  graph.output("go2").output(carried).node({"Identity", {"go"}, {"go2"}}).node(node);
  return graph;
}

void nest(ModelBuilder& model, const std::string& output, int depth) {
  if (depth == 0) {
    model.node({"Neg", {"x"}, {output}});
    return;
  }
  ModelBuilder yes(17);
  yes.output(output + "y");
  nest(yes, output + "y", depth - 1);
  add_if(model, "c", {output}, yes, branch({"Abs", {"x"}, {output + "n"}}));
}

std::vector<BrokenCase> broken_flow() {
  constexpr const char* kRun =
      "run m.onnx --precision fp32 --input x=x.npy --input c=c.npy --max-iterations 100 --output-dir .";
  const NodeText neg{"Neg", {"before"}, {"after"}};
  return {
      flow_case("BranchesOfDifferentTypes",
                [](ModelBuilder& model) {
                  add_if(model, "c", {"y"}, branch({"Neg", {"x"}, {"a"}}), branch({"Shape", {"x"}, {"b"}}));
                },
                {"'choice' (If, opset 17), output 'y'", "f32 1x3", "s64 2"}),
      flow_case(
          "BranchesOfDifferentRanks",
          [](ModelBuilder& model) {
            model.initializer("axes", integers({1}, {0}));
            add_if(model, "c", {"y"}, branch({"Neg", {"x"}, {"a"}}), branch({"Squeeze", {"x", "axes"}, {"b"}}));
          },
          {"'choice' (If, opset 17), output 'y'", "number of dimensions"}, kUnsupported),
      flow_case("ConditionThatIsNone",
                [](ModelBuilder& model) {
                  add_if(model, "x", {"y"}, branch({"Neg", {"x"}, {"a"}}), branch({"Abs", {"x"}, {"b"}}));
                },
                {"'choice' (If, opset 17), input 'cond'", "f32 1x3"}),
      flow_case("BranchOfNothing",
                [](ModelBuilder& model) {
                  ModelBuilder none(17);
                  none.output("gone");
                  add_if(model, "c", {"y"}, branch({"Neg", {"x"}, {"a"}}), none);
                },
                {"'choice' (If, opset 17), output 'gone'", "nothing that makes it"}),
      flow_case("BranchWithoutAGraph",
                [](ModelBuilder& model) {
                  add_with_graphs(model, {"If", {"c"}, {"y"}, {}, "", "choice"},
                                  {{"then_branch", branch({"Neg", {"x"}, {"a"}})}});
                },
                {"'choice' (If, opset 17), attribute 'else_branch'"}),
      flow_case(
          "UnreadOperatorInABranch",
          [](ModelBuilder& model) {
            add_if(model, "c", {"y"}, branch({"Neg", {"x"}, {"a"}}),
                   branch({"Nonsense", {"x"}, {"b"}, {}, "", "what"}));
          },
          {"Nonsense", "'what'"}, kUnsupported),
      flow_case("AnInputThatCannotBeReadWithAnOpenSize",
                [](ModelBuilder& model) {
                  model.input("u", DType::f32, {std::int64_t{1} << 40, -2, 2}).input("v", DType::f32, {-1, 2});
                  add_if(model, "c", {"y"}, branch({"Neg", {"v"}, {"a"}}), branch({"Neg", {"u"}, {"b"}}));
                },
                {"input 'u'", "1099511627776xN2x2", "2^33 elements"}),
      flow_case("NestedTooDeeply", [](ModelBuilder& model) { nest(model, "y", 40); }, {"m.onnx"}),
      flow_case("LoopThatChangesAType",
                [](ModelBuilder& model) {
                  add_loop(model, {"", "c", "x"}, {"y"},
                           body({"Cast", {"before"}, {"after"}, {{"to", std::int64_t{7}}}}, "after"));
                },
                {"'search' (Loop, opset 17), carried value 0", "s64", "f32"}),
      flow_case("LoopWithAnotherNumberOfOutputs",
                [neg](ModelBuilder& model) {
                  add_loop(model, {"", "c", "x"}, {"y", "z", "zz"}, body(neg, "after"));
                },
                {"'search' (Loop, opset 17), attribute 'body'", "2 outputs"}),
      flow_case("TripCountOfTheWrongType",
                [neg](ModelBuilder& model) {
                  add_loop(model, {"x", "", "x"}, {"y"}, body(neg, "after"));
                },
                {"'search' (Loop, opset 17), input 'M'", "f32"}),
      flow_case(
          "LoopWithoutEnd",
          [neg](ModelBuilder& model) {
            add_loop(model, {"", "c", "x"}, {"y"}, body(neg, "after"));
          },
          {"'search' (Loop, opset 17)", "100 iterations", "--max-iterations"}, kResource, kRun),
      flow_case(
          "HugeTripCount",
          [neg](ModelBuilder& model) {
            model.initializer("most", integers({}, {std::numeric_limits<std::int64_t>::max()}));
            add_loop(model, {"most", "", "x"}, {"y"}, body(neg, "after"));
          },
          {"'search' (Loop, opset 17)", "100 iterations"}, kResource, kRun),
      flow_case(
          "QuantizedWithoutSamples",
          [](ModelBuilder& model) {
            add_if(model, "c", {"y"}, branch({"Neg", {"x"}, {"a"}}), branch({"Abs", {"x"}, {"b"}}));
          },
          {"m.onnx", "a model of several parts", "a global scale"}, kUsage,
          "compile m.onnx -o m.octv --global-scale 4"),
  };
}

class BrokenFlow : public Broken {};
TEST_P(BrokenFlow, IsRefusedByName) { check(); }
INSTANTIATE_TEST_SUITE_P(Onnx, BrokenFlow, ::testing::ValuesIn(broken_flow()), name_of_case);

}  // namespace
}  // namespace octavo::testing
