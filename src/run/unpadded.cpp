// octavo::v1::Unpadded: gathers the sequences of a group, runs them, scatters the answers. Part of run/.
#include "octavo/unpadded.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/tensor.h"
#include "run/length_groups.h"

namespace octavo::v1 {
namespace {

constexpr std::int64_t kStep = 8;  // of lengths: fewer plans, and whole vectors

Error usage(std::string where, std::string found, std::string expected) {
  return {
      .kind = ErrorKind::usage, .where = std::move(where), .found = std::move(found), .expected = std::move(expected)};
}

std::string words(const std::vector<std::string>& shape) {
  std::string text = "[";
  for (const std::string& extent : shape) text += (text.size() > 1 ? ", " : "") + extent;
  return text + "]";
}

// Which of its first two axes an input or output has.
struct Axes {
  bool has_batch = false, has_tokens = false;
};

// A tensor of the whole batch, or of a group, as rows of one sequence: `tokens` parts of `part` bytes each.
struct Rows {
  std::int64_t sequences = 1, tokens = 1;
  std::size_t part = 0;

  static Rows of(const Axes& axes, std::span<const std::int64_t> shape, DType dtype) {
    Rows rows{
        .sequences = axes.has_batch ? shape[0] : 1, .tokens = axes.has_tokens ? shape[1] : 1, .part = size_of(dtype)};
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const bool is_counted = (k == 0 && axes.has_batch) || (k == 1 && axes.has_tokens);
      if (!is_counted) rows.part *= static_cast<std::size_t>(shape[k]);
    }
    return rows;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(sequences * tokens) * part; }
  std::size_t offset(std::int64_t sequence) const { return static_cast<std::size_t>(sequence * tokens) * part; }
};

}  // namespace

struct Unpadded::Impl {
  Model model;
  const ThreadPool* pool;
  ModelInfo info;
  std::size_t mask;
  SizeInfo length;
  std::vector<Axes> inputs, outputs;
  std::optional<Context> context;
  std::vector<std::vector<std::byte>> gathered, answers;
  std::int64_t tokens = 0;

  Status check(std::span<const ConstTensorRef> ins, std::span<const TensorRef> outs) const;
  Result<std::vector<std::int64_t>> lengths(const ConstTensorRef& given) const;
  std::vector<std::vector<std::int64_t>> shapes_of(std::span<const ConstTensorRef> ins, const LengthGroup& group) const;
  Status run_group(std::span<const ConstTensorRef> ins, std::span<const TensorRef> outs, const LengthGroup& group,
                   std::span<const std::int64_t> lengths);
  void scatter(const TensorRef& to, std::size_t index, const LengthGroup& group, std::span<const std::int64_t> lengths);
};

Unpadded::Unpadded(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Unpadded::Unpadded(Unpadded&&) noexcept = default;
Unpadded& Unpadded::operator=(Unpadded&&) noexcept = default;
Unpadded::~Unpadded() = default;

std::int64_t Unpadded::tokens() const { return impl_->tokens; }

// ---- what a model must be ----

namespace {

const SizeInfo* size_called(const ModelInfo& info, const std::string& name) {
  const auto found =
      std::find_if(info.sizes.begin(), info.sizes.end(), [&](const SizeInfo& size) { return size.name == name; });
  return found == info.sizes.end() ? nullptr : &*found;
}

// The sizes of the mask: of the batch and of the tokens.
Result<std::pair<SizeInfo, SizeInfo>> sizes_of_mask(const ModelInfo& info, const OpenTensorInfo& mask) {
  const auto* batch = mask.shape.size() == 2 ? size_called(info, mask.shape[0]) : nullptr;
  const auto* tokens = mask.shape.size() == 2 ? size_called(info, mask.shape[1]) : nullptr;
  const bool is_integer = !is_float(mask.dtype);
  const bool may_be_any = batch != nullptr && batch->lowest <= 1 && batch->step == 1;
  if (!may_be_any || tokens == nullptr || batch == tokens || !is_integer)
    return usage("mask '" + mask.name + "'", std::string(name_of(mask.dtype)) + " " + words(mask.shape),
                 "integers or booleans [batch, tokens], both open, the batch from 1 on");
  return std::pair(*batch, *tokens);
}

Result<Axes> axes_of(const OpenTensorInfo& tensor, const std::string& batch, const std::string& tokens) {
  Axes axes;
  for (std::size_t k = 0; k < tensor.shape.size(); ++k) {
    const std::string& extent = tensor.shape[k];
    if (k == 0 && extent == batch) axes.has_batch = true;
    else if (k == 1 && extent == tokens) axes.has_tokens = true;
    else if (extent.find_first_not_of("0123456789") != std::string::npos)
      return usage("'" + tensor.name + "'", words(tensor.shape),
                   "'" + batch + "' as axis 0, '" + tokens + "' as axis 1 and numbers elsewhere");
  }
  return axes;
}

}  // namespace

Result<Unpadded> Unpadded::create(const Model& model, std::string_view mask, const ThreadPool* pool) {
  ModelInfo info = model.info();
  const auto found = std::find_if(info.open_inputs.begin(), info.open_inputs.end(),
                                  [&](const OpenTensorInfo& input) { return input.name == mask; });
  if (found == info.open_inputs.end()) {
    std::string names;
    for (const OpenTensorInfo& input : info.open_inputs) names += (names.empty() ? "'" : ", '") + input.name + "'";
    return usage("mask", "'" + std::string(mask) + "'",
                 names.empty() ? "an input of a model whose sizes are open" : "one of the inputs " + names);
  }
  const auto sizes = sizes_of_mask(info, *found);
  if (!sizes) return sizes.errors();
  auto impl = std::make_unique<Impl>(Impl{.model = model,
                                          .pool = pool,
                                          .info = {},
                                          .mask = static_cast<std::size_t>(found - info.open_inputs.begin()),
                                          .length = sizes->second,
                                          .inputs = {},
                                          .outputs = {},
                                          .context = {},
                                          .gathered = {},
                                          .answers = {}});
  Errors errors;
  const auto add = [&](const std::vector<OpenTensorInfo>& tensors, std::vector<Axes>& to) {
    for (const OpenTensorInfo& tensor : tensors) {
      const auto axes = axes_of(tensor, sizes->first.name, sizes->second.name);
      if (axes) to.push_back(*axes);
      else errors.insert(errors.end(), axes.errors().begin(), axes.errors().end());
    }
  };
  add(info.open_inputs, impl->inputs);
  add(info.open_outputs, impl->outputs);
  for (std::size_t i = 0; i < impl->outputs.size(); ++i) {
    if (!impl->outputs[i].has_batch)
      errors.push_back(usage("output '" + info.open_outputs[i].name + "'", words(info.open_outputs[i].shape),
                             "'" + sizes->first.name + "' as axis 0"));
  }
  if (!errors.empty()) return errors;
  impl->info = std::move(info);
  impl->gathered.resize(impl->inputs.size());
  impl->answers.resize(impl->outputs.size());
  return Unpadded(std::move(impl));
}

// ---- a run ----

Status Unpadded::Impl::check(std::span<const ConstTensorRef> ins, std::span<const TensorRef> outs) const {
  if (ins.size() != inputs.size() || outs.size() != outputs.size())
    return usage("tensors", std::to_string(ins.size()) + " inputs and " + std::to_string(outs.size()) + " outputs",
                 std::to_string(inputs.size()) + " and " + std::to_string(outputs.size()));
  if (ins[mask].shape.size() != 2) return usage("mask '" + info.open_inputs[mask].name + "'", "another rank", "2 axes");
  const std::int64_t batch = ins[mask].shape[0], padded = ins[mask].shape[1];
  Errors errors;
  const auto look = [&](const OpenTensorInfo& told, const Axes& axes, DType dtype,
                        std::span<const std::int64_t> shape) {
    bool fits = dtype == told.dtype && shape.size() == told.shape.size();
    for (std::size_t k = 0; fits && k < shape.size(); ++k) {
      if (k == 0 && axes.has_batch) fits = shape[0] == batch;
      else if (k == 1 && axes.has_tokens) fits = shape[1] == padded;
      else fits = std::to_string(shape[k]) == told.shape[k];
    }
    if (!fits)
      errors.push_back(usage("'" + told.name + "'", std::string(name_of(dtype)) + "[" + Shape(shape).to_string() + "]",
                             std::string(name_of(told.dtype)) + " " + words(told.shape) + " of the mask's sizes " +
                                 std::to_string(batch) + " and " + std::to_string(padded)));
  };
  for (std::size_t i = 0; i < ins.size(); ++i) look(info.open_inputs[i], inputs[i], ins[i].dtype, ins[i].shape);
  for (std::size_t i = 0; i < outs.size(); ++i) look(info.open_outputs[i], outputs[i], outs[i].dtype, outs[i].shape);
  if (padded < length.lowest || padded > length.highest)
    errors.push_back(usage("mask '" + info.open_inputs[mask].name + "'", std::to_string(padded) + " tokens",
                           std::to_string(length.lowest) + " to " + std::to_string(length.highest)));
  if (!errors.empty()) return errors;
  return ok_status();
}

Result<std::vector<std::int64_t>> Unpadded::Impl::lengths(const ConstTensorRef& given) const {
  const std::int64_t batch = given.shape[0], padded = given.shape[1];
  const std::size_t bytes = size_of(given.dtype);
  const auto* data = static_cast<const std::byte*>(given.data);
  const auto is_token = [&](std::int64_t i) {
    const std::byte* element = data + static_cast<std::size_t>(i) * bytes;
    return std::any_of(element, element + bytes, [](std::byte byte) { return byte != std::byte{0}; });
  };
  std::vector<std::int64_t> found;
  for (std::int64_t row = 0; row < batch; ++row) {
    std::int64_t tokens_of_row = 0;
    while (tokens_of_row < padded && is_token(row * padded + tokens_of_row)) ++tokens_of_row;
    for (std::int64_t k = tokens_of_row; k < padded; ++k) {
      if (is_token(row * padded + k))
        return usage("mask '" + info.open_inputs[mask].name + "', row " + std::to_string(row),
                     "a token at " + std::to_string(k) + " behind padding at " + std::to_string(tokens_of_row),
                     "tokens first, then padding");
    }
    found.push_back(tokens_of_row);
  }
  return found;
}

std::vector<std::vector<std::int64_t>> Unpadded::Impl::shapes_of(std::span<const ConstTensorRef> ins,
                                                                 const LengthGroup& group) const {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < ins.size(); ++i) {
    shapes.emplace_back(ins[i].shape.begin(), ins[i].shape.end());
    if (inputs[i].has_batch) shapes.back()[0] = std::ssize(group.sequences);
    if (inputs[i].has_tokens) shapes.back()[1] = group.length;
  }
  return shapes;
}

Status Unpadded::Impl::run_group(std::span<const ConstTensorRef> ins, std::span<const TensorRef> outs,
                                 const LengthGroup& group, std::span<const std::int64_t> of_rows) {
  const auto shapes = shapes_of(ins, group);
  if (context) {
    if (const Status resized = context->resize(shapes); !resized) return resized;
  } else {
    auto created = Context::create(model, shapes, pool);
    if (!created) return created.errors();
    context = std::move(*created);
  }
  std::vector<ConstTensorRef> own_inputs;
  for (std::size_t i = 0; i < ins.size(); ++i) {
    const Rows from = Rows::of(inputs[i], ins[i].shape, ins[i].dtype),
               to = Rows::of(inputs[i], shapes[i], ins[i].dtype);
    gathered[i].resize(to.bytes());
    for (std::int64_t k = 0; k < to.sequences; ++k) {
      const std::int64_t sequence = inputs[i].has_batch ? group.sequences[static_cast<std::size_t>(k)] : 0;
      std::memcpy(gathered[i].data() + to.offset(k), static_cast<const std::byte*>(ins[i].data) + from.offset(sequence),
                  static_cast<std::size_t>(to.tokens) * to.part);
    }
    own_inputs.push_back({ins[i].dtype, shapes[i], gathered[i].data()});
  }
  std::vector<TensorRef> own_outputs;
  for (std::size_t i = 0; i < outs.size(); ++i) {
    const TensorInfo& told = context->outputs()[i];
    answers[i].resize(told.bytes());
    own_outputs.push_back({told.dtype, told.shape, answers[i].data()});
  }
  if (const Status done = context->run(own_inputs, own_outputs); !done) return done;
  for (std::size_t i = 0; i < outs.size(); ++i) scatter(outs[i], i, group, of_rows);
  return ok_status();
}

void Unpadded::Impl::scatter(const TensorRef& to, std::size_t index, const LengthGroup& group,
                             std::span<const std::int64_t> of_rows) {
  const Rows all = Rows::of(outputs[index], to.shape, to.dtype),
             own = Rows::of(outputs[index], context->outputs()[index].shape, to.dtype);
  for (std::size_t k = 0; k < group.sequences.size(); ++k) {
    const std::int64_t sequence = group.sequences[k];
    const std::int64_t kept = outputs[index].has_tokens ? of_rows[static_cast<std::size_t>(sequence)] : 1;
    std::memcpy(static_cast<std::byte*>(to.data) + all.offset(sequence),
                answers[index].data() + own.offset(static_cast<std::int64_t>(k)),
                static_cast<std::size_t>(kept) * own.part);
  }
}

Status Unpadded::run(std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  if (const Status checked = impl_->check(inputs, outputs); !checked) return checked;
  const auto lengths = impl_->lengths(inputs[impl_->mask]);
  if (!lengths) return lengths.errors();
  for (std::size_t i = 0; i < outputs.size(); ++i)
    std::memset(outputs[i].data, 0, Rows::of(impl_->outputs[i], outputs[i].shape, outputs[i].dtype).bytes());
  const SizeInfo& own = impl_->length;
  const std::int64_t step = (kStep + own.step - 1) / own.step * own.step, padded = inputs[impl_->mask].shape[1];
  impl_->tokens = 0;
  for (const LengthGroup& group : groups_of_lengths(*lengths, step, own.lowest, padded)) {
    if (const Status done = impl_->run_group(inputs, outputs, group, *lengths); !done) return done;
    impl_->tokens += std::ssize(group.sequences) * group.length;
  }
  return ok_status();
}

}  // namespace octavo::v1
