// The JSON of torch.export, schema 8. Part of import/.
#include "import/pt2/program.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

namespace octavo::pt2_import {
namespace {

template <class T, class Read>
std::vector<T> list_of(const JsonPlace& place, Read read) {
  std::vector<T> items;
  place.for_each_item([&](const JsonPlace& item) { items.push_back(read(item)); });
  return items;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
                              std::string_view::npos;
}

// "Symbol('s77', positive=True, integer=True)" is the symbol s77; other expressions stay as they are.
std::string symbol_or_expression(const std::string& expression) {
  constexpr std::string_view kBegin = "Symbol('";
  if (expression.compare(0, kBegin.size(), kBegin) != 0) return expression;
  const std::size_t end = expression.find('\'', kBegin.size());
  if (end == std::string::npos || expression.find(')') != expression.size() - 1) return expression;
  const std::string name = expression.substr(kBegin.size(), end - kBegin.size());
  return is_identifier(name) ? name : expression;
}

// {"as_int": 3} or {"as_expr": {"expr_str": "..."}}.
ProgramDim read_dim(const JsonPlace& place) {
  const std::string kind = place.only_key();
  if (kind == "as_int") return {place.member(kind).integer(), ""};
  if (kind == "as_expr") {
    const std::string expression = place.member(kind).member("expr_str").text();
    return {0, expression.empty() ? "?" : symbol_or_expression(expression)};
  }
  if (!kind.empty()) place.fail("'" + kind + "'", "as_int or as_expr");
  return {};
}

SymInt read_sym_int(const JsonPlace& place) {
  const std::string kind = place.only_key();
  if (kind == "as_int") return {place.member(kind).integer(), ""};
  if (kind == "as_name") return {0, place.member(kind).text()};
  if (!kind.empty()) place.fail("'" + kind + "'", "as_int or as_name");
  return {};
}

TensorName read_tensor_name(const JsonPlace& place) { return {place.member("name").text()}; }

std::optional<TensorName> read_optional_tensor(const JsonPlace& place) {
  const std::string kind = place.only_key();
  if (kind == "as_tensor") return read_tensor_name(place.member(kind));
  if (kind != "as_none" && !kind.empty()) place.fail("'" + kind + "'", "as_tensor or as_none");
  return std::nullopt;
}

SymInt plain_integer(const JsonPlace& place) { return {place.integer(), ""}; }

Argument optional_as_argument(const std::optional<TensorName>& tensor) {
  return tensor ? Argument(*tensor) : Argument(NoArgument{});
}

Argument read_argument(const JsonPlace& place) {
  using Read = Argument (*)(const JsonPlace&);
  static const std::map<std::string, Read, std::less<>> kReaders = {
      {"as_bool", [](const JsonPlace& p) -> Argument { return p.boolean(); }},
      {"as_bools",
       [](const JsonPlace& p) -> Argument { return list_of<bool>(p, [](const JsonPlace& i) { return i.boolean(); }); }},
      {"as_float", [](const JsonPlace& p) -> Argument { return p.number(); }},
      {"as_floats",
       [](const JsonPlace& p) -> Argument {
         return list_of<double>(p, [](const JsonPlace& i) { return i.number(); });
       }},
      {"as_int", [](const JsonPlace& p) -> Argument { return plain_integer(p); }},
      {"as_ints", [](const JsonPlace& p) -> Argument { return list_of<SymInt>(p, plain_integer); }},
      {"as_none", [](const JsonPlace&) -> Argument { return NoArgument{}; }},
      {"as_optional_tensor",
       [](const JsonPlace& p) -> Argument { return optional_as_argument(read_optional_tensor(p)); }},
      {"as_optional_tensors",
       [](const JsonPlace& p) -> Argument { return list_of<std::optional<TensorName>>(p, read_optional_tensor); }},
      {"as_scalar_type", [](const JsonPlace& p) -> Argument { return TypeNumber{p.integer()}; }},
      {"as_string", [](const JsonPlace& p) -> Argument { return p.text(); }},
      {"as_sym_int", [](const JsonPlace& p) -> Argument { return read_sym_int(p); }},
      {"as_sym_ints", [](const JsonPlace& p) -> Argument { return list_of<SymInt>(p, read_sym_int); }},
      {"as_tensor", [](const JsonPlace& p) -> Argument { return read_tensor_name(p); }},
      {"as_tensors",
       [](const JsonPlace& p) -> Argument {
         return list_of<std::optional<TensorName>>(
             p, [](const JsonPlace& i) { return std::optional(read_tensor_name(i)); });
       }},
  };
  const std::string kind = place.only_key();
  const auto reader = kReaders.find(kind);
  return reader == kReaders.end() ? OtherArgument{kind} : reader->second(place.member(kind));
}

// The names that a node's result goes by.
void add_outputs(const JsonPlace& place, std::vector<std::string>& names) {
  const Argument output = read_argument(place);
  if (const auto* tensor = std::get_if<TensorName>(&output)) names.push_back(tensor->name);
  else if (const auto* size = std::get_if<SymInt>(&output)) names.push_back(size->name);
  else if (std::holds_alternative<NoArgument>(output)) names.emplace_back();
  else if (const auto* tensors = std::get_if<TensorNames>(&output)) {
    for (const auto& one : *tensors) names.push_back(one ? one->name : "");
  } else if (place.has("as_sym_bool") || place.has("as_sym_float")) {
    names.emplace_back();  // of a check; nothing that we read takes one
  } else {
    place.fail("'" + place.only_key() + "'", "tensors or sizes");
  }
}

// The last "File "net.py", line 12" of a Python stack trace.
std::string innermost_line(const std::string& trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  const std::size_t begin = trace.rfind(kFile);
  const std::size_t end = begin == std::string::npos ? begin : trace.find(kLine, begin);
  if (end == std::string::npos) return {};
  const std::string path = trace.substr(begin + kFile.size(), end - begin - kFile.size());
  const std::size_t digits = end + kLine.size();
  const std::size_t after = trace.find_first_not_of("0123456789", digits);
  return path.substr(path.rfind('/') + 1) + ":" +
         trace.substr(digits, after == std::string::npos ? after : after - digits);
}

ProgramNode read_node(const JsonPlace& place) {
  constexpr std::string_view kPrefix = "torch.ops.";
  ProgramNode node;
  node.target = place.member("target").text();
  if (node.target.compare(0, kPrefix.size(), kPrefix) == 0) node.target.erase(0, kPrefix.size());
  place.member("inputs").for_each_item([&](const JsonPlace& item) {
    node.inputs.push_back({item.member("name").text(), read_argument(item.member("arg"))});
  });
  place.member("outputs").for_each_item([&](const JsonPlace& item) { add_outputs(item, node.outputs); });
  if (place.has("name")) node.name = place.member("name").text();
  if (node.name.empty() && !node.outputs.empty()) node.name = node.outputs.front();
  if (!place.has("metadata")) return node;
  const JsonPlace metadata = place.member("metadata");
  if (metadata.has("stack_trace")) node.source_line = innermost_line(metadata.member("stack_trace").text());
  return node;
}

// An operator that runs a graph which is its nodes alone in inference: where the graph stands among the arguments, and
// a flag that has to be false. What the graph gets follows it.
struct Wrapper {
  std::string_view target;
  std::size_t graph;
  std::optional<std::size_t> flag = std::nullopt;
};
constexpr Wrapper kWrappers[] = {
    {.target = "higher_order.wrap_with_autocast", .graph = 4, .flag = 2},
    {.target = "higher_order.wrap_with_set_grad_enabled", .graph = 1},
};

const Wrapper* wrapper_of(const ProgramNode& node) {
  for (const Wrapper& wrapper : kWrappers) {
    if (node.target != wrapper.target || node.inputs.size() <= wrapper.graph) continue;
    const auto* flag = wrapper.flag ? std::get_if<bool>(&node.inputs[*wrapper.flag].value) : nullptr;
    const auto* graph = std::get_if<OtherArgument>(&node.inputs[wrapper.graph].value);
    const bool is_off = !wrapper.flag || (flag != nullptr && !*flag);
    if (is_off && graph != nullptr && graph->kind == "as_graph") return &wrapper;
  }
  return nullptr;
}

// What the names of a graph are called in the program.
struct GraphNames {
  std::string prefix;                        // of what it makes
  std::map<std::string, std::string> given;  // what it gets

  std::string operator()(const std::string& name) const {
    const auto found = given.find(name);
    return found != given.end() ? found->second : name.empty() ? name : prefix + name;
  }
  void rename(Argument& argument) const {
    if (auto* tensor = std::get_if<TensorName>(&argument)) tensor->name = (*this)(tensor->name);
    if (auto* size = std::get_if<SymInt>(&argument)) size->name = (*this)(size->name);
    if (auto* tensors = std::get_if<TensorNames>(&argument)) {
      for (auto& tensor : *tensors) {
        if (tensor) tensor->name = (*this)(tensor->name);
      }
    }
    if (auto* sizes = std::get_if<std::vector<SymInt>>(&argument)) {
      for (SymInt& size : *sizes) size.name = (*this)(size.name);
    }
  }
};

// Of a tensor or a size; empty for anything else.
std::string name_of(const Argument& argument) {
  const auto* tensor = std::get_if<TensorName>(&argument);
  const auto* size = std::get_if<SymInt>(&argument);
  return tensor != nullptr ? tensor->name : size != nullptr ? size->name : "";
}

// The nodes of all graphs of a program in the order in which they run: those of an inner graph stand where it is
// called.
class InlinedGraphs {
 public:
  explicit InlinedGraphs(Program& program) : program_(program) {}

  void add(const JsonPlace& graph, const GraphNames& names) {
    graph.member("tensor_values").for_each_member([&](const std::string& name, const JsonPlace& meta) {
      program_.tensors.emplace(names(name), read_tensor_meta(meta));
    });
    graph.member("nodes").for_each_item([&](const JsonPlace& place) {
      ProgramNode node = read_node(place);
      for (NamedArgument& input : node.inputs) names.rename(input.value);
      for (std::string& output : node.outputs) output = names(output);
      if (const Wrapper* wrapper = wrapper_of(node)) call(place, node, *wrapper);
      else program_.nodes.push_back(std::move(node));
    });
  }

 private:
  void call(const JsonPlace& place, const ProgramNode& node, const Wrapper& wrapper) {
    std::vector<JsonPlace> arguments;
    place.member("inputs").for_each_item([&](const JsonPlace& item) { arguments.push_back(item.member("arg")); });
    const JsonPlace graph = arguments[wrapper.graph].member("as_graph").member("graph");
    GraphNames names{.prefix = "inner" + std::to_string(++calls_) + ".", .given = {}};
    std::size_t next = wrapper.graph + 1;
    graph.member("inputs").for_each_item([&](const JsonPlace& item) {
      const std::string inner = name_of(read_argument(item));
      const std::string outer = next < node.inputs.size() ? name_of(node.inputs[next++].value) : "";
      if (inner.empty() || outer.empty()) return item.unsupported("what is no tensor or size of its caller", "one");
      names.given[inner] = outer;
    });
    add(graph, names);
    std::size_t made = 0;
    graph.member("outputs").for_each_item([&](const JsonPlace& item) {
      Argument result = read_argument(item);
      if (made >= node.outputs.size() || !std::holds_alternative<TensorName>(result))
        return item.unsupported("a result that is no tensor of its caller", "one");
      names.rename(result);
      const std::string& name = node.outputs[made++];
      program_.nodes.push_back({name, "aten.alias.default", node.source_line, {{"self", std::move(result)}}, {name}});
    });
  }

  Program& program_;
  int calls_ = 0;
};

std::optional<ProgramInput> read_input(const JsonPlace& place) {
  const std::string kind = place.only_key();
  if (kind.empty() || kind == "constant_input") return std::nullopt;  // a number that the program was specialised for
  const JsonPlace spec = place.member(kind);
  if (kind == "user_input") {
    const Argument argument = read_argument(spec.member("arg"));
    if (const auto* tensor = std::get_if<TensorName>(&argument)) return ProgramInput{InputKind::user, tensor->name, ""};
    if (!std::holds_alternative<NoArgument>(argument)) spec.unsupported("an input that is no tensor", "tensors");
    return std::nullopt;
  }
  const auto stored = [&](InputKind stored_kind, std::string_view key) {
    return ProgramInput{stored_kind, spec.member("arg").member("name").text(), spec.member(key).text()};
  };
  if (kind == "parameter") return stored(InputKind::parameter, "parameter_name");
  if (kind == "buffer") return stored(InputKind::buffer, "buffer_name");
  if (kind == "tensor_constant") return stored(InputKind::constant, "tensor_constant_name");
  place.unsupported("an input of kind '" + kind + "'", "tensors");
  return std::nullopt;
}

std::optional<std::string> read_output(const JsonPlace& place) {
  const std::string kind = place.only_key();
  if (kind.empty()) return std::nullopt;
  if (kind != "user_output") {
    place.unsupported("an output of kind '" + kind + "'",
                      "what the program returns; export the model in evaluation mode");
    return std::nullopt;
  }
  const Argument argument = read_argument(place.member(kind).member("arg"));
  if (const auto* tensor = std::get_if<TensorName>(&argument)) return tensor->name;
  if (!std::holds_alternative<NoArgument>(argument)) place.unsupported("an output that is no tensor", "tensors");
  return std::nullopt;
}

SymbolRange read_range(const JsonPlace& place) {
  SymbolRange range;
  if (place.has("min_val")) range.lowest = place.member("min_val").integer();
  if (place.has("max_val")) range.highest = place.member("max_val").integer();
  return range;
}

void check_version(const JsonPlace& root, Errors& errors) {
  const JsonPlace version = root.member("schema_version");
  const std::int64_t major = version.member("major").integer(), minor = version.member("minor").integer();
  if (!errors.empty() || major == kSchemaMajor) return;
  errors.push_back({ErrorKind::unsupported, version.path(),
                    "schema " + std::to_string(major) + "." + std::to_string(minor),
                    "schema " + std::to_string(kSchemaMajor), "Export the model with a PyTorch of 2.6 or newer"});
}

}  // namespace

TensorMeta read_tensor_meta(const JsonPlace& place) {
  constexpr std::int64_t kStrided = 7;
  TensorMeta meta;
  meta.type = place.member("dtype").integer();
  meta.sizes = list_of<ProgramDim>(place.member("sizes"), read_dim);
  meta.strides = list_of<ProgramDim>(place.member("strides"), read_dim);
  meta.offset = read_dim(place.member("storage_offset"));
  const std::int64_t layout = place.member("layout").integer();
  if (layout != kStrided) place.unsupported("layout " + std::to_string(layout), "7, a strided one");
  return meta;
}

Result<Program> read_program(const Json& document, const std::string& where) {
  Errors errors;
  Program program;
  const JsonPlace root(document, where + ": program", errors);
  check_version(root, errors);
  if (!errors.empty()) return errors;
  if (root.has("torch_version")) program.torch_version = root.member("torch_version").text();
  root.member("range_constraints").for_each_member([&](const std::string& symbol, const JsonPlace& range) {
    program.ranges[symbol] = read_range(range);
  });
  const JsonPlace module = root.member("graph_module"), graph = module.member("graph"),
                  signature = module.member("signature");
  InlinedGraphs(program).add(graph, {});
  signature.member("input_specs").for_each_item([&](const JsonPlace& spec) {
    if (auto input = read_input(spec)) program.inputs.push_back(*std::move(input));
  });
  signature.member("output_specs").for_each_item([&](const JsonPlace& spec) {
    if (auto output = read_output(spec)) program.outputs.push_back(*std::move(output));
  });
  if (!errors.empty()) return errors;
  return program;
}

}  // namespace octavo::pt2_import
