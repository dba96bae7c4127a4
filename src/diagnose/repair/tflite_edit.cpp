// What repairs ask of a TFLite file and change in it. Part of diagnose/.
#include "diagnose/repair/tflite_edit.h"

#include <algorithm>

#include "import/tflite/file_tensor.h"

namespace octavo::repair {
namespace {

namespace file = tflite_import::file;

std::vector<int> read_indices(const flatbuffers::Vector<std::int32_t>* indices, std::size_t tensors) {
  std::vector<int> read;
  for (flatbuffers::uoffset_t i = 0; indices != nullptr && i < indices->size(); ++i) {
    const std::int32_t index = indices->Get(i);
    read.push_back(index < 0 || static_cast<std::size_t>(index) >= tensors ? -1 : index);
  }
  return read;
}

TfliteOp read_op(const file::Model& model, const file::Operator& op, int number, std::size_t tensors) {
  TfliteOp read{.code = -1,
                .inputs = read_indices(op.inputs(), tensors),
                .outputs = read_indices(op.outputs(), tensors),
                .like = number};
  const auto* codes = model.operator_codes();
  if (codes == nullptr || op.opcode_index() >= codes->size()) return read;
  const file::OperatorCode& code = *codes->Get(op.opcode_index());
  read.code = std::max<int>(code.deprecated_builtin_code(), static_cast<int>(code.builtin_code()));
  read.version = code.version();
  return read;
}

}  // namespace

bool is_product(const TfliteOp& op) {
  return op.code == kConv || op.code == kDepthwiseConv || op.code == kFullyConnected || op.code == kTransposeConv;
}
std::size_t data_index(const TfliteOp& op) { return op.code == kTransposeConv ? 2 : 0; }
std::size_t bias_index(const TfliteOp& op) { return op.code == kTransposeConv ? 3 : 2; }
int channel_axis(const TfliteOp& op, const Shape& weights) {
  return op.code == kDepthwiseConv ? weights.rank() - 1 : 0;
}

Result<TfliteEdit> TfliteEdit::of(const std::string& bytes, const std::string& file) {
  auto model = tflite_import::parse_model_bytes(std::as_bytes(std::span(bytes)), file);
  if (!model) return model.errors();
  const auto* graphs = model->model->subgraphs();
  if (graphs == nullptr || graphs->size() == 0)
    return Error{.kind = ErrorKind::invalid_input, .where = file, .found = "no subgraph", .expected = "one"};
  constexpr std::size_t kRoom = std::size_t{1} << 24;  // for what is new
  if (bytes.size() > FLATBUFFERS_MAX_BUFFER_SIZE - kRoom) {
    return Error{.kind = ErrorKind::unsupported,
                 .where = file,
                 .found = std::to_string(bytes.size()) + " bytes",
                 .expected = "less than 2 GiB, for repairs"};
  }
  TfliteEdit edit;
  edit.bytes_ = bytes;
  edit.file_ = file;
  const file::SubGraph& graph = *graphs->Get(0);
  Errors errors;
  const auto tensors = tflite_import::read_tensors(*model, graph, file, errors);
  if (!errors.empty()) return errors;
  for (const tflite_import::FileTensor& tensor : tensors)
    edit.tensors_.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.quant, tensor.constant});
  edit.file_tensors_ = edit.tensors_.size();
  edit.inputs_ = read_indices(graph.inputs(), edit.file_tensors_);
  edit.outputs_ = read_indices(graph.outputs(), edit.file_tensors_);
  for (flatbuffers::uoffset_t i = 0; graph.operators() != nullptr && i < graph.operators()->size(); ++i)
    edit.file_ops_.push_back(
        read_op(*model->model, *graph.operators()->Get(i), static_cast<int>(i), edit.file_tensors_));
  edit.ops = edit.file_ops_;
  edit.model_ = *std::move(model);
  return edit;
}

bool TfliteEdit::is_output(int index) const { return std::ranges::find(outputs_, index) != outputs_.end(); }

int TfliteEdit::add_like(int index, DType dtype, std::optional<QuantParams> quant, const std::string& suffix) {
  const TfliteTensor& other = tensor(index);
  tensors_.push_back({.name = other.name + suffix,
                      .dtype = dtype,
                      .shape = other.shape,
                      .quant = std::move(quant),
                      .constant = {},
                      .like = other.like >= 0 ? other.like : index});
  return tensor_count() - 1;
}

int TfliteEdit::add_constant(std::string name, Tensor value, std::optional<QuantParams> quant) {
  tensors_.push_back({.name = std::move(name),
                      .dtype = value.dtype(),
                      .shape = value.shape(),
                      .quant = std::move(quant),
                      .constant = std::make_shared<const Tensor>(std::move(value))});
  return tensor_count() - 1;
}

TfliteEdit::Links TfliteEdit::links() const {
  Links links{std::vector<int>(tensors_.size(), -1), std::vector<std::vector<int>>(tensors_.size())};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    for (const int tensor : ops[i].outputs) {
      if (tensor >= 0) links.writer[static_cast<std::size_t>(tensor)] = static_cast<int>(i);
    }
    for (const int tensor : ops[i].inputs) {
      if (tensor >= 0) links.readers[static_cast<std::size_t>(tensor)].push_back(static_cast<int>(i));
    }
  }
  return links;
}

void TfliteEdit::drop_unread_conversions() {
  const auto is_unread = [&](const Links& links, const TfliteOp& op) {
    if ((op.code != kQuantize && op.code != kDequantize) || op.outputs.size() != 1) return false;
    return links.readers[static_cast<std::size_t>(op.outputs[0])].empty() && !is_output(op.outputs[0]);
  };
  while (true) {
    const Links known = links();
    if (std::erase_if(ops, [&](const TfliteOp& op) { return is_unread(known, op); }) == 0) return;
  }
}

}  // namespace octavo::repair
