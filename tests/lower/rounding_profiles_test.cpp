// Whose formulas a graph rounds by. Part of the tests of lower/.
#include "lower/rounding_profiles.h"

#include "lower/graph_builder.h"
#include "lower/lower.h"

namespace octavo {
namespace {

// Of each kind of operator that rounds, after lowering: what the file has, and nothing else.
Graph rounded_graph(Profile profile, BinaryKind kind) {
  GraphBuilder b;
  const ValueId a = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0.02f, 100);
  const ValueId c = b.dequantize(b.input(DType::u8, {1, 3, 3, 2}), 0.03f, 7);
  b.output(b.add(kQuantize, QuantizeAttrs{.profile = profile},
                 {b.binary(kind, a, c), b.scalar(0.05f), b.zero_point(DType::u8, 30)}));
  return std::move(b.graph);
}

TEST(RoundingProfiles, LoweringKeepsThem) {
  for (const Profile profile : {Profile::onnx, Profile::tflite_xnnpack, Profile::tflite_double, Profile::pt2e}) {
    for (const BinaryKind kind : {BinaryKind::add, BinaryKind::mul}) {
      Graph graph = rounded_graph(profile, kind);
      ASSERT_TRUE(lower(graph, {.precision = Precision::int8}).ok());
      EXPECT_EQ(count(graph, kQuantize), 0);
      EXPECT_TRUE(verify_rounding(graph, {profile}).ok()) << name_of(profile);
      EXPECT_TRUE(rounding_profiles(graph).has_one_of({profile}));
    }
  }
}

TEST(RoundingProfiles, OtherFormulasAreNamed) {
  Graph graph = rounded_graph(Profile::tflite_xnnpack, BinaryKind::add);
  EXPECT_FALSE(verify_rounding(graph, {Profile::tflite_double}).ok());
  ASSERT_TRUE(lower(graph, {.precision = Precision::int8}).ok());
  const Status status = verify_rounding(graph, {Profile::onnx, Profile::tflite_double});
  ASSERT_FALSE(status.ok());
  EXPECT_NE(to_string(status.errors()).find("a formula that the file does not have"), std::string::npos);
}

}  // namespace
}  // namespace octavo
