// An exported PyTorch program as a FileView. Part of diagnose/.
#include <algorithm>

#include "diagnose/file_view.h"
#include "import/pt2/archive.h"
#include "import/pt2/container.h"
#include "import/pt2/types.h"

namespace octavo::diagnose {
namespace {

using pt2_import::Archive;
using pt2_import::Argument;
using pt2_import::Container;
using pt2_import::InputKind;
using pt2_import::NamedArgument;
using pt2_import::ProgramDim;
using pt2_import::ProgramInput;
using pt2_import::ProgramNode;
using pt2_import::SymInt;
using pt2_import::TensorName;
using pt2_import::TensorNames;
using pt2_import::TypeNumber;

struct Pt2Parsed {
  Archive archive;
  std::optional<Container> container;          // refers to the archive
  std::map<std::string, std::string> sources;  // of constants, by their names in the graph
};

// Numbers, strings and lists of numbers that an operator is given.
std::optional<ViewAttribute> pt2_value_of(const Argument& argument) {
  if (const auto* number = std::get_if<SymInt>(&argument))
    return number->name.empty() ? std::optional<ViewAttribute>(number->value) : std::nullopt;
  if (const auto* real = std::get_if<double>(&argument)) return *real;
  if (const auto* reals = std::get_if<std::vector<double>>(&argument)) return *reals;
  if (const auto* truth = std::get_if<bool>(&argument)) return static_cast<std::int64_t>(*truth);
  if (const auto* text = std::get_if<std::string>(&argument)) return *text;
  if (const auto* type = std::get_if<TypeNumber>(&argument)) return type->type;
  if (const auto* numbers = std::get_if<std::vector<SymInt>>(&argument)) {
    std::vector<std::int64_t> values;
    for (const SymInt& number : *numbers) {
      if (!number.name.empty()) return {};
      values.push_back(number.value);
    }
    return values;
  }
  return {};
}

class Pt2Reader {
 public:
  Pt2Reader(const pt2_import::Program& program, FileView& view) : program_(program), view_(view) {}

  void run() {
    view_.producer = "PyTorch " + program_.torch_version;
    for (const ProgramInput& input : program_.inputs) {
      const int index = tensor(input.name);
      ViewTensor& made = view_.tensors[static_cast<std::size_t>(index)];
      made.is_input = input.kind == InputKind::user;
      made.is_constant = !made.is_input;
      if (made.is_input) view_.inputs.push_back(index);
    }
    for (const ProgramNode& node : program_.nodes) add_node(node);
    for (const std::string& output : program_.outputs) {
      view_.outputs.push_back(tensor(output));
      view_.tensors[static_cast<std::size_t>(view_.outputs.back())].is_output = true;
    }
    for (const ViewNode& node : view_.nodes) add_scales(node);
  }

 private:
  int tensor(const std::string& name) {
    const int index = view_.tensor_named(name);
    ViewTensor& made = view_.tensors[static_cast<std::size_t>(index)];
    const auto meta = program_.tensors.find(name);
    if (made.dtype || meta == program_.tensors.end()) return index;
    made.dtype = pt2_import::dtype_of_torch(meta->second.type);
    std::vector<std::int64_t> shape;
    for (const ProgramDim& dim : meta->second.sizes) {
      if (!dim.expression.empty()) return index;
      shape.push_back(dim.value);
    }
    made.shape = std::move(shape);
    return index;
  }

  void add_node(const ProgramNode& node) {
    ViewNode made{.name = node.name, .op = node.target};
    if (!node.source_line.empty()) made.attributes["source_line"] = node.source_line;
    for (const NamedArgument& input : node.inputs) {
      if (const auto* one = std::get_if<TensorName>(&input.value)) made.inputs.push_back(tensor(one->name));
      if (const auto* list = std::get_if<TensorNames>(&input.value)) {
        for (const auto& item : *list) made.inputs.push_back(item ? tensor(item->name) : -1);
      }
      if (auto value = pt2_value_of(input.value)) made.attributes.emplace(input.name, *std::move(value));
    }
    for (const std::string& output : node.outputs) made.outputs.push_back(output.empty() ? -1 : tensor(output));
    view_.nodes.push_back(std::move(made));
  }

  void add_scales(const ViewNode& node) {
    const Kind kind = kind_of_operator(FileFormat::zip, node.op);
    if (kind != Kind::quantize && kind != Kind::dequantize) return;
    const int at = kind == Kind::quantize ? view_.output(node) : view_.input(node, 0);
    if (at < 0) return;
    QuantParams quant;
    const auto scale = node.attributes.find("scale");
    if (scale != node.attributes.end()) {
      const auto* number = std::get_if<double>(&scale->second);
      if (number == nullptr) return;
      quant.scale = {static_cast<float>(*number)};
      quant.zero_point = {static_cast<std::int32_t>(node.integer("zero_point", 0))};
    } else {
      const auto scales = view_.values(view_.input(node, 1)), zeros = view_.values(view_.input(node, 2));
      if (!scales) return;
      quant.scale = to_floats(scales->view());
      if (zeros) {
        for (const std::int64_t zero : to_int64s(zeros->view()))
          quant.zero_point.push_back(static_cast<std::int32_t>(zero));
      }
      quant.zero_point.resize(quant.scale.size());
      if (quant.scale.size() > 1) quant.axis = static_cast<int>(node.integer("axis", 0));
    }
    view_.tensors[static_cast<std::size_t>(at)].quant = std::move(quant);
  }

  const pt2_import::Program& program_;
  FileView& view_;
};

}  // namespace

Result<FileView> view_of_pt2(const std::string& path) {
  auto archive = Archive::open(path);
  if (!archive) return archive.errors();
  const auto parsed =
      std::make_shared<Pt2Parsed>(Pt2Parsed{.archive = *std::move(archive), .container = {}, .sources = {}});
  auto container = read_container(parsed->archive);
  if (!container) return container.errors();
  parsed->container.emplace(*std::move(container));
  for (const ProgramInput& input : parsed->container->program.inputs) parsed->sources[input.name] = input.source;
  FileView view{};
  view.read = [parsed](const ViewTensor& tensor) -> std::optional<Tensor> {
    const auto source = parsed->sources.find(tensor.name);
    if (source == parsed->sources.end()) return {};
    auto data = parsed->container->weights.read(source->second);
    return data ? std::optional(*std::move(data)) : std::nullopt;
  };
  Pt2Reader(parsed->container->program, view).run();
  return view;
}

}  // namespace octavo::diagnose
