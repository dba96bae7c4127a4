// Opening and running compiled models: all that a program needs at run time. Part of the public API.
//
//   auto compiled = octavo::v1::open("resnet18.octv");
//   if (!compiled) return report(compiled.errors());
//   auto model = octavo::v1::Model::load(*compiled, {.threads = 2});
//   if (!model) return report(model.errors());
//   auto context = octavo::v1::Context::create(*model);
//   if (!context) return report(context.errors());
//   const octavo::v1::ConstTensorRef pixels{octavo::DType::f32, context->inputs()[0].shape, image.data()};
//   const octavo::v1::TensorRef classes{octavo::DType::f32, context->outputs()[0].shape, scores.data()};
//   if (auto done = context->run({&pixels, 1}, {&classes, 1}); !done) return report(done.errors());
//
// docs/api.md tells who owns what and what may be called at the same time.
#ifndef OCTAVO_RUN_H_
#define OCTAVO_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "octavo/precision.h"
#include "octavo/result.h"
#include "octavo/tensor.h"

namespace octavo::v1 {

struct Access;  // Octavo's own way to what the classes hold

// Of this release: "0.1.0".
std::string_view version();

// One plan of a compiled model: one batch or shape in one precision.
struct PlanInfo {
  Precision precision = Precision::int8;
  std::int64_t batch = 1;
  std::vector<TensorInfo> inputs;               // in the order that a run takes them
  std::vector<TensorInfo> outputs;              // likewise
  std::int64_t steps = 0;                       // kernels called in a run
  std::int64_t macs = 0;                        // multiply-accumulates of all convolutions and matrix products
  std::uint64_t arena_bytes = 0;                // memory of each context
  bool is_for_device = false;                   // a CUDA device runs it, in whose memory tensors of a run may lie
  std::int64_t steps_by_image = 0;              // the first steps run on one image of the batch after the other
  std::uint64_t image_bytes = 0;                // memory of each thread for these
  std::vector<std::string> islands;             // what runs in float inside an int8 plan: "node (operator): reason"
  std::vector<std::string> notes;               // what else was decided, in sentences for a reader
  std::map<std::string, std::int64_t> kernels;  // name -> steps
};

// A size that a model leaves open: a number of the range that is a multiple of `step`.
struct SizeInfo {
  std::string name;  // the file's name for it, or "INPUT.AXIS"
  std::int64_t lowest = 1;
  std::int64_t highest = 1;
  std::int64_t step = 1;
};

// An input or output of a model with open sizes. Extents are numbers, names of sizes, or what is computed of these:
// "1", "N", "floor((height + 1) / 2)".
struct OpenTensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::string> shape;
};

// What became of the sizes that contexts of a model asked for and that its file has no plan of.
struct PlanCacheInfo {
  std::uint64_t hits = 0;          // found among the plans that are kept
  std::uint64_t made = 0;          // planned
  std::uint64_t followed = 0;      // made out of the plan for a size nearby, with its kernels
  std::uint64_t lowered = 0;       // how often the graph was lowered anew, since sizes broke a condition of the file's
  std::uint64_t dropped = 0;       // left when all took more than limit_bytes: the least recently used first
  std::uint64_t again = 0;         // of those made or followed, how many had been dropped before
  std::uint64_t plans = 0;         // kept now
  std::uint64_t limit_bytes = 0;   // LoadOptions::plan_cache_bytes
  std::uint64_t bytes = 0;         // of these, about
  std::uint64_t packed_bytes = 0;  // weights that they needed in another form than the file has; these stay
};

// A part of a model whose control flow or shapes depend on data: a network, which is compiled and planned for itself,
// or a branch or loop over others.
struct PartInfo {
  std::string kind;                    // "network", "branch", "loop"
  std::string name;                    // of the nodes it stands for
  int depth = 0;                       // inside how many branches and loops
  std::optional<std::size_t> network;  // of ModelInfo::networks
};

// An input that keeps a value from run to run, as the file's engine does by itself: its beginning is zeros, stored as
// `zero_point`, and an output behind the file's own holds the next value.
struct StateInfo {
  std::string name;
  std::int32_t zero_point = 0;
};

// What a compiled model tells of itself.
struct ModelInfo {
  std::string source;                // name of the file it was compiled from
  std::string dialect;               // "ONNX QDQ s8", ...
  std::string pictures;              // CompileOptions::pictures: what is done to pictures inside; empty: takes none
  std::string machine;               // compiled for
  std::string instructions;          // instruction sets that its kernels need
  bool is_for_device = false;        // a CUDA device runs it
  std::int64_t source_nodes = 0;     // in the file it was compiled from
  std::uint64_t constant_bytes = 0;  // packed weights of all plans
  std::vector<StateInfo> states;
  std::vector<PlanInfo> plans;
  // Where sizes are open: these, and the inputs and outputs over them. Empty elsewhere.
  std::vector<SizeInfo> sizes;
  std::vector<OpenTensorInfo> open_inputs;
  std::vector<OpenTensorInfo> open_outputs;
  // Of a model of several parts: these, in the order in which they are met, with open_inputs and open_outputs; and its
  // networks. It has no plans of its own, and a Program runs it.
  std::vector<PartInfo> parts;
  std::vector<ModelInfo> networks;
};

// What an .octv holds: compile() makes it, open() reads it, Model::load() makes it run. Immutable; copies share it.
class CompiledModel {
 public:
  ModelInfo info() const;
  // Writes an .octv file, all or nothing. Error: resource.
  Status save(const std::string& path) const;
  // What save() would write.
  std::vector<std::byte> bytes() const;

 private:
  friend struct Access;
  struct Impl;
  explicit CompiledModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Where the weights of an opened file are: in the file, paged in as they are needed and shared by all processes that
// have it open; or in memory of this process.
enum class Weights : std::uint8_t { mapped, copied };

struct OpenOptions {
  Weights weights = Weights::mapped;
};

// Opens an .octv file. A mapped one may be replaced by renaming another over it, as save() does: who has the old one
// open keeps it. Cutting it off or writing into it while it is open raises SIGBUS in whoever uses it, or changes his
// answers; the library has no handler for that: where it may happen, copy. Errors: resource (cannot be read),
// invalid_input (not an .octv file, of another version, truncated, damaged).
Result<CompiledModel> open(const std::string& path, const OpenOptions& options = {});

// The same of a file's bytes, which are copied; `name` stands for the path in messages. Error: invalid_input.
Result<CompiledModel> open(std::span<const std::byte> bytes, const std::string& name);

// Whether the file is an .octv, by content; false where it cannot be read.
bool is_compiled(const std::string& path);
// The same of a file's bytes.
bool is_compiled(std::span<const std::byte> bytes);

// Removes what an interrupted save() would leave behind. Async-signal-safe: for the handler of SIGINT or SIGTERM.
void remove_unfinished_files();

// Threads for running. Contexts may share one; a context that finds it busy runs on its caller's thread alone, with the
// same bits. Copies share it; contexts keep it alive.
class ThreadPool {
 public:
  // `threads` counts the caller's own; at least 1.
  explicit ThreadPool(int threads);
  // A caller's threads instead: parallel_for(parts, body) runs body(0) .. body(parts - 1), parts <= threads,
  // concurrently or not, and returns when all are done. Contexts that run at the same time call it at the same time. If
  // it throws, no body may be running any more.
  using ParallelFor = std::function<void(int parts, const std::function<void(int part)>& body)>;
  ThreadPool(int threads, ParallelFor parallel_for);

 private:
  friend struct Access;
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// Which plan of a compiled model: the first of this precision and this batch, where one is asked for.
struct PlanChoice {
  std::optional<Precision> precision;
  std::optional<std::int64_t> batch;
};

struct LoadOptions {
  int threads = 0;  // that a run takes at most; 0: every core this process may use
  // For plans of sizes that the file has none for, of a model with open sizes; the least recently used leave, the
  // newest stays, however large. Contexts keep theirs besides.
  std::uint64_t plan_cache_bytes = std::uint64_t{64} << 20;
  // The most that a context's memory_bytes() may be: what needs more is an error of kind resource, and the context goes
  // on as it was. Plans of sizes that come in a run keep to it where they can: where the fastest order of a batch needs
  // more, it is another order, so that smaller sizes need not be refused where the largest of a range fit. 0: 128 GiB,
  // which nothing goes beyond.
  std::uint64_t context_bytes = 0;
  // Of a Program: of all loops of a run together.
  std::int64_t max_iterations = 1'000'000;
  // Of plans for CUDA devices: which one, counted from 0 as the driver counts them.
  int device = 0;
};

// A compiled model ready to run. Immutable; copies share it; any number of contexts use it at the same time.
class Model {
 public:
  // Verifies all of it, so that a damaged or hostile file is an error and never a crash, and prepares its kernels.
  // Keeps what it needs of `compiled`. Errors: invalid_input; resource (instructions that this machine lacks,
  // executable memory refused).
  static Result<Model> load(const CompiledModel& compiled, const LoadOptions& options = {});
  ModelInfo info() const;
  int threads() const;
  // Index of the plan, in ModelInfo::plans. Error: usage, with the list of what there is.
  Result<std::size_t> find_plan(const PlanChoice& choice) const;
  PlanCacheInfo plan_cache() const;
  // What memory_bytes() of a context of this plan, or made for inputs of these shapes, will be with so many threads (0:
  // those of the model); takes none of it. For shapes a plan is made and kept as if a context asked for it. Errors:
  // those of Context::create.
  Result<std::uint64_t> context_bytes(std::size_t plan = 0, int threads = 0) const;
  Result<std::uint64_t> context_bytes(std::span<const std::vector<std::int64_t>> shapes, int threads = 0) const;

 private:
  friend struct Access;
  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// What a step hook is told after each step; valid during the call.
struct StepInfo {
  std::size_t index = 0;    // in the plan
  std::string_view name;    // of the source node
  std::string_view op;      // what is computed
  std::string_view kernel;  // by whom
  std::int64_t elapsed_ns = 0;
  std::span<const std::string> value_names;  // of the step's outputs
  std::span<const float> value_scales;  // value = scale * (integer - zero point); 0 where an output has no one scale
  std::span<const std::int32_t> value_zero_points;
  std::span<const ConstTensorRef> outputs;  // their data is null where nobody asked for them (set_step_hook)
};

// The memory of one run at a time. A context belongs to one thread at a time; contexts run at the same time. It keeps
// its model alive.
class Context {
 public:
  // `plan`: index in ModelInfo::plans. `pool` none: the process-wide one, which is made at first use. Errors: usage (no
  // such plan), resource (memory that cannot be had, or more than LoadOptions::context_bytes).
  static Result<Context> create(const Model& model, std::size_t plan = 0, const ThreadPool* pool = nullptr);
  // Of a model with open sizes, for inputs of these shapes, in the order of ModelInfo::open_inputs. A size that neither
  // the file has a plan of nor anybody asked for lately is planned for: milliseconds, in Octavo::planner, which the
  // program links. Errors: usage, naming input, dimension and both values; unsupported (no planner); resource, naming
  // the shapes and sizes, the bytes needed and those allowed.
  static Result<Context> create(const Model& model, std::span<const std::vector<std::int64_t>> shapes,
                                const ThreadPool* pool = nullptr);
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();
  // The same of this context from its next run on; inputs() and outputs() change. Memory grows where it has to and is
  // kept. After an error it goes on as it was.
  Status resize(std::span<const std::vector<std::int64_t>> shapes);

  // Of the plan; they last as long as the context, also where it is moved, and until resize().
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;
  // The plan it runs.
  PlanInfo plan() const;
  // Bytes of memory that are this context's alone: arena, and scratch and the memory of an image for each of its
  // threads; the most of all plans that it had. Taken from the machine page by page as runs touch them. Tensors are the
  // caller's. Of a plan for a device what it has taken there, with room for its inputs and outputs.
  std::uint64_t memory_bytes() const;
  // Reads and writes the caller's memory in place: tensors in the order of inputs() and outputs(), which must not
  // overlap and are not looked at after the call. Those of a plan for a device are copied, and may be memory of that
  // device (what cuMemAlloc, cudaMalloc or a framework gave): the run waits for what its legacy default stream has been
  // given by then, and for no other stream; results are there when the call returns. An integer plan allocates nothing;
  // layers in fp32 allocate inside oneDNN, and references (target scalar, allow_reference) for their results. Errors:
  // usage, naming the tensor that is not what the plan says; resource, naming the step that lacked memory; cancelled,
  // where `stop`, which is asked between steps, ends it: then the outputs are undefined, and the next run is as good as
  // any. What a hook or a caller's parallel_for throws comes out; the same holds.
  Status run(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs,
             const std::stop_token& stop = {});
  // Calls `hook` after each step of every run, with its time and results; an empty function removes it. Steps that run
  // image by image are told of in their order after the last image, their time summed; their results are there only
  // where `needs_values`, which takes memory for all of them.
  void set_step_hook(std::function<void(const StepInfo&)> hook, bool needs_values = true);

 private:
  friend struct Access;
  struct Impl;
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// An output of a Program's last run.
struct ProgramOutput {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;  // the program's, until its next run
};

// A compiled model whose control flow or shapes depend on data (ModelInfo::parts), ready to run, with memory of its own
// for one run at a time. Any other model is a program of one part. Shapes of outputs are known after a run.
class Program {
 public:
  // `pool` none: the process-wide one. Arenas and tensors between parts keep to LoadOptions::context_bytes together.
  // Errors: those of Model::load.
  static Result<Program> load(const CompiledModel& compiled, const LoadOptions& options = {},
                              const ThreadPool* pool = nullptr);
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  ModelInfo info() const;
  // In the order of ModelInfo::open_inputs, or, of a model of fixed sizes, of PlanInfo::inputs. Memory of the caller
  // that lasts for the call. Errors: usage, naming part and tensor that do not go together; unsupported (a size that
  // comes in the run, and no planner is linked); resource, naming the part that needs more memory than is allowed, or
  // whose loop has no end; cancelled, where `stop`, which is asked between steps and iterations, ends it.
  Status run(std::span<const ConstTensorRef> inputs, const std::stop_token& stop = {});
  // Of the last run, where that went well.
  const std::vector<ProgramOutput>& outputs() const;
  std::uint64_t memory_bytes() const;
  // Of each network, as ModelInfo::networks; of nothing where its sizes are fixed.
  std::vector<PlanCacheInfo> plan_caches() const;

 private:
  friend struct Access;
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octavo::v1

#endif  // OCTAVO_RUN_H_
