// OpenNetwork: a lowered graph whose sizes are open, as data, what it was before, and what a planner needs to plan it
// for sizes that a run brings. Part of plan/.
//
// planner/ makes it of a graph and plans from it, artifact/ writes and reads it, run/ asks for plans.
#ifndef OCTAVO_PLAN_OPEN_NETWORK_H_
#define OCTAVO_PLAN_OPEN_NETWORK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/machine.h"
#include "base/sizes.h"
#include "base/tensor.h"
#include "octavo/choices.h"
#include "octavo/precision.h"
#include "plan/plan.h"

namespace octavo {

// As QuantParams (graph/op.h).
struct StoredScale {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
  std::int32_t axis = -1;

  bool operator==(const StoredScale&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"scale", &StoredScale::scale}, Field{"zero_point", &StoredScale::zero_point},
                      Field{"axis", &StoredScale::axis});
  }
};

inline constexpr std::int64_t kNoConstant = -1;

// Extents are numbers, some of which stand for expressions of StoredGraph::sizes (see `encoded` in base/dim.h).
struct StoredValue {
  std::string name;
  DType dtype = DType::f32;
  std::vector<Dim> shape;
  std::int64_t constant = kNoConstant;  // offset among the model's constants
  std::vector<Dim> extents;             // elements of a constant that depends on sizes; it has no offset
  std::optional<StoredScale> scale;

  bool operator==(const StoredValue&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &StoredValue::name}, Field{"dtype", &StoredValue::dtype},
                      Field{"shape", &StoredValue::shape}, Field{"constant", &StoredValue::constant},
                      Field{"extents", &StoredValue::extents}, Field{"scale", &StoredValue::scale});
  }
};

struct StoredNode {
  std::string name, origin;
  std::string op;
  std::vector<std::byte> attrs;      // encoded; extents as in StoredValue
  std::vector<std::int32_t> inputs;  // values; -1: left out
  std::vector<std::int32_t> outputs;

  bool operator==(const StoredNode&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &StoredNode::name}, Field{"origin", &StoredNode::origin},
                      Field{"op", &StoredNode::op}, Field{"attrs", &StoredNode::attrs},
                      Field{"inputs", &StoredNode::inputs}, Field{"outputs", &StoredNode::outputs});
  }
};

struct StoredGraph {
  SizeProgram sizes;
  std::vector<StoredValue> values;
  std::vector<StoredNode> nodes;  // each after those that make its inputs
  std::vector<std::int32_t> inputs, outputs;
  std::vector<std::string> output_names;

  bool operator==(const StoredGraph&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"sizes", &StoredGraph::sizes}, Field{"values", &StoredGraph::values},
                      Field{"nodes", &StoredGraph::nodes}, Field{"inputs", &StoredGraph::inputs},
                      Field{"outputs", &StoredGraph::outputs}, Field{"output_names", &StoredGraph::output_names});
  }
};

// A kernel's measured time for a call on one thread of the machine that the network was compiled for.
struct CallTime {
  std::string call;  // describe_call (planner/measurement_log.h)
  std::string kernel;
  double ns = 0.0;

  auto key() const { return std::tie(call, kernel); }
  bool operator==(const CallTime&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"call", &CallTime::call}, Field{"kernel", &CallTime::kernel}, Field{"ns", &CallTime::ns});
  }
};

struct OpenNetwork {
  Precision precision = Precision::int8;
  Machine machine;
  bool allow_reference = false;
  BatchOrder batch_order = BatchOrder::automatic;
  bool waits_for_sizes = false;          // LowerReport::waits_for_sizes
  std::vector<std::string> kept_in_f32;  // LowerOptions::kept_in_f32
  std::vector<CallTime> times;           // of the tuning log, by their keys; they overrule predictions
  std::vector<PlanIsland> islands;       // for the report of every plan, where it does not wait
  std::vector<std::string> notes;        // likewise, always
  // Its weights are the model's constants [0, weight_bytes), which only planning reads: who opens the file does not.
  std::uint64_t weight_bytes = 0;
  std::uint64_t weight_checksum = 0;  // artifact/checksum.h
  StoredGraph graph;
  // Not empty where conditions of `graph` came of lowering it: what the file said, as imported and quantized, by which
  // examples of sizes it may have been read differently. Sizes at which `graph` does not hold are lowered from the
  // first of these that does.
  std::vector<StoredGraph> unlowered;

  bool operator==(const OpenNetwork&) const = default;
  static constexpr auto fields() {
    return std::tuple(
        Field{"precision", &OpenNetwork::precision}, Field{"machine", &OpenNetwork::machine},
        Field{"allow_reference", &OpenNetwork::allow_reference}, Field{"batch_order", &OpenNetwork::batch_order},
        Field{"waits_for_sizes", &OpenNetwork::waits_for_sizes}, Field{"kept_in_f32", &OpenNetwork::kept_in_f32},
        Field{"times", &OpenNetwork::times}, Field{"islands", &OpenNetwork::islands},
        Field{"notes", &OpenNetwork::notes}, Field{"weight_bytes", &OpenNetwork::weight_bytes},
        Field{"weight_checksum", &OpenNetwork::weight_checksum}, Field{"graph", &OpenNetwork::graph},
        Field{"unlowered", &OpenNetwork::unlowered});
  }
};

}  // namespace octavo

#endif  // OCTAVO_PLAN_OPEN_NETWORK_H_
