// Copies of functions' nodes with other names. Part of import/.
#include "import/onnx/functions.h"

#include <google/protobuf/unknown_field_set.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "import/onnx/graph_walker.h"
#include "import/onnx/proto.h"

namespace octavo::onnx_import {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Key = std::pair<std::string, std::string>;   // domain, name
using Names = std::map<std::string, std::string>;  // of a function, by what they are called in it

constexpr int kMostFunctionNodes = 1 << 18;
constexpr std::size_t kMostNested = 100;

template <class Proto>
std::map<std::string, std::int64_t> opsets_of(const Proto& proto) {
  std::map<std::string, std::int64_t> opsets;
  for (const auto& import : proto.opset_import()) opsets[standard_domain(import.domain())] = import.version();
  return opsets;
}

// Attributes with defaults are a field that Debian's onnx does not know yet.
std::vector<onnx::AttributeProto> defaults_of(const onnx::FunctionProto& function) {
  constexpr int kAttributeProto = 11;
  std::vector<onnx::AttributeProto> defaults;
  const auto& unknown = function.GetReflection()->GetUnknownFields(function);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != kAttributeProto || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    onnx::AttributeProto attribute;
    if (attribute.ParseFromString(field.length_delimited())) defaults.push_back(std::move(attribute));
  }
  return defaults;
}

class Inliner {
 public:
  Inliner(onnx::ModelProto& model, importing::GraphBuilder& built) : model_(model), built_(built) {
    for (const auto& function : model.functions())
      functions_[{standard_domain(function.domain()), function.name()}] = &function;
  }

  void run() {
    if (functions_.empty()) return;
    const auto opsets = opsets_of(model_);
    for (const auto& [key, function] : functions_) {
      for (const auto& [domain, version] : opsets_of(*function)) {
        const auto own = opsets.find(domain);
        if (own != opsets.end() && own->second != version && !functions_of(domain))
          built_.report(ErrorKind::unsupported, "function '" + key.second + "'", "opset " + std::to_string(version),
                        std::to_string(own->second) + ", that of the model");
      }
    }
    if (built_.errors.empty()) expand(*model_.mutable_graph()->mutable_node());
  }

 private:
  // Whether a domain is one of functions: its version means nothing else.
  bool functions_of(const std::string& domain) const {
    const auto first = functions_.lower_bound({domain, ""});
    return first != functions_.end() && first->first.first == domain;
  }

  void expand(Nodes& nodes) {
    Nodes made;
    for (onnx::NodeProto& node : nodes) expand(node, made);
    nodes.Swap(&made);
  }

  void expand(onnx::NodeProto& node, Nodes& made) {
    if (built_.is_full() || is_over_) return;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node());
    }
    const Key key{standard_domain(node.domain()), node.op_type()};
    const auto function = functions_.find(key);
    if (function == functions_.end()) {
      count(1);
      *made.Add() = std::move(node);
      return;
    }
    if (active_.contains(key))
      return refuse(ErrorKind::invalid_input, "the function '" + key.second + "', which calls itself",
                    "functions without cycles");
    if (active_.size() >= kMostNested)
      return refuse(ErrorKind::unsupported, "functions that call each other more than 100 deep", "fewer");
    active_.insert(key);
    call(node, *function->second, made);
    active_.erase(key);
  }

  void refuse(ErrorKind kind, std::string found, std::string expected) {
    built_.report(kind, "", std::move(found), std::move(expected));
    is_over_ = true;
  }

  void count(int nodes) {
    nodes_ += nodes;
    if (nodes_ > kMostFunctionNodes && !is_over_)
      refuse(ErrorKind::unsupported, "functions that become more than " + std::to_string(kMostFunctionNodes) + " nodes",
             "fewer");
  }

  void call(const onnx::NodeProto& node, const onnx::FunctionProto& function, Nodes& made) {
    const std::string own = node.name().empty() ? function.name() : node.name();
    std::string prefix = own + "/";
    for (int i = 2; !prefixes_.insert(prefix).second; ++i) prefix = own + "#" + std::to_string(i) + "/";
    Names names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < node.input_size() ? node.input(i) : "";
    for (int i = 0; i < function.output_size(); ++i) {
      const bool is_wanted = i < node.output_size() && !node.output(i).empty();
      const std::string name = is_wanted ? node.output(i) : prefix + function.output(i);
      const auto [known, is_new] = names.emplace(function.output(i), name);
      if (!is_new && is_wanted) pass_on(known->second, name, made);
    }
    std::map<std::string, const onnx::AttributeProto*> given;
    const std::vector<onnx::AttributeProto> standard = defaults_of(function);
    for (const auto& attribute : standard) given[attribute.name()] = &attribute;
    for (const auto& attribute : node.attribute()) given[attribute.name()] = &attribute;
    for (const auto& inner : function.node()) {
      onnx::NodeProto copy = inner;
      rename(copy, names, prefix);
      set_attributes(copy, given);
      expand(copy, made);
    }
  }

  // An input of a function that is its output.
  static void pass_on(const std::string& from, const std::string& to, Nodes& made) {
    onnx::NodeProto& node = *made.Add();
    node.set_op_type("Identity");
    node.add_input(from);
    node.add_output(to);
  }

  static std::string& named(const std::string& name, Names& names, const std::string& prefix) {
    return names.emplace(name, name.empty() ? "" : prefix + name).first->second;
  }

  static void rename(onnx::NodeProto& node, Names& names, const std::string& prefix) {
    node.set_name(prefix + node.name());
    for (std::string& input : *node.mutable_input()) input = named(input, names, prefix);
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename(*attribute.mutable_g(), names, prefix);
    }
    for (std::string& output : *node.mutable_output()) output = named(output, names, prefix);
  }

  // Its own names end with it.
  static void rename(onnx::GraphProto& graph, Names names, const std::string& prefix) {
    for (auto& input : *graph.mutable_input()) input.set_name(named(input.name(), names, prefix));
    for (auto& tensor : *graph.mutable_initializer()) tensor.set_name(named(tensor.name(), names, prefix));
    for (auto& node : *graph.mutable_node()) rename(node, names, prefix);
    for (auto& output : *graph.mutable_output()) output.set_name(named(output.name(), names, prefix));
  }

  // Attributes that refer to one of the function have the call's, or the function's default; without either they are
  // left out.
  static void set_attributes(onnx::NodeProto& node, const std::map<std::string, const onnx::AttributeProto*>& given) {
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size() - 1; i >= 0; --i) {
      onnx::AttributeProto& attribute = *attributes.Mutable(i);
      if (attribute.has_g()) {
        for (auto& inner : *attribute.mutable_g()->mutable_node()) set_attributes(inner, given);
      }
      if (attribute.ref_attr_name().empty()) continue;
      const auto value = given.find(attribute.ref_attr_name());
      if (value == given.end()) {
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      const std::string name = attribute.name();
      attribute = *value->second;
      attribute.set_name(name);
    }
  }

  onnx::ModelProto& model_;
  importing::GraphBuilder& built_;
  std::map<Key, const onnx::FunctionProto*> functions_;
  std::set<Key> active_;
  std::set<std::string> prefixes_;
  int nodes_ = 0;
  bool is_over_ = false;
};

}  // namespace

void inline_functions(onnx::ModelProto& model, importing::GraphBuilder& built) { Inliner(model, built).run(); }

}  // namespace octavo::onnx_import
