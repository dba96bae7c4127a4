// A loaded model as Python calls it. Part of the extension.
#ifndef OCTAVO_PYTHON_MODEL_H_
#define OCTAVO_PYTHON_MODEL_H_

#include <nanobind/nanobind.h>

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "arrays.h"
#include "octavo/run.h"

namespace octavo::python {

using Shapes = std::vector<std::vector<std::int64_t>>;

// Ends runs from another thread. With the GIL, which guards the source.
class Stop {
 public:
  // Ends the runs that were begun with it, and those that will be until clear().
  void request() { source_.request_stop(); }
  void clear() { source_ = std::stop_source(); }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
};

// A context, and what it was made for.
struct Slot {
  v1::Context context;
  std::size_t plan = 0;  // of a model of fixed sizes
  Shapes shapes;         // of inputs, of a model of open sizes
};

// A compiled model that runs. Calls from several threads run at the same time, each with a context of its own; contexts
// that no call has are kept for the next one. Every member is called with the GIL held, which is what guards the list.
class LoadedModel {
 public:
  LoadedModel(v1::CompiledModel compiled, const v1::LoadOptions& options);

  const v1::CompiledModel& compiled() const { return compiled_; }
  const v1::ModelInfo& info() const { return info_; }
  bool is_program() const { return !info_.parts.empty(); }
  bool is_open() const { return !info_.sizes.empty(); }
  // Names and types, in the order in which they are taken and given.
  const std::vector<v1::OpenTensorInfo>& inputs() const { return inputs_; }
  const std::vector<v1::OpenTensorInfo>& outputs() const { return outputs_; }

  // Arrays in the order of inputs(); `outputs`: arrays to write into, in the order of outputs(), or none: new ones.
  // `stop`: what may end it, or null.
  nanobind::list run(const nanobind::sequence& inputs, const nanobind::object& outputs, const Stop* stop);

  // A context for inputs of these shapes, which no other call has.
  std::unique_ptr<Slot> take(const Shapes& shapes);
  void give_back(std::unique_ptr<Slot> slot) { free_.push_back(std::move(slot)); }
  std::vector<ArrayView> views_of_inputs(const nanobind::sequence& arrays) const;
  std::vector<ArrayView> views_to_bind(const nanobind::sequence& arrays) const;
  std::vector<ArrayView> views_of_outputs(const nanobind::list& arrays) const;
  std::uint64_t memory_bytes() const;

 private:
  nanobind::list run_program(const nanobind::sequence& inputs, const nanobind::object& outputs,
                             const std::stop_token& stop);
  std::size_t plan_for(const Shapes& shapes) const;
  Places places() const;

  v1::CompiledModel compiled_;
  v1::LoadOptions options_;
  v1::ModelInfo info_;
  std::vector<v1::OpenTensorInfo> inputs_, outputs_;
  std::unique_ptr<v1::Model> model_;  // none of a program
  std::vector<std::unique_ptr<Slot>> free_;
  std::vector<std::unique_ptr<v1::Program>> free_programs_;
};

// Inputs and outputs that stay where they are: a call of it allocates nothing.
class BoundModel {
 public:
  // `outputs` none: new arrays.
  BoundModel(std::shared_ptr<LoadedModel> model, const nanobind::sequence& inputs, const nanobind::object& outputs);
  ~BoundModel();
  void run(const Stop* stop);
  const nanobind::list& outputs() const { return output_arrays_; }

 private:
  std::shared_ptr<LoadedModel> model_;
  std::unique_ptr<Slot> slot_;
  std::vector<ArrayView> inputs_, outputs_;
  std::vector<v1::ConstTensorRef> input_refs_;
  std::vector<v1::TensorRef> output_refs_;
  nanobind::list output_arrays_;
};

}  // namespace octavo::python

#endif  // OCTAVO_PYTHON_MODEL_H_
