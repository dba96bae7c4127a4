// ONNX Runtime's own file format (.ort) as an ONNX message. Part of import/.
#include "import/onnx/ort_format.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "import/onnx/ort_schema_generated.h"

namespace octavo::onnx_import {
namespace {

// Graph -> node -> attribute -> graph: as deep as a message of protobuf may nest, with the tables of a type below.
constexpr flatbuffers::uoffset_t kMostTableDepth = 64;
// A table has an offset that leads to it and one to its layout.
constexpr std::size_t kTableLimit = 4'000'000, kBytesOfTable = 8;
constexpr std::size_t kAlignment = 8;  // of what offsets lead to; memory of the heap has it
// Tables and strings may be named many times, which costs a hostile file little. Names are shared by who reads a value:
// an offset of 4 bytes each; data is not.
constexpr std::size_t kTextsPerByte = 64, kMostTexts = std::size_t{1} << 28;
constexpr std::string_view kVersions[] = {"1", "2", "3", "4", "5", "6"};

Error broken(const std::string& file, std::string found) {
  return {ErrorKind::invalid_input, file, std::move(found), "a model in ONNX Runtime's format (.ort)",
          "The file may be truncated or damaged"};
}

class Converter {
 public:
  Converter(const std::string& file, std::size_t bytes)
      : file_(file), data_left_(bytes), texts_left_(std::min(bytes * kTextsPerByte, bytes + kMostTexts)) {}

  Result<onnx::ModelProto> run(const ort::Model& from) {
    onnx::ModelProto to;
    to.set_ir_version(from.ir_version());
    to.set_producer_name(text(from.producer_name()));
    to.set_producer_version(text(from.producer_version()));
    each(from.opset_import(), [&](const ort::OperatorSetId& one) {
      auto& set = *to.add_opset_import();
      set.set_domain(text(one.domain()));
      set.set_version(one.version());
    });
    if (from.graph() == nullptr) return broken(file_, "no graph");
    graph(*from.graph(), *to.mutable_graph());
    if (error_) return *std::move(error_);
    return to;
  }

 private:
  // The tables of a list, until something is wrong.
  template <class List, class Take>
  void each(const List* list, const Take& take) {
    if (list == nullptr) return;
    for (flatbuffers::uoffset_t i = 0; i < list->size() && !error_; ++i) take(*list->Get(i));
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  void spend(std::size_t& left, std::size_t bytes) {
    if (bytes > left) fail(broken(file_, "more data in its parts than in all"));
    left -= std::min(left, bytes);
  }

  std::string text(const flatbuffers::String* from) {
    if (from == nullptr) return {};
    constexpr std::size_t kOfString = 32;  // what an empty one takes
    spend(texts_left_, from->size() + kOfString);
    return error_ ? std::string() : from->str();
  }

  // As bytes: elements of 64 bits may lie at any multiple of 4.
  template <class T>
  void numbers(const flatbuffers::Vector<T>* from, google::protobuf::RepeatedField<T>& to) {
    if (from == nullptr || error_) return;
    spend(data_left_, from->size() * sizeof(T));
    if (error_ || from->size() == 0) return;
    to.Resize(static_cast<int>(from->size()), T{});
    std::memcpy(to.mutable_data(), from->Data(), from->size() * sizeof(T));
  }

  void tensor(const ort::Tensor& from, onnx::TensorProto& to) {
    to.set_name(text(from.name()));
    to.set_data_type(from.data_type());
    numbers(from.dims(), *to.mutable_dims());
    if (from.external_data_offset() >= 0)
      return fail({ErrorKind::unsupported, file_ + ": initializer '" + to.name() + "'", "data in another file",
                   "data in the model", ""});
    each(from.string_data(), [&](const flatbuffers::String& one) { to.add_string_data(text(&one)); });
    if (to.data_type() == onnx::TensorProto::STRING || error_) return;
    const std::size_t bytes = from.raw_data() == nullptr ? 0 : from.raw_data()->size();
    spend(data_left_, bytes);
    if (error_) return;
    if (bytes == 0) to.mutable_raw_data();
    else to.set_raw_data(from.raw_data()->data(), bytes);
  }

  void sparse(const ort::SparseTensor& from, onnx::SparseTensorProto& to) {
    if (from.values() != nullptr) tensor(*from.values(), *to.mutable_values());
    if (from.indices() != nullptr) tensor(*from.indices(), *to.mutable_indices());
    numbers(from.dims(), *to.mutable_dims());
  }

  void dimension(const ort::Dimension& from, onnx::TensorShapeProto::Dimension& to) {
    constexpr int kNumber = 1, kName = 2;
    if (from.value() == nullptr) return;
    if (from.value()->dim_type() == kNumber) to.set_dim_value(from.value()->dim_value());
    if (from.value()->dim_type() == kName) to.set_dim_param(text(from.value()->dim_param()));
  }

  void type(const ort::TypeInfo& from, onnx::TypeProto& to) {
    if (const auto* tensor = from.value_as_TensorTypeAndShape()) {
      auto& made = *to.mutable_tensor_type();
      made.set_elem_type(tensor->elem_type());
      if (tensor->shape() == nullptr) return;
      auto& shape = *made.mutable_shape();
      each(tensor->shape()->dim(), [&](const ort::Dimension& dim) { dimension(dim, *shape.add_dim()); });
    } else if (const auto* sequence = from.value_as_SequenceType()) {
      auto& element = *to.mutable_sequence_type()->mutable_elem_type();
      if (sequence->elem_type() != nullptr) type(*sequence->elem_type(), element);
    } else if (const auto* map = from.value_as_MapType()) {
      to.mutable_map_type()->set_key_type(map->key_type());
      auto& element = *to.mutable_map_type()->mutable_value_type();
      if (map->value_type() != nullptr) type(*map->value_type(), element);
    }
  }

  void attribute(const ort::Attribute& from, onnx::AttributeProto& to) {
    using Proto = onnx::AttributeProto;
    to.set_name(text(from.name()));
    if (!Proto::AttributeType_IsValid(from.type()))
      return fail(broken(file_, "attribute '" + to.name() + "' of kind " + std::to_string(from.type())));
    to.set_type(static_cast<Proto::AttributeType>(from.type()));
    to.set_f(from.f());
    to.set_i(from.i());
    to.set_s(text(from.s()));
    if (from.t() != nullptr) tensor(*from.t(), *to.mutable_t());
    if (from.g() != nullptr) graph(*from.g(), *to.mutable_g());
    numbers(from.floats(), *to.mutable_floats());
    numbers(from.ints(), *to.mutable_ints());
    each(from.strings(), [&](const flatbuffers::String& one) { to.add_strings(text(&one)); });
    each(from.tensors(), [&](const ort::Tensor& one) { tensor(one, *to.add_tensors()); });
    each(from.graphs(), [&](const ort::Graph& one) { graph(one, *to.add_graphs()); });
  }

  void node(const ort::Node& from, onnx::NodeProto& to) {
    constexpr int kOperator = 0;
    to.set_name(text(from.name()));
    to.set_op_type(text(from.op_type()));
    to.set_domain(text(from.domain()));
    if (from.type() != kOperator)
      fail({ErrorKind::unsupported, file_ + ": node '" + to.name() + "'", "what an execution provider compiled",
            "operators", "Convert the .onnx with the CPU's provider alone"});
    each(from.inputs(), [&](const flatbuffers::String& name) { to.add_input(text(&name)); });
    each(from.outputs(), [&](const flatbuffers::String& name) { to.add_output(text(&name)); });
    each(from.attributes(), [&](const ort::Attribute& one) { attribute(one, *to.add_attribute()); });
  }

  void graph(const ort::Graph& from, onnx::GraphProto& to) {
    each(from.initializers(), [&](const ort::Tensor& one) { tensor(one, *to.add_initializer()); });
    each(from.sparse_initializers(), [&](const ort::SparseTensor& one) { sparse(one, *to.add_sparse_initializer()); });
    each(from.nodes(), [&](const ort::Node& one) { node(one, *to.add_node()); });
    std::map<std::string, onnx::TypeProto> types;
    each(from.node_args(), [&](const ort::ValueInfo& one) {
      if (one.type() != nullptr) type(*one.type(), types[text(one.name())]);
    });
    const auto declare = [&](const auto* names, auto& list) {
      each(names, [&](const flatbuffers::String& one) {
        auto& value = *list.Add();
        value.set_name(text(&one));
        if (const auto known = types.extract(value.name())) *value.mutable_type() = std::move(known.mapped());
      });
    };
    declare(from.inputs(), *to.mutable_input());
    declare(from.outputs(), *to.mutable_output());
    for (auto& [name, type] : types) {
      auto& value = *to.add_value_info();
      value.set_name(name);
      *value.mutable_type() = std::move(type);
    }
  }

  const std::string& file_;
  std::size_t data_left_, texts_left_;
  std::optional<Error> error_;
};

}  // namespace

bool is_ort_format(std::string_view head) {
  return head.size() >= 8 && head.substr(2, 6) == std::string_view("\0\0ORTM", 6);
}

Result<onnx::ModelProto> model_of_ort(std::span<const std::byte> bytes, const std::string& file) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    const std::vector<std::byte> aligned(bytes.begin(), bytes.end());
    return model_of_ort(aligned, file);
  }
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return broken(file, std::to_string(bytes.size()) + " bytes, which no offset reaches");
  const auto* start = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const auto tables = std::min<std::size_t>(kTableLimit, bytes.size() / kBytesOfTable);
  flatbuffers::Verifier verifier(start, bytes.size(), kMostTableDepth, static_cast<flatbuffers::uoffset_t>(tables));
  if (!ort::VerifyInferenceSessionBuffer(verifier))
    return broken(file, "offsets that leave the file, or tables nested too deeply");
  const ort::InferenceSession& session = *ort::GetInferenceSession(start);
  const std::string version = session.ort_version() == nullptr ? "" : session.ort_version()->str();
  if (std::find(std::begin(kVersions), std::end(kVersions), version) == std::end(kVersions))
    return Error{ErrorKind::unsupported, file,
                 "version '" + version.substr(0, 16) + "' of ONNX Runtime's format (.ort)", "versions 1 to 6", ""};
  if (session.model() == nullptr) return broken(file, "no model");
  return Converter(file, bytes.size()).run(*session.model());
}

}  // namespace octavo::onnx_import
