// What nodes cost in ONNX Runtime, and what its rules ask besides. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_ORT_COSTS_H_
#define OCTAVO_DIAGNOSE_ORT_COSTS_H_

#include <vector>

#include "diagnose/rules.h"

namespace octavo::diagnose {

// By the file's nodes.
std::vector<NodeCost> ort_costs(const FileView& view, const EngineRates& rates);

// An operator in float that reads a pair, and whose result has one.
bool is_between_pairs(const FileView& view, const ViewNode& node);
// Whether the scale of the pair before it is not the one behind it.
bool changes_scale(const FileView& view, const ViewNode& node);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_ORT_COSTS_H_
