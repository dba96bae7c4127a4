// Between wires and the names of tensors. Part of quantize/.
#include "quantize/wire_scales.h"

#include <set>

namespace octavo {
namespace {

TensorScale named(const ActivationScale& own) { return {own.dtype, own.scale, own.zero_point}; }

std::string printed(const TensorScale& own) {
  return std::string(name_of(own.type)) + " of scale " + print(own.scale) + " and zero point " +
         std::to_string(own.zero_point);
}

Error usage(const std::string& tensor, std::string found, std::string expected) {
  return {ErrorKind::usage, "tensor '" + tensor + "'", std::move(found), std::move(expected), ""};
}

template <class Visit>
void for_each_pair(const Graph& graph, const Placement& placement, const Visit& visit) {
  for (int i = 0; i < graph.value_count(); ++i) {
    if (placement.pair({i})) visit(ValueId{i}, graph.value({i}).name);
  }
}

Errors unknown_names(const Graph& graph, const std::map<std::string, TensorScale>& known) {
  std::set<std::string> names;
  for (int i = 0; i < graph.value_count(); ++i) names.insert(graph.value({i}).name);
  Errors errors;
  for (const auto& [name, scale] : known) {
    if (!names.contains(name)) errors.push_back(usage(name, "a scale for it", "a tensor of this network"));
  }
  return errors;
}

}  // namespace

std::map<std::string, TensorScale> wire_scales(const Graph& graph, const Placement& placement,
                                               const std::vector<ActivationScale>& scales) {
  std::map<std::string, TensorScale> wires;
  for_each_pair(graph, placement,
                [&](ValueId wire, const std::string& name) { wires[name] = named(scales[at(wire)]); });
  return wires;
}

Status use_known_scales(const Graph& graph, const Placement& placement, const std::map<std::string, TensorScale>& known,
                        std::vector<ActivationScale>& scales) {
  Errors errors = unknown_names(graph, known);
  for_each_pair(graph, placement, [&](ValueId wire, const std::string&) {
    const auto found = known.find(graph.value(placement.scale_of[at(wire)]).name);
    if (found != known.end()) scales[at(wire)] = {found->second.type, found->second.scale, found->second.zero_point};
  });
  for_each_pair(graph, placement, [&](ValueId wire, const std::string& name) {
    const auto found = known.find(name);
    const TensorScale own = named(scales[at(wire)]);
    if (found == known.end() || found->second == own) return;
    errors.push_back(
        usage(name, printed(found->second),
              printed(own) + ": it shares that of '" + graph.value(placement.scale_of[at(wire)]).name + "'"));
  });
  if (!errors.empty()) return errors;
  return ok_status();
}

}  // namespace octavo
