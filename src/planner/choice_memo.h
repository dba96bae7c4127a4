// ChoiceMemo: which kernels were chosen, by layer and range of sizes. Part of planner/.
#ifndef OCTAVO_PLANNER_CHOICE_MEMO_H_
#define OCTAVO_PLANNER_CHOICE_MEMO_H_

#include <mutex>
#include <string>
#include <unordered_map>

#include "planner/select.h"
#include "run/plan_provider.h"

namespace octavo {

// Of the plans that one model makes for sizes that come: calls of one layer whose extents have as many binary digits
// take one kernel. Any number of threads may use it.
class ChoiceMemo final : public PlanMemory {
 public:
  // choose(), or what it chose for a call of the layer `name` in that range where it can take this one, too. Where
  // times are measured or ways tuned, these say what is best of each size; where kernels differ in their bits, each
  // size has those of its own choice.
  Result<Choice> choose(const std::string& name, const OpCall& call, const Machine& machine,
                        const SelectOptions& options, std::span<const KernelChoice* const> kernels);

 private:
  const KernelChoice* find(const std::string& key) const;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, const KernelChoice*> kernels_;
};

}  // namespace octavo

#endif  // OCTAVO_PLANNER_CHOICE_MEMO_H_
