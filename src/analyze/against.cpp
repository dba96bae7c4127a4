// Tensors of a run here beside those of another engine. Part of analyze/.
#include "analyze/against.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "lower/tensor_edit.h"

namespace octavo {
namespace {

// What the quantizer and the importer of TFLite call the integers of a wire.
constexpr std::string_view kOfIntegers[] = {"/quantize", ".quantized"};
constexpr int kSignShift = 128;  // u8 of an s8 tensor
constexpr int kMostAxesInAnyOrder = 4;

struct OwnTensor {
  Tensor tensor;
  float scale = 0.0f;  // 0: none
  std::int32_t zero_point = 0;
};

// By the file's name.
using OwnTensors = std::map<std::string, OwnTensor>;

std::set<std::string> names_once(const std::vector<MadeTensor>& made) {
  std::map<std::string, int> uses;
  for (const MadeTensor& tensor : made) ++uses[tensor.name];
  std::set<std::string> names;
  for (const auto& [name, count] : uses) {
    if (count == 1) names.insert(name);
  }
  return names;
}

// Of the file's names the one that a value carries, itself or for its integers; empty: none.
std::string name_in_file(const std::set<std::string>& names, const std::string& value) {
  if (names.contains(value)) return value;
  for (const std::string_view end : kOfIntegers) {
    const std::string name = value.ends_with(end) ? value.substr(0, value.size() - end.size()) : "";
    if (names.contains(name)) return name;
  }
  return "";
}

// Runs; keeps what carries a name of the file. A value with that name goes before its integers.
Result<OwnTensors> run_here(Session& session, const FileTensors& file) {
  const std::set<std::string> names = names_once(file.made);
  OwnTensors own;
  const auto keep = [&](const v1::StepInfo& step) {
    for (std::size_t i = 0; i < std::min(step.outputs.size(), step.value_names.size()); ++i) {
      const std::string name = name_in_file(names, step.value_names[i]);
      if (name.empty() || (name != step.value_names[i] && own.contains(name))) continue;
      const v1::ConstTensorRef& value = step.outputs[i];
      const bool has_scale = i < step.value_scales.size() && i < step.value_zero_points.size();
      own[name] = {Tensor::copy_of({value.dtype, Shape(value.shape), static_cast<const std::byte*>(value.data)}),
                   has_scale ? step.value_scales[i] : 0.0f, has_scale ? step.value_zero_points[i] : 0};
    }
  };
  if (!session.is_program()) session.context().set_step_hook(keep);
  if (const Status done = session.run(); !done) return done.errors();
  return own;
}

// Outputs are known by their places, and have the file's order of axes.
void add_outputs(const Session& session, const FileTensors& file, OwnTensors& own) {
  for (std::size_t i = 0; i < std::min(file.outputs.size(), session.outputs().size()); ++i) {
    const v1::TensorInfo& info = session.plan().outputs[i];
    const bool has_scale = info.scale.size() == 1 && info.zero_point.size() == 1;
    own[file.outputs[i].name] = {session.outputs()[i], has_scale ? info.scale[0] : 0.0f,
                                 has_scale ? info.zero_point[0] : 0};
  }
}

// ---- two tensors ----

// Whether they can stand for the same numbers.
bool are_comparable(const OwnTensor& own, const Tensor& theirs) {
  if (is_float(own.tensor.dtype()) == is_float(theirs.dtype())) return true;
  return !is_float(own.tensor.dtype()) && own.scale != 0.0f;
}

// Our numbers and theirs on one scale: steps of integers from the zero point, or reals. Ours keep their order of axes.
std::pair<Tensor, Tensor> on_one_scale(const OwnTensor& own, const Tensor& theirs) {
  const DType mine = own.tensor.dtype();
  if (!is_float(mine) && is_float(theirs.dtype()))
    return {dequantized(own.tensor.view(), own.scale, own.zero_point), theirs};
  if (!is_8bit(mine) || !is_8bit(theirs.dtype())) return {own.tensor, theirs};
  const int shift = mine == theirs.dtype() ? 0 : mine == DType::u8 ? kSignShift : -kSignShift;
  const std::int32_t zero_point = own.scale == 0.0f ? std::max(shift, 0) : own.zero_point;
  return {dequantized(own.tensor.view(), 1.0f, zero_point), dequantized(theirs.view(), 1.0f, zero_point - shift)};
}

// Orders of axes in which a tensor of `from` has the shape `to`, the unchanged one first, that of images next.
std::vector<Axes> orders_between(const Shape& from, const Shape& to) {
  const int rank = from.rank();
  if (rank != to.rank()) return {};
  Axes axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  std::vector<Axes> orders = {axes};
  if (rank > 2) {
    Axes channels_first = axes;
    std::rotate(channels_first.begin() + 1, channels_first.end() - 1, channels_first.end());
    orders.push_back(channels_first);
  }
  while (rank <= kMostAxesInAnyOrder && std::ranges::next_permutation(axes).found) orders.push_back(axes);
  std::erase_if(orders, [&](const Axes& order) {
    for (int axis = 0; axis < rank; ++axis) {
      if (from[static_cast<int>(order[static_cast<std::size_t>(axis)])] != to[axis]) return true;
    }
    return false;
  });
  return orders;
}

bool is_nearer(const Difference& a, const Difference& b) {
  if (a.differing == 0 || b.differing == 0) return a.differing < b.differing;
  return a.sqnr_db > b.sqnr_db || std::isnan(b.sqnr_db);
}

// Without dimensions of 1, which come and go: a product is a convolution of one row.
Tensor squeezed(const Tensor& tensor) {
  std::vector<std::int64_t> dims(tensor.shape().begin(), tensor.shape().end());
  std::erase(dims, 1);
  return tensor.reshaped(Shape(dims));
}

// In the order of axes that is nearest; nothing where no order gives their shape.
std::optional<Difference> difference_of(const OwnTensor& own, const Tensor& theirs) {
  const auto on_scale = on_one_scale(own, theirs);
  const Tensor mine = squeezed(on_scale.first), other = squeezed(on_scale.second);
  std::optional<Difference> best;
  for (const Axes& order : orders_between(mine.shape(), other.shape())) {
    const Difference difference = compare_tensors(other.view(), transposed(mine, order).view());
    if (!best || is_nearer(difference, *best)) best = difference;
    if (best->differing == 0) break;
  }
  return best;
}

bool agrees(const OwnTensor& own, const Tensor& theirs, const Difference& difference, const AgainstOptions& options) {
  const bool are_integers = !is_float(own.tensor.dtype()) && !is_float(theirs.dtype());
  if (are_integers && !options.min_sqnr) return difference.differing == 0;
  return difference.differing == 0 || difference.sqnr_db >= options.min_sqnr.value_or(kEnoughDb);
}

// ---- what is asked ----

// The tensors of the file that we have, in its order: a graph's output may be an input, too, and stands last then.
std::vector<MadeTensor> wanted(const FileTensors& file, const OwnTensors& own) {
  std::vector<MadeTensor> tensors;
  std::set<std::pair<std::string, int>> taken;
  std::set<int> outputs;
  for (const MadeTensor& output : file.outputs) outputs.insert(output.index);
  const std::set<std::string> once = names_once(file.made);
  for (const MadeTensor& tensor : file.made) {
    const bool is_known = once.contains(tensor.name) || (tensor.index >= 0 && outputs.contains(tensor.index));
    if (is_known && own.contains(tensor.name) && taken.emplace(tensor.name, tensor.index).second)
      tensors.push_back(tensor);
  }
  for (const MadeTensor& output : file.outputs) {
    if (taken.emplace(output.name, output.index).second) tensors.push_back(output);
  }
  return tensors;
}

// States of a TFLite file are inputs here, behind the file's own; another engine begins with zeros.
void begin_states(Session& session, std::size_t file_inputs) {
  const auto& infos = session.plan().inputs;
  for (std::size_t i = file_inputs; i < infos.size(); ++i) {
    const TensorView state = session.inputs()[i].view();
    const double zero = infos[i].zero_point.size() == 1 ? infos[i].zero_point[0] : 0.0;
    for (std::int64_t e = 0; e < state.shape.elements(); ++e) store_double(state, e, zero);
  }
}

Result<std::vector<PeerInput>> inputs_of(const std::string& path, const FileTensors& file, Session& session) {
  const auto& infos = session.plan().inputs;
  const auto refused = [&](std::string found) {
    return Error{ErrorKind::usage, path, std::move(found), "the inputs of the file, as other engines take them", ""};
  };
  if (session.pictures()) return refused("pictures that are prepared inside");
  const bool has_states = file.format == FileFormat::tflite && infos.size() > file.inputs.size();
  if (infos.size() != file.inputs.size() && !has_states) return refused(std::to_string(infos.size()) + " inputs");
  begin_states(session, file.inputs.size());
  std::vector<PeerInput> inputs;
  for (std::size_t i = 0; i < file.inputs.size(); ++i) {
    const auto found = file.format == FileFormat::tflite
                           ? file.inputs.begin() + static_cast<std::ptrdiff_t>(i)
                           : std::ranges::find(file.inputs, infos[i].name, &MadeTensor::name);
    if (found == file.inputs.end()) return refused("an input '" + infos[i].name + "'");
    inputs.push_back({*found, session.inputs()[i].view()});
  }
  return inputs;
}

}  // namespace

const ComparedTensor* AgainstReport::first() const {
  const auto found = std::ranges::find(tensors, false, &ComparedTensor::agrees);
  return found == tensors.end() ? nullptr : &*found;
}

Result<AgainstReport> compare_against(const std::string& path, Session& session, const AgainstOptions& options) {
  const auto file = tensors_of_file(path);
  if (!file) return file.errors();
  const auto inputs = inputs_of(path, *file, session);
  if (!inputs) return inputs.errors();
  auto own = run_here(session, *file);
  if (!own) return own.errors();
  add_outputs(session, *file, *own);
  const std::vector<MadeTensor> tensors = wanted(*file, *own);
  auto theirs = ask_peer(path, file->format, *inputs, tensors, options.engine);
  if (!theirs) return theirs.errors();
  AgainstReport report{.engine = theirs->version};
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const OwnTensor& mine = own->at(tensors[i].name);
    const Tensor& other = theirs->outputs[i];
    const auto difference = are_comparable(mine, other) ? difference_of(mine, other) : std::nullopt;
    if (!difference) continue;
    report.tensors.push_back(
        {tensors[i], other.dtype(), other.shape(), *difference, agrees(mine, other, *difference, options)});
  }
  if (report.tensors.empty())
    return Error{ErrorKind::usage, path, "no tensor in one form here and in " + report.engine,
                 "a model that computes alike in both", ""};
  report.not_compared = std::max(file->made.size(), report.tensors.size()) - report.tensors.size();
  return report;
}

}  // namespace octavo
