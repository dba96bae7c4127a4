// PlanProvider: who plans a network for sizes that no plan of its file has. Part of run/.
#ifndef OCTAVO_RUN_PLAN_PROVIDER_H_
#define OCTAVO_RUN_PLAN_PROVIDER_H_

#include <cstdint>
#include <span>

#include "base/result.h"
#include "plan/constants.h"
#include "plan/open_network.h"
#include "plan/plan.h"

namespace octavo {

// Implemented by planner/. Several threads may call it at the same time.
class PlanProvider {
 public:
  virtual ~PlanProvider() = default;
  // At these values of all expressions (Sizes::evaluate), a batch in that order. What kernels make of the weights goes
  // to `packed`, which keeps equal ones once. Errors: invalid_input, where the network, which may come from a hostile
  // file, is none; unsupported; resource, where it needs more memory than a plan may.
  virtual Result<Plan> plan(const OpenNetwork& network, const ConstantSource& constants,
                            std::span<const std::int64_t> values, BatchOrder order, ConstantSink& packed) const = 0;

  // The network lowered from `unlowered`, one of its own, with these for the example of its sizes (which hold there).
  // What it has of constants that are not the file's goes to `constants`. Errors: as those of plan(); usage, where
  // something of the file means another thing at these sizes.
  virtual Result<OpenNetwork> lower(const OpenNetwork& network, const StoredGraph& unlowered,
                                    const ConstantSource& source, std::span<const std::int64_t> sizes,
                                    ConstantSink& constants) const = 0;
};

// The planner that this program links (octavo_planner), or null.
const PlanProvider* linked_planner();

}  // namespace octavo

#endif  // OCTAVO_RUN_PLAN_PROVIDER_H_
