// Plan: everything a run needs, decided, as data: values, the steps that compute them, and, apart from these, what can
// be told about them. Part of plan/.
//
// The planner makes plans, artifact/ writes and reads them, run/ checks and runs them.
#ifndef OCTAVO_PLAN_PLAN_H_
#define OCTAVO_PLAN_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "base/machine.h"
#include "base/tensor.h"
#include "octavo/precision.h"

namespace octavo {

// Where a value lies. Numbers are part of the artifact format.
// A packed value is a constant that a kernel rearranged: its content is among PlanStep::packed. `region` is the memory
// that each thread has for itself while it runs a region.
enum class Place : std::uint8_t { arena = 0, constant = 1, input = 2, output = 3, packed = 4, region = 5 };
constexpr int count_of(Place) { return 6; }
constexpr std::string_view name_of(Place place) {
  constexpr std::string_view names[] = {"arena", "constant", "input", "output", "packed", "region"};
  return names[static_cast<int>(place)];
}

// value = scale * (integer - zero_point)
struct ValueScale {
  float scale = 0.0f;
  std::int32_t zero_point = 0;

  bool operator==(const ValueScale&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"scale", &ValueScale::scale}, Field{"zero_point", &ValueScale::zero_point});
  }
};

// Index of a value in its plan; kNoValue stands for an input that is left out.
using ValueIndex = std::int32_t;
inline constexpr ValueIndex kNoValue = -1;

struct PlanValue {
  Place place = Place::arena;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  // arena, region, constant: bytes, a multiple of kAlignment; input and output: its index
  // The value before this one that this one is, seen under another shape, or as one slice of it or all of its slices;
  // kNoValue where it is a value of its own.
  ValueIndex view_of = kNoValue;
  std::optional<ValueScale> scale;  // of an integer that stands for a real number, where it has one for all elements

  // Of a shape that is known to be possible: one of a file is checked when it is loaded.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(Shape(shape).elements()) * size_of(dtype); }
  // The shape of so many of it, side by side along the first axis.
  Shape shape_of(std::int64_t slices) const {
    std::vector<std::int64_t> dims = shape;
    if (slices > 1 && dims.empty()) dims.push_back(1);
    if (slices > 1) dims[0] *= slices;
    return Shape(dims);
  }
  bool operator==(const PlanValue&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"place", &PlanValue::place}, Field{"dtype", &PlanValue::dtype},
                      Field{"shape", &PlanValue::shape}, Field{"offset", &PlanValue::offset},
                      Field{"view_of", &PlanValue::view_of}, Field{"scale", &PlanValue::scale});
  }
};

// One call of a kernel. What it writes are values of their own, each written by one step; two of them may lie in the
// same memory one after the other.
struct PlanStep {
  std::string op;
  std::string kernel;
  std::vector<std::byte> attrs;     // of the operator, encoded
  std::vector<std::byte> schedule;  // how the kernel goes about it, encoded as the kernel likes; empty: its only way
  std::vector<ValueIndex> inputs;
  std::vector<ValueIndex> outputs;
  std::vector<ValueIndex> packed;  // constants
  double predicted_ns = 0.0;       // on one thread: how many threads it is worth

  bool operator==(const PlanStep&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"op", &PlanStep::op}, Field{"kernel", &PlanStep::kernel}, Field{"attrs", &PlanStep::attrs},
                      Field{"schedule", &PlanStep::schedule}, Field{"inputs", &PlanStep::inputs},
                      Field{"outputs", &PlanStep::outputs}, Field{"packed", &PlanStep::packed},
                      Field{"predicted_ns", &PlanStep::predicted_ns});
  }
};

// Steps that a thread runs without a barrier on one slice of their values after the other: images of a batch, rows,
// sequences. Shapes of these steps are those of one slice: in the arena and in the model's inputs and outputs lie
// `slices` of them, one after the other, and step after step finds its slice there. What no step after the region reads
// lies in memory of one slice, which every thread has for itself.
struct Region {
  std::int64_t first_step = 0;
  std::int64_t steps = 0;
  std::int64_t slices = 1;
  std::uint64_t arena_bytes = 0;  // of a thread

  std::int64_t end() const { return first_step + steps; }
  bool has(std::size_t step) const {
    return static_cast<std::int64_t>(step) >= first_step && static_cast<std::int64_t>(step) < end();
  }
  bool operator==(const Region&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"first_step", &Region::first_step}, Field{"steps", &Region::steps},
                      Field{"slices", &Region::slices}, Field{"arena_bytes", &Region::arena_bytes});
  }
};

// An input or output of the model.
struct PlanPort {
  std::string name;
  ValueIndex value = kNoValue;

  bool operator==(const PlanPort&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &PlanPort::name}, Field{"value", &PlanPort::value});
  }
};

// ---- what is told about a plan; no run needs it ----

struct StepReport {
  std::string name;                   // the source node it stands for
  std::string origin;                 // where that came from in the file
  std::int64_t macs = 0;              // multiply-accumulates of a run
  std::vector<std::string> refusals;  // "kernel: why not", of the candidates that were not taken

  bool operator==(const StepReport&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &StepReport::name}, Field{"origin", &StepReport::origin},
                      Field{"macs", &StepReport::macs}, Field{"refusals", &StepReport::refusals});
  }
};

// A node that computes in floating point inside an int8 plan, and why.
struct PlanIsland {
  std::string node;
  std::string op;
  std::string reason;

  bool operator==(const PlanIsland&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"node", &PlanIsland::node}, Field{"op", &PlanIsland::op},
                      Field{"reason", &PlanIsland::reason});
  }
};

// Lists that are shorter than the plan's, or empty, tell nothing of the rest.
struct PlanReport {
  std::vector<StepReport> steps;    // by step
  std::vector<std::string> values;  // names, by value; empty where it has none
  std::int64_t macs = 0;            // of all steps
  std::vector<PlanIsland> islands;
  std::vector<std::string> notes;

  bool operator==(const PlanReport&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"steps", &PlanReport::steps}, Field{"values", &PlanReport::values},
                      Field{"macs", &PlanReport::macs}, Field{"islands", &PlanReport::islands},
                      Field{"notes", &PlanReport::notes});
  }
};

// ---- the plan ----

// One batch or shape, in one precision, for one machine.
struct Plan {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  Machine machine;  // what it was made for; its cores say nothing: no plan depends on them
  IsaSet needs;     // instruction sets of its kernels
  std::vector<PlanPort> inputs;
  std::vector<PlanPort> outputs;
  std::vector<PlanValue> values;
  std::vector<PlanStep> steps;
  std::vector<Region> regions;  // ascending, apart from each other
  std::uint64_t arena_bytes = 0;
  PlanReport report;  // not among the fields: a file may lack it

  const PlanValue& input(std::size_t i) const { return values[static_cast<std::size_t>(inputs[i].value)]; }
  const PlanValue& output(std::size_t i) const { return values[static_cast<std::size_t>(outputs[i].value)]; }
  const PlanValue& value(ValueIndex index) const { return values[static_cast<std::size_t>(index)]; }
  // The region that a step belongs to, or null.
  const Region* region_of(std::size_t step) const;
  // How often a run calls a step.
  std::int64_t calls_of(std::size_t step) const;
  // What the report tells; without names where it was stripped.
  const StepReport& report_of(std::size_t step) const;
  std::string_view name_of_value(ValueIndex index) const;

  bool operator==(const Plan&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"precision", &Plan::precision}, Field{"batch", &Plan::batch},
                      Field{"machine", &Plan::machine}, Field{"needs", &Plan::needs}, Field{"inputs", &Plan::inputs},
                      Field{"outputs", &Plan::outputs}, Field{"values", &Plan::values}, Field{"steps", &Plan::steps},
                      Field{"regions", &Plan::regions}, Field{"arena_bytes", &Plan::arena_bytes});
  }
};

// Whether every index in the plan is of something that exists: values of steps and ports, views of earlier values in
// the same place, regions of steps. Who follows indices of a plan from elsewhere asks this first; what the values are
// is checked when the plan is loaded. Error: invalid_input.
Status check_indices(const Plan& plan);

}  // namespace octavo

#endif  // OCTAVO_PLAN_PLAN_H_
