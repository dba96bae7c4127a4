// make_plan: Graph + Machine -> Plan. Part of planner/.
#ifndef OCTAVO_PLANNER_PLANNER_H_
#define OCTAVO_PLANNER_PLANNER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/machine.h"
#include "graph/graph.h"
#include "octavo/choices.h"
#include "plan/constants.h"
#include "plan/plan.h"
#include "planner/arena.h"
#include "planner/select.h"

namespace octavo {

using StepObserver = std::function<void(const OpCall& call, const SelectOptions& options, std::int64_t calls)>;

class ChoiceMemo;

struct PlanOptions {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  bool needs_exact = false;  // only kernels with the reference's bits, in fp32 plans, too
  bool allow_reference =
      false;              // the scalar reference may stand in where no kernel exists; implied by the scalar target
  MeasuredCost measured;  // a tuning log; may be empty
  TunedWays tuned;        // likewise
  int threads = 1;        // that tuned ways are for
  // Told of every step of the plan whose way may be tuned, of what its kernel was chosen by, and how often a run calls
  // it; may be empty.
  StepObserver on_step;
  BatchOrder batch_order = BatchOrder::automatic;
  ChoiceMemo* memo = nullptr;  // of plans of the same model for other sizes
  std::span<const KernelChoice* const> kernels = all_choices();
};

// What the values and steps of a plan without regions were in its graph.
struct PlanTrace {
  std::vector<ValueId> values;  // whose shape it has; none of packed constants
  std::vector<int> buffers;     // in whose memory it lies, or -1
  std::vector<NodeId> steps;    // none of copies to outputs
  std::vector<ArenaBuffer> lifetimes;
};

// Chooses kernels for `machine`, packs constants into the pool and places everything. Of the report, islands and notes
// are left to the caller.
// Errors: unsupported, one per node that no kernel takes, with each kernel's refusal.
Result<Plan> make_plan(const Graph& graph, const Machine& machine, const PlanOptions& options, ConstantSink& constants);
// The same of a graph that nobody needs afterwards: its constants leave memory as they are packed. `trace` may be null.
Result<Plan> make_plan(Graph&& graph, const Machine& machine, const PlanOptions& options, ConstantSink& constants,
                       PlanTrace* trace = nullptr);

}  // namespace octavo

#endif  // OCTAVO_PLANNER_PLANNER_H_
