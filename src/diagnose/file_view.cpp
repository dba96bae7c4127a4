// Reading a file of any format as a FileView: what the formats leave to be known of it. Part of diagnose/.
#include "diagnose/file_view.h"

#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "diagnose/census.h"

namespace octavo::diagnose {
namespace {

constexpr std::array<std::string_view, 6> kDialectNames = {"fp32",    "QDQ",          "QOperator",
                                                           "dynamic", "full integer", "dynamic range"};
constexpr std::array<std::string_view, 23> kKindNames = {"convolution",
                                                         "depthwise convolution",
                                                         "transposed convolution",
                                                         "matrix product",
                                                         "quantize",
                                                         "dequantize",
                                                         "dynamic quantize",
                                                         "batch norm",
                                                         "relu or clip",
                                                         "sigmoid",
                                                         "function",
                                                         "add",
                                                         "mul",
                                                         "average",
                                                         "max pool",
                                                         "resize",
                                                         "concat",
                                                         "movement",
                                                         "softmax",
                                                         "norm",
                                                         "recurrent",
                                                         "cast",
                                                         "other"};
static_assert(kKindNames.size() == static_cast<std::size_t>(Kind::other) + 1);

// ---- shapes ----

void take_shape(ViewTensor& tensor, const Fact& fact) {
  if (!tensor.dtype) tensor.dtype = fact.dtype;
  if (tensor.shape) return;
  std::vector<std::int64_t> extents;
  for (const Dim& dim : fact.shape) extents.push_back(dim.example());
  tensor.shape = std::move(extents);
}

// What the importer infers, by the tensors' names. A file that it refuses has the shapes that it states itself.
void infer_shapes(FileView& view, const ViewOptions& options) {
  const bool is_known = std::ranges::all_of(view.tensors, [](const ViewTensor& t) { return t.shape && t.dtype; });
  if (is_known) return;
  const auto imported = import_model(view.path, {.batch = options.batch, .dequantizes_dynamic = true});
  if (!imported) {
    view.unresolved.push_back("shapes beyond those that the file states: Octavo does not read it (" +
                              imported.errors().front().message() + ")");
    return;
  }
  const auto take = [&](const Graph& graph) {
    for (int i = 0; i < graph.value_count(); ++i) {
      const Value& value = graph.value({i});
      const int tensor = view.find_tensor(value.name);
      if (tensor >= 0) take_shape(view.tensors[static_cast<std::size_t>(tensor)], value.fact);
    }
  };
  take(imported->graph);
  if (!imported->program) return;
  for (const Graph& network : imported->program->networks) take(network);
}

bool keeps_shape(Kind kind) {
  switch (kind) {
    case Kind::quantize:
    case Kind::dequantize:
    case Kind::batch_norm:
    case Kind::relu:
    case Kind::sigmoid:
    case Kind::function:
    case Kind::softmax:
    case Kind::norm:
    case Kind::cast: return true;
    default: return false;
  }
}

// Across nodes that keep shapes, both ways, until nothing more is known.
void spread_shapes(FileView& view) {
  for (bool changed = true; changed;) {
    changed = false;
    for (const ViewNode& node : view.nodes) {
      const int from = view.input(node, 0), to = view.output(node);
      if (!keeps_shape(node.kind) || from < 0 || to < 0) continue;
      auto &a = view.tensors[static_cast<std::size_t>(from)].shape,
           &b = view.tensors[static_cast<std::size_t>(to)].shape;
      if (a.has_value() == b.has_value()) continue;
      (a ? b : a) = a ? a : b;
      changed = true;
    }
  }
}

// ---- what the file is ----

bool is_integer_type(std::optional<DType> type) { return type == DType::s8 || type == DType::u8 || type == DType::s16; }

void settle_kinds(FileView& view) {
  for (ViewNode& node : view.nodes) {
    node.kind = kind_of_operator(view.format, node.op);
    const int weights = view.input(node, 1), result = view.output(node);
    if (node.kind == Kind::conv && weights >= 0 && result >= 0) {
      const int at = node.op == "QLinearConv" ? view.input(node, 3) : weights;
      const std::int64_t groups = node.integer(view.format == FileFormat::zip ? "groups" : "group", 1);
      const auto& shape = at >= 0 ? view.tensor(at).shape : std::nullopt;
      // One channel in each group; the weights' second axis is channels of a group.
      if (groups > 1 && shape && shape->size() > 1 && (*shape)[1] == 1) node.kind = Kind::depthwise_conv;
    }
    if (view.format == FileFormat::tflite && node.kind != Kind::quantize && node.kind != Kind::dequantize)
      node.is_integer = result >= 0 && is_integer_type(view.tensor(result).dtype) && view.tensor(result).quant;
    if (view.format == FileFormat::onnx)
      node.is_integer = (node.op.starts_with("QLinear") || node.op == "QGemm" || node.op.ends_with("Integer"));
  }
}

Dialect dialect_of(const FileView& view) {
  bool has_pairs = false, has_weights = false, has_integer = false, has_dynamic = false;
  for (const ViewNode& node : view.nodes) {
    const int x = view.input(node, 0);
    if (node.kind == Kind::dequantize && x >= 0) {
      const bool is_weight = view.tensor(x).is_constant || view.producer_if(x, Kind::quantize) < 0;
      (is_weight ? has_weights : has_pairs) = true;
    }
    has_dynamic = has_dynamic || node.kind == Kind::dynamic_quantize || node.op.ends_with("Integer");
    has_integer = has_integer || (node.is_integer && !node.op.ends_with("Integer"));
    const int weights = view.input(node, 1);
    if (view.format == FileFormat::tflite && is_product(node.kind) && weights >= 0)
      has_weights = has_weights || (is_integer_type(view.tensor(weights).dtype) && !node.is_integer);
  }
  if (view.format == FileFormat::tflite)
    return has_integer ? Dialect::full_integer : has_weights ? Dialect::dynamic_range : Dialect::fp32;
  if (has_integer) return Dialect::qoperator;
  if (has_pairs) return Dialect::qdq;
  return has_dynamic || has_weights ? Dialect::dynamic : Dialect::fp32;
}

}  // namespace

std::string_view name_of(Dialect dialect) { return kDialectNames[static_cast<std::size_t>(dialect)]; }
std::string_view name_of(Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

std::int64_t ViewNode::integer(const std::string& attribute, std::int64_t otherwise) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return otherwise;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? otherwise : *value;
}

std::string ViewNode::text(const std::string& attribute) const {
  const auto found = attributes.find(attribute);
  if (found == attributes.end()) return {};
  const auto* value = std::get_if<std::string>(&found->second);
  return value == nullptr ? std::string() : *value;
}

std::int64_t ViewTensor::elements() const {
  constexpr std::int64_t kMost = std::int64_t{1} << 56;  // of broken files more
  if (!shape) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : *shape) {
    if (extent < 0 || (extent > 0 && count > kMost / extent)) return 0;
    count *= extent;
  }
  return count;
}

std::int64_t ViewTensor::bytes() const { return dtype ? elements() * static_cast<std::int64_t>(size_of(*dtype)) : 0; }

std::string_view FileView::format_name() const {
  switch (format) {
    case FileFormat::onnx: return "ONNX";
    case FileFormat::tflite: return "TFLite";
    default: return "PyTorch export";
  }
}

std::optional<Tensor> FileView::values(int index) const {
  if (index < 0 || !tensor(index).is_constant || !read) return {};
  return read(tensor(index));
}

int FileView::producer_if(int index, Kind kind) const {
  if (index < 0) return -1;
  const int maker = tensor(index).producer;
  return maker >= 0 && node(maker).kind == kind ? maker : -1;
}

std::string short_name(const std::string& name) {
  constexpr std::size_t kMost = 48;
  const std::string first = name.substr(0, name.find(';'));
  return first.size() <= kMost ? first : "..." + first.substr(first.size() - kMost + 3);
}

int FileView::input(const ViewNode& node, std::size_t index) const {
  return index < node.inputs.size() ? node.inputs[index] : -1;
}

int FileView::output(const ViewNode& node) const { return node.outputs.empty() ? -1 : node.outputs[0]; }

int FileView::find_tensor(std::string_view name) const {
  const auto found = indices_.find(name);
  return found == indices_.end() ? -1 : found->second;
}

int FileView::tensor_named(const std::string& name) {
  const auto [found, is_new] = indices_.emplace(name, static_cast<int>(tensors.size()));
  if (is_new) tensors.push_back({.name = name});
  return found->second;
}

void FileView::connect() {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const int index = static_cast<int>(i);
    for (const int output : nodes[i].outputs) {
      if (output >= 0) tensors[static_cast<std::size_t>(output)].producer = index;
    }
    for (const int input : nodes[i].inputs) {
      if (input < 0) continue;
      auto& readers = tensors[static_cast<std::size_t>(input)].readers;
      if (readers.empty() || readers.back() != index) readers.push_back(index);
    }
  }
}

Result<FileView> read_file_view(const std::string& path, const ViewOptions& options) {
  const auto format = format_of_file(path);
  if (!format) return format.errors();
  if (*format == FileFormat::artifact || *format == FileFormat::unknown)
    return Error{
        .kind = *format == FileFormat::artifact ? ErrorKind::usage : ErrorKind::invalid_input,
        .where = path,
        .found = *format == FileFormat::artifact ? "a model that Octavo has compiled" : "content of no known kind",
        .expected = "an ONNX or TFLite model or an exported PyTorch program"};
  auto view = *format == FileFormat::onnx     ? view_of_onnx(path)
              : *format == FileFormat::tflite ? view_of_tflite(path)
                                              : view_of_pt2(path);
  if (!view) return view;
  view->path = path;
  view->format = *format;
  view->connect();
  settle_kinds(*view);
  infer_shapes(*view, options);
  spread_shapes(*view);
  settle_kinds(*view);  // depthwise ones by shapes that were inferred
  view->dialect = dialect_of(*view);
  view->weights = sight::all_weights(*view);
  return view;
}

}  // namespace octavo::diagnose
