// Plan: everything a run needs, decided: kernels, their order, constants, and where each tensor lies. Part of plan/.
#ifndef OCTAVO_PLAN_PLAN_H_
#define OCTAVO_PLAN_PLAN_H_

#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/fields.h"
#include "base/machine.h"
#include "graph/graph.h"
#include "lower/lower.h"
#include "select/select.h"

namespace octavo {

// Where a tensor of a step lies. Numbers are part of the artifact format.
// A packed operand is a constant that the kernel rearranged: its content is in PlanStep::packed. `image_arena` is the
// arena of the image loop.
enum class Place : std::uint8_t {
  absent = 0,
  arena = 1,
  constant = 2,
  input = 3,
  output = 4,
  packed = 5,
  image_arena = 6
};
constexpr int count_of(Place) { return 7; }
constexpr std::string_view name_of(Place place) {
  constexpr std::string_view names[] = {"absent", "arena", "constant", "input", "output", "packed", "image_arena"};
  return names[static_cast<int>(place)];
}

struct PlanOperand {
  Place place = Place::absent;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::uint64_t offset = 0;  // arenas and constant: bytes, a multiple of kAlignment; input and output: its index

  // Of a shape that is known to be possible: one of a file is checked when it is loaded.
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(Shape(shape).elements()) * size_of(dtype); }
  // The shape of that of so many images together, side by side along the first axis.
  Shape shape_of(std::int64_t images) const {
    std::vector<std::int64_t> dims = shape;
    if (images > 1 && dims.empty()) dims.push_back(1);
    if (images > 1) dims[0] *= images;
    return Shape(dims);
  }
  bool operator==(const PlanOperand&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"place", &PlanOperand::place}, Field{"dtype", &PlanOperand::dtype},
                      Field{"shape", &PlanOperand::shape}, Field{"offset", &PlanOperand::offset});
  }
};

struct PlanStep {
  std::string name;    // the source node it stands for
  std::string origin;  // for messages
  std::string op;
  std::string kernel;
  std::vector<std::byte> attrs;  // encoded
  std::vector<PlanOperand> inputs;
  std::vector<PlanOperand> outputs;
  std::vector<PlanOperand> packed;
  double predicted_ns = 0.0;
  std::vector<std::string> refusals;     // "kernel: why not", of the candidates that were not taken
  std::vector<std::string> value_names;  // names of the outputs, for --dump
  std::vector<float> value_scales;       // of the outputs; 0 where one has none, or one per channel
  std::vector<std::int32_t> value_zero_points;

  bool operator==(const PlanStep&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &PlanStep::name}, Field{"origin", &PlanStep::origin}, Field{"op", &PlanStep::op},
                      Field{"kernel", &PlanStep::kernel}, Field{"attrs", &PlanStep::attrs},
                      Field{"inputs", &PlanStep::inputs}, Field{"outputs", &PlanStep::outputs},
                      Field{"packed", &PlanStep::packed}, Field{"predicted_ns", &PlanStep::predicted_ns},
                      Field{"refusals", &PlanStep::refusals}, Field{"value_names", &PlanStep::value_names},
                      Field{"value_scales", &PlanStep::value_scales},
                      Field{"value_zero_points", &PlanStep::value_zero_points});
  }
};

// An input or output of the model.
struct PlanTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<float> scale;  // of a quantized tensor, else empty
  std::vector<std::int32_t> zero_point;

  bool operator==(const PlanTensor&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"name", &PlanTensor::name}, Field{"dtype", &PlanTensor::dtype},
                      Field{"shape", &PlanTensor::shape}, Field{"scale", &PlanTensor::scale},
                      Field{"zero_point", &PlanTensor::zero_point});
  }
};

// The first `steps` steps of a plan run on the images of the batch one after the other; the others, on the batch at
// once. Shapes of a step in the loop are those of one image: in the arena and in the model's inputs and outputs lie
// `images` of them, one after the other, and step after step finds its image there. What no step after the loop reads
// lies in an arena of one image, which every thread has for itself.
struct ImageLoop {
  std::int64_t steps = 0;
  std::int64_t images = 1;
  std::uint64_t arena_bytes = 0;

  bool operator==(const ImageLoop&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"steps", &ImageLoop::steps}, Field{"images", &ImageLoop::images},
                      Field{"arena_bytes", &ImageLoop::arena_bytes});
  }
};

// One batch or shape, in one precision, for one machine.
struct Plan {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  std::vector<PlanTensor> inputs;
  std::vector<PlanTensor> outputs;
  std::uint64_t arena_bytes = 0;
  std::vector<PlanStep> steps;
  ImageLoop image_loop;
  std::int64_t macs = 0;             // multiply-accumulates of all convolutions and matrix products
  std::vector<std::string> islands;  // "node (op): reason"
  std::vector<std::string> notes;

  // How often a run calls a step.
  std::int64_t calls_of(std::size_t step) const {
    return static_cast<std::int64_t>(step) < image_loop.steps ? image_loop.images : 1;
  }

  bool operator==(const Plan&) const = default;
  static constexpr auto fields() {
    return std::tuple(Field{"precision", &Plan::precision}, Field{"batch", &Plan::batch},
                      Field{"inputs", &Plan::inputs}, Field{"outputs", &Plan::outputs},
                      Field{"arena_bytes", &Plan::arena_bytes}, Field{"steps", &Plan::steps},
                      Field{"image_loop", &Plan::image_loop}, Field{"macs", &Plan::macs},
                      Field{"islands", &Plan::islands}, Field{"notes", &Plan::notes});
  }
};

// Memory that starts on kAlignment, as constants must.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{kAlignment}));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete (memory, std::align_val_t{kAlignment}); }
  bool operator==(const AlignedAllocator&) const { return true; }
};
using AlignedBytes = std::vector<std::byte, AlignedAllocator<std::byte>>;

// Constant data shared by all plans of a model; equal tensors are stored once.
class ConstantPool {
 public:
  // Returns the offset, a multiple of kAlignment.
  std::uint64_t add(const ConstTensorView& tensor);
  // All constants, each followed by zeros up to the alignment and at least kReadSlack more; empty where there are none.
  const AlignedBytes& bytes() const { return bytes_; }
  // Hands the bytes over; the pool is empty afterwards.
  AlignedBytes take();

 private:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  AlignedBytes bytes_;
  std::unordered_multimap<std::uint64_t, Entry> index_;  // by content hash
};

struct PlanOptions {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  bool allow_reference =
      false;              // the scalar reference may stand in where no kernel exists; implied by the scalar target
  MeasuredCost measured;  // a tuning log; may be empty
  BatchOrder batch_order = BatchOrder::automatic;
  std::span<const Kernel* const> kernels = all_kernels();
};

// Chooses kernels for `machine`, packs constants into the pool and places everything.
// Errors: unsupported, one per node that no kernel takes, with each kernel's refusal.
Result<Plan> make_plan(const Graph& graph, const Machine& machine, const PlanOptions& options, ConstantPool& constants);
// The same of a graph that nobody needs afterwards: its constants leave memory as they are packed.
Result<Plan> make_plan(Graph&& graph, const Machine& machine, const PlanOptions& options, ConstantPool& constants);

}  // namespace octavo

#endif  // OCTAVO_PLAN_PLAN_H_
