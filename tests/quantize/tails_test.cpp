// What follows the last products: arithmetic on boxes and points stays in f32, that on features does not.
#include "quantize/tails.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/binary/binary.h"
#include "ops/matmul/matmul.h"
#include "ops/reshape/reshape.h"
#include "ops/roi_align/roi_align.h"
#include "ops/softmax/softmax.h"
#include "quantize/placement.h"

namespace octavo {
namespace {

using Names = std::vector<std::string>;

// Rows of features and what is computed of them; names of nodes are those of their results.
struct Head {
  Graph graph;
  ValueId x = graph.add_input("x", DType::f32, Shape{8, 16});

  ValueId add(const OpSpec& spec, Attrs attrs, std::vector<ValueId> inputs, const std::string& name) {
    const auto made = graph.add(spec, std::move(attrs), std::move(inputs), name);
    EXPECT_TRUE(made) << to_string(made.errors());
    return made ? *made : ValueId{};
  }
  ValueId constant(const std::string& name, Shape shape) { return graph.add_constant(name, Tensor(DType::f32, shape)); }
  ValueId product(const std::string& name, ValueId a, std::int64_t columns) {
    const Dim rows = graph.fact(a).shape[1];
    return add(kMatmul, NoAttrs{}, {a, constant(name + ".w", Shape{rows.fixed(), columns})}, name);
  }
  ValueId binary(const std::string& name, BinaryKind kind, ValueId a, ValueId b) {
    return add(kBinary, BinaryAttrs{.kind = kind}, {a, b}, name);
  }
  // distances * size + centre, of anchors that are constants
  ValueId boxes(ValueId distances) {
    const ValueId scaled = binary("scaled", BinaryKind::mul, distances, constant("sizes", Shape{8, 4}));
    return binary("boxes", BinaryKind::add, scaled, constant("centres", Shape{8, 4}));
  }
  // Of nodes that compute in integers.
  Names in_integers(const PlacementRules& rules = {}) const {
    const Placement placement = place_pairs(graph, {}, rules);
    Names names;
    for (const NodeId id : graph.order()) {
      if (placement.is_8bit[static_cast<std::size_t>(id.index)]) names.push_back(graph.node(id).name);
    }
    return names;
  }
};

TEST(Tails, BoxesAreMadeInFloat) {
  Head head;
  const ValueId hidden = head.product("hidden", head.x, 16);
  head.graph.add_output(head.boxes(head.product("distances", hidden, 4)), "y");
  EXPECT_EQ(head.in_integers(), (Names{"hidden", "distances"}));
  // Readers of integers have nothing else.
  EXPECT_EQ(head.in_integers({.ends = Ends::integers}), (Names{"hidden", "distances", "scaled", "boxes"}));
}

TEST(Tails, FeaturesAreNone) {
  Head head;
  const ValueId boxes = head.boxes(head.product("distances", head.x, 4));
  head.graph.add_output(head.product("last", boxes, 2), "y");
  EXPECT_EQ(head.in_integers(), (Names{"distances", "scaled", "boxes", "last"}));
}

// The mean of a distribution over bins.
TEST(Tails, AHandfulOfWeightsBetweenFloatsIsNoProduct) {
  Head head;
  const ValueId bins = head.product("bins", head.x, 16);
  const ValueId shares = head.add(kSoftmax, SoftmaxAttrs{.axis = 1}, {bins}, "shares");
  head.graph.add_output(head.boxes(head.product("mean", shares, 4)), "y");
  EXPECT_EQ(head.in_integers(), (Names{"bins"}));
  // With more weights it is one.
  Head large;
  const ValueId all = large.add(kSoftmax, SoftmaxAttrs{.axis = 1}, {large.product("bins", large.x, 16)}, "shares");
  large.graph.add_output(large.product("mixed", all, 5), "y");
  EXPECT_EQ(large.in_integers(), (Names{"bins", "mixed"}));
}

// Regions say where features are read; what is made of these does not make features of regions.
TEST(Tails, PlacesAreNoFeatures) {
  Head head;
  const ValueId image = head.graph.add_input("image", DType::f32, Shape{1, 4, 6, 6});
  const ValueId images = head.graph.add_constant("images", Tensor(DType::s64, {8}));
  const ValueId boxes = head.boxes(head.product("distances", head.x, 4));
  const ValueId regions =
      head.add(kRoiAlign, RoiAlignAttrs{.height = 2, .width = 2}, {image, boxes, images}, "regions");
  const ValueId flat = head.add(kReshape, ReshapeAttrs{.shape = {8, 16}}, {regions}, "flat");
  head.graph.add_output(head.product("last", flat, 8), "y");
  const Names found = head.in_integers();
  EXPECT_EQ(std::count(found.begin(), found.end(), "scaled") + std::count(found.begin(), found.end(), "boxes"), 0);
  EXPECT_EQ(std::count(found.begin(), found.end(), "last"), 1);
}

}  // namespace
}  // namespace octavo
