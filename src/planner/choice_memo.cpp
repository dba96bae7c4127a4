// Choices by layer, types and ranges of extents. Part of planner/.
#include "planner/choice_memo.h"

#include <bit>

namespace octavo {
namespace {

// Of one model; what comes after so many is chosen anew.
constexpr std::size_t kMostChoices = 1 << 16;

void add_operand(std::string& key, const Fact* fact) {
  if (fact == nullptr) return key.push_back('-');
  key.push_back(static_cast<char>(fact->dtype));
  key.push_back(fact->is_constant() ? 'c' : 'v');
  for (const Dim& dim : fact->shape) {
    const auto extent = static_cast<std::uint64_t>(dim.example());
    const std::uint64_t known = fact->is_constant() ? extent : static_cast<std::uint64_t>(std::bit_width(extent));
    key.append(reinterpret_cast<const char*>(&known), sizeof known);
  }
  key.push_back(';');
}

std::string key_of(const std::string& name, const OpCall& call, const SelectOptions& options) {
  std::string key(call.spec->name);
  key += '\n' + name + '\n' + std::to_string(options.threads);
  for (const Fact* input : call.inputs) add_operand(key, input);
  for (const Fact& output : call.outputs) add_operand(key, &output);
  return key;
}

}  // namespace

const KernelChoice* ChoiceMemo::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(key);
  return found == kernels_.end() ? nullptr : found->second;
}

Result<Choice> ChoiceMemo::choose(const std::string& name, const OpCall& call, const Machine& machine,
                                  const SelectOptions& options, std::span<const KernelChoice* const> kernels) {
  if (options.measured || options.tuned || !give_same_bits(*call.spec, options, kernels))
    return octavo::choose(call, machine, options, kernels);
  const std::string key = key_of(name, call, options);
  if (const KernelChoice* known = find(key)) {
    if (auto choice = choose_alike(*known, call, machine, options)) return *std::move(choice);
  }
  auto choice = octavo::choose(call, machine, options, kernels);
  if (!choice) return choice;
  const std::lock_guard lock(mutex_);
  if (kernels_.size() < kMostChoices) kernels_.insert_or_assign(key, choice->kernel);
  return choice;
}

}  // namespace octavo
