// Shapes that a file computes from data, as sizes of the next network. Part of import/.
#include <algorithm>
#include <array>
#include <optional>

#include "import/onnx/graph_walker.h"
#include "import/onnx/proto.h"
#include "ops/cast/cast.h"
#include "ops/concat/concat.h"
#include "ops/gather/gather.h"
#include "ops/reshape/reshape.h"

namespace octavo::onnx_import {
namespace {

// Which input holds extents of the result, none of them negative.
struct SizesInput {
  std::string_view op;
  int index;
};
constexpr SizesInput kSizesInputs[] = {{"ConstantOfShape", 0}, {"Expand", 1}, {"Range", 1}, {"Resize", 3}, {"TopK", 1}};

using Known = std::vector<std::optional<Dim>>;

// The elements of a list of integers, as far as no data decide them but by extents: those of constants and shapes that
// were joined.
Known known_elements(const Graph& graph, ValueId value) {
  const Fact& fact = graph.fact(value);
  const auto count = static_cast<std::size_t>(fact.shape.elements().fixed());
  if (fact.extents != nullptr) return {fact.extents->begin(), fact.extents->end()};
  if (fact.is_constant()) {
    const auto numbers = to_int64s(fact.constant->view());
    return {numbers.begin(), numbers.end()};
  }
  const Node* producer = graph.producer(value);
  if (producer != nullptr && (producer->spec == &kCast || producer->spec == &kReshape) &&
      is_integer(graph.fact(producer->inputs[0]).dtype))
    return known_elements(graph, producer->inputs[0]);
  const bool is_joined = producer != nullptr && producer->spec == &kConcat &&
                         std::all_of(producer->inputs.begin(), producer->inputs.end(),
                                     [&](ValueId input) { return graph.fact(input).shape.elements().is_number(); });
  if (!is_joined) return Known(count);
  Known known;
  for (const ValueId input : producer->inputs) {
    const Known part = known_elements(graph, input);
    known.insert(known.end(), part.begin(), part.end());
  }
  return known;
}

// Where a policy makes other sizes of them, there is nothing to be known of the result.
bool has_policy(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& attribute) {
    return attribute.name() == "keep_aspect_ratio_policy" && attribute.s() != "stretch";
  });
}

}  // namespace

// A tensor of one element that the run blows up to the computed extents carries them into the next network, where they
// are the sizes of an input; there the list is one of extents.
void GraphWalker::read_computed_sizes(const Place& at, const std::string& name) {
  const ValueId value = building_.find(name);
  if (!value.exists()) return;
  const Fact fact = building_.graph.fact(value);
  const bool is_list = (fact.dtype == DType::s64 || fact.dtype == DType::s32) && fact.shape.rank() <= 1 &&
                       fact.shape.elements().is_number() && fact.shape.elements() >= 1 &&
                       fact.shape.elements() <= kMaxRank;
  if (fact.is_constant() || !is_list) return;
  const Known known = known_elements(building_.graph, value);
  std::vector<std::int64_t> unknown;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (!known[i]) unknown.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(unknown.size());
  std::vector<Dim> dims;
  for (const auto& element : known) dims.push_back(element.value_or(Dim(1)));
  const ValueId part = building_.graph.add_extents(name + ".known", fact.dtype, fact.shape, std::move(dims));
  if (count == 0) {
    building_.values[name] = part;
    return;
  }
  NodeBuilder in(building_, at.name + "/sizes", at.origin);
  const ValueId list = in.reshape(in.cast(value, DType::s64, "list"), {static_cast<std::int64_t>(known.size())}, "row");
  const ValueId places = in.constant(Tensor::of<std::int64_t>(Shape{count}, unknown), "places");
  const ValueId extents = in.add(kGather, GatherAttrs{.axis = 0}, {list, places}, "extents");
  const ValueId first = in.add(kGather, GatherAttrs{.axis = 0},
                               {list, in.constant(Tensor::of<std::int64_t>(Shape{1}, {unknown[0]}), "place")}, "first");
  const ValueId one = in.reshape(in.cast(first, DType::boolean, "one"), Extents(unknown.size(), 1), "carrier");
  if (in.failed()) return;
  std::vector<int> axes;
  for (int axis = 0; axis < static_cast<int>(count); ++axis) axes.push_back(axis);
  building_.computed[one.index] = {extents, std::move(axes), true};
  const Handle carrier = building_.program.handle_of(one), others = building_.program.handle_of(part);
  building_.leave_graph();
  const OpenShape sizes = building_.graph.fact(building_.program.enter(carrier)).shape;
  dims = *building_.graph.fact(building_.program.enter(others)).extents;
  for (int i = 0; i < count; ++i) dims[static_cast<std::size_t>(unknown[static_cast<std::size_t>(i)])] = sizes[i];
  building_.values[name] = building_.graph.add_extents(name, fact.dtype, fact.shape, std::move(dims));
}

void GraphWalker::read_computed_sizes(const Place& at) {
  const auto entry = std::find_if(std::begin(kSizesInputs), std::end(kSizesInputs),
                                  [&](const SizesInput& sizes) { return sizes.op == at.node.op_type(); });
  if (entry == std::end(kSizesInputs) || !standard_domain(at.node.domain()).empty() || has_policy(at.node)) return;
  if (entry->index < at.node.input_size() && !at.node.input(entry->index).empty())
    read_computed_sizes(at, at.node.input(entry->index));
}

// Its count is a size of the next network, where the numbers are summed up.
bool GraphWalker::read_computed_range(const Place& at) {
  const bool is_range = at.node.op_type() == "Range" && standard_domain(at.node.domain()).empty();
  if (!is_range || at.node.input_size() != 3) return false;
  const auto values = [&] {
    return std::array{building_.find(at.node.input(0)), building_.find(at.node.input(1)),
                      building_.find(at.node.input(2))};
  };
  const auto [start, limit, delta] = values();
  const auto is_computed = [&](ValueId value) {
    const Fact& fact = building_.graph.fact(value);
    return !fact.is_constant() && fact.extents == nullptr && is_integer(fact.dtype);
  };
  if (!start.exists() || !limit.exists() || !delta.exists() || !(is_computed(start) || is_computed(delta)))
    return false;
  const std::string counted = at.name + "/counted";
  NodeBuilder before(building_, counted, at.origin);
  building_.bind(counted, count_of_range(before, start, limit, delta));
  if (before.failed()) return forget_outputs(at.node), true;
  read_computed_sizes(at, counted);
  const auto [first, end, step] = values();
  NodeReader in(building_, at.node, opset_of(at.node), at.name, at.origin);
  const Extents count = in.extents_of(building_.find(counted), "count");
  if (!in.failed()) in.output(0, counted_from(in, first, step, count[0]));
  in.finish();
  return true;
}

}  // namespace octavo::onnx_import
