// Which steps run image by image, and what such a step is. Part of planner/.
#include "planner/image_loop.h"

#include <limits>

namespace octavo {
namespace {

// Nanoseconds to fetch `bytes` that lie where `footprint` bytes fit.
double fetch_ns(double bytes, double footprint, const Machine& machine) {
  if (footprint <= static_cast<double>(machine.l2_bytes) / 2) return 0.0;
  // Activations come from level 3 faster than reading alone is, since other things are done meanwhile; those of a batch
  // that is in memory are written there, too.
  constexpr double kOfLevel3 = 1.6, kOfMemory = 0.8;
  return bytes / (footprint <= static_cast<double>(machine.l3_bytes) / 2 ? kOfLevel3 * machine.speeds.level3_gbytes
                                                                         : kOfMemory * machine.speeds.memory_gbytes);
}

Fact without_batch(const Fact& fact) {
  std::vector<Dim> dims = fact.shape.to_vector();
  dims[0] = 1;
  return {.dtype = fact.dtype, .shape = OpenShape(dims), .quant = fact.quant};
}

}  // namespace

std::int64_t bytes_of(const Fact& fact) {
  return fact.shape.elements() * static_cast<std::int64_t>(size_of(fact.dtype));
}

LoopCost loop_cost(const OpCall& image, double batch_ns, double image_ns) {
  LoopCost cost{.batch_ns = batch_ns, .image_ns = image_ns};
  for (const Fact* input : image.inputs) {
    if (input == nullptr) continue;
    (input->is_constant() ? cost.constant_bytes : cost.image_bytes) += bytes_of(*input);
  }
  for (const Fact& output : image.outputs) cost.image_bytes += bytes_of(output);
  return cost;
}

std::size_t steps_by_image(std::span<const LoopCost> steps, std::int64_t images, const Machine& machine) {
  const auto count = static_cast<double>(images);
  double saved = 0.0, constants = 0.0, best = 0.0;
  std::size_t best_steps = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const LoopCost& step = steps[i];
    const auto bytes = static_cast<double>(step.image_bytes);
    saved += step.batch_ns - count * step.image_ns + fetch_ns(count * bytes, count * bytes, machine) -
             count * fetch_ns(bytes, bytes, machine);
    constants += static_cast<double>(step.constant_bytes);
    const double gain = saved - count * fetch_ns(constants, constants, machine);
    if (gain > best) best = gain, best_steps = i + 1;
  }
  return best_steps;
}

const Fact* ImageCalls::image_of(const Fact& fact) {
  if (fact.is_constant()) return &fact;
  if (fact.shape.rank() == 0 || fact.shape[0] != images_ || (fact.quant && fact.quant->axis == 0)) return nullptr;
  return &facts_.emplace_back(without_batch(fact));
}

std::optional<Attrs> ImageCalls::image_of(const OpCall& call, OpCall& image) {
  if (call.spec->for_one_image == nullptr) return std::nullopt;
  image = {.spec = call.spec};
  for (const Fact* input : call.inputs) {
    image.inputs.push_back(input == nullptr ? nullptr : image_of(*input));
    if (input != nullptr && image.inputs.back() == nullptr) return std::nullopt;
  }
  auto attrs = call.spec->for_one_image(*call.attrs, call.inputs);
  if (!attrs) return std::nullopt;
  const auto inferred = infer_checked(*call.spec, *attrs, image.inputs);
  if (!inferred || inferred->size() != call.outputs.size()) return std::nullopt;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const Fact* output = image_of(call.outputs[i]);
    if (output == nullptr || !output->same_type((*inferred)[i])) return std::nullopt;
    image.outputs.push_back(*output);
  }
  return attrs;
}

}  // namespace octavo
