// TFLite files for tests.
#include "support/tflite_builder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "ops/evaluate.h"

namespace octavo::testing {
namespace {

int number_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return 0;
    case DType::f16: return 1;
    case DType::s32: return 2;
    case DType::u8: return 3;
    case DType::s64: return 4;
    case DType::boolean: return 6;
    case DType::s16: return 7;
    default: return 9;
  }
}

void save(const std::string& bytes) {
  const char* folder = std::getenv("OCTAVO_SAVE_MODELS");
  if (folder == nullptr) return;
  const std::string name = std::to_string(std::hash<std::string>{}(bytes)) + ".tflite";
  std::ofstream(std::string(folder) + "/" + name, std::ios::binary) << bytes;
}

class Writer {
 public:
  Writer(std::uint32_t version, bool puts_data_behind) : version_(version), puts_data_behind_(puts_data_behind) {
    buffers_.push_back(tfl::CreateBuffer(fbb_));
  }

  void add(const TfliteTensor& tensor) {
    unsigned buffer = 0;
    if (tensor.data && puts_data_behind_) {
      constexpr std::uint64_t kLater = 2;  // where it will be is known in the end
      buffers_.push_back(tfl::CreateBuffer(fbb_, 0, kLater, tensor.data->bytes()));
      behind_.emplace_back(buffers_.size() - 1, *tensor.data);
      buffer = static_cast<unsigned>(buffers_.size() - 1);
    } else if (tensor.data) {
      const auto data = fbb_.CreateVector(tensor.data->as<std::uint8_t>(), tensor.data->bytes());
      buffers_.push_back(tfl::CreateBuffer(fbb_, data));
      buffer = static_cast<unsigned>(buffers_.size() - 1);
    }
    flatbuffers::Offset<tfl::QuantizationParameters> quantization;
    if (!tensor.scale.empty() || !tensor.zero_point.empty()) {
      const auto scale = fbb_.CreateVector(tensor.scale);
      const auto zero_point = fbb_.CreateVector(tensor.zero_point);
      quantization = tfl::CreateQuantizationParameters(fbb_, 0, 0, scale, zero_point, 0, 0, tensor.axis);
    }
    const auto shape = fbb_.CreateVector(tensor.shape);
    const auto name = fbb_.CreateString(tensor.name);
    const auto signature = tensor.signature.empty() ? 0 : fbb_.CreateVector(tensor.signature);
    const auto sparsity = tensor.sparsity ? sparsity_of(*tensor.sparsity) : 0;
    const auto type = static_cast<std::int8_t>(tensor.type >= 0 ? tensor.type : number_of(tensor.dtype));
    tensors_.push_back(tfl::CreateTensor(fbb_, shape, type, tensor.buffer.value_or(buffer), name, quantization,
                                         tensor.is_variable, sparsity, signature));
  }

  void add(const TfliteOperator& op) {
    const auto options = op.options ? op.options(fbb_) : flatbuffers::Offset<void>();
    const auto inputs = fbb_.CreateVector(op.inputs);
    const auto outputs = fbb_.CreateVector(op.outputs);
    const auto custom = op.custom.empty() ? 0 : fbb_.CreateString(op.custom);
    const auto custom_options = op.custom_options.empty() ? 0 : fbb_.CreateVector(op.custom_options);
    codes_.push_back(
        tfl::CreateOperatorCode(fbb_, static_cast<std::int8_t>(std::min(op.code, 127)), custom, op.version, op.code));
    const auto intermediates = op.intermediates.empty() ? 0 : fbb_.CreateVector(op.intermediates);
    operators_.push_back(tfl::CreateOperator(fbb_, op.opcode.value_or(static_cast<unsigned>(codes_.size() - 1)), inputs,
                                             outputs, op.kind, options, custom_options, 0, 0, intermediates));
  }

  flatbuffers::Offset<tfl::SparsityParameters> sparsity_of(const TfliteSparsity& given) {
    std::vector<flatbuffers::Offset<tfl::DimensionMetadata>> levels;
    for (const TfliteSparseLevel& level : given.levels) {
      if (level.segments.empty()) {
        levels.push_back(tfl::CreateDimensionMetadata(fbb_, 0, level.size));
        continue;
      }
      const auto segments = list_of(level.segments, given.width), indices = list_of(level.indices, given.width);
      levels.push_back(
          tfl::CreateDimensionMetadata(fbb_, 1, 0, segments.first, segments.second, indices.first, indices.second));
    }
    const auto order = fbb_.CreateVector(given.order), blocks = fbb_.CreateVector(given.blocks);
    return tfl::CreateSparsityParameters(fbb_, order, blocks, fbb_.CreateVector(levels));
  }

  std::pair<tfl::SparseIndexVector, flatbuffers::Offset<void>> list_of(const std::vector<std::int32_t>& list,
                                                                       int width) {
    if (width == 32)
      return {tfl::SparseIndexVector::Int32Vector, tfl::CreateInt32Vector(fbb_, fbb_.CreateVector(list)).Union()};
    if (width == 16) {
      fbb_.ForceVectorAlignment(list.size(), sizeof(std::uint16_t), 4);
      const auto values = fbb_.CreateVector(std::vector<std::uint16_t>(list.begin(), list.end()));
      return {tfl::SparseIndexVector::Uint16Vector, tfl::CreateUint16Vector(fbb_, values).Union()};
    }
    fbb_.ForceVectorAlignment(list.size(), sizeof(std::uint8_t), 4);
    const auto values = fbb_.CreateVector(std::vector<std::uint8_t>(list.begin(), list.end()));
    return {tfl::SparseIndexVector::Uint8Vector, tfl::CreateUint8Vector(fbb_, values).Union()};
  }

  std::string finish(const TfliteBuilder& builder) {
    std::vector<flatbuffers::Offset<tfl::SubGraph>> subgraphs;
    for (int i = 0; i < builder.subgraphs; ++i) {
      const auto tensors = fbb_.CreateVector(tensors_);
      const auto inputs = fbb_.CreateVector(builder.inputs);
      const auto outputs = fbb_.CreateVector(builder.outputs);
      const auto operators = fbb_.CreateVector(operators_);
      subgraphs.push_back(tfl::CreateSubGraph(fbb_, tensors, inputs, outputs, operators));
    }
    const auto codes = fbb_.CreateVector(codes_);
    const auto graphs = fbb_.CreateVector(subgraphs);
    const auto buffers = fbb_.CreateVector(buffers_);
    std::vector<flatbuffers::Offset<tfl::SignatureDef>> signatures;
    for (const std::string& key : builder.signatures) {
      const bool is_last = &key == &builder.signatures.back();
      const auto name = fbb_.CreateString(key);
      signatures.push_back(tfl::CreateSignatureDef(fbb_, 0, 0, name, 0, is_last ? builder.signature_subgraph : 0));
    }
    const auto signature_list = signatures.empty() ? 0 : fbb_.CreateVector(signatures);
    fbb_.Finish(tfl::CreateModel(fbb_, version_, codes, graphs, 0, buffers, 0, 0, signature_list),
                tfl::ModelIdentifier());
    return with_data(std::string(reinterpret_cast<const char*>(fbb_.GetBufferPointer()), fbb_.GetSize()));
  }

  std::string with_data(std::string file) const {
    for (const auto& [buffer, data] : behind_) {
      file.resize((file.size() + 15) / 16 * 16);
      const auto* table = tfl::GetModel(file.data())->buffers()->Get(static_cast<unsigned>(buffer));
      auto* changed = reinterpret_cast<flatbuffers::Table*>(const_cast<tfl::Buffer*>(table));
      changed->SetField<std::uint64_t>(tfl::Buffer::VT_OFFSET, file.size(), 0);
      file.append(reinterpret_cast<const char*>(data.data()), data.bytes());
    }
    return file;
  }

 private:
  std::uint32_t version_;
  bool puts_data_behind_;
  std::vector<std::pair<std::size_t, Tensor>> behind_;  // by buffer
  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tfl::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tfl::Operator>> operators_;
};

}  // namespace

int TfliteBuilder::tensor(TfliteTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return static_cast<int>(tensors_.size() - 1);
}

int TfliteBuilder::constant(const Tensor& data, std::vector<float> scale, std::vector<std::int64_t> zero_point,
                            std::int32_t axis) {
  TfliteTensor made{.name = "c" + std::to_string(tensors_.size()), .dtype = data.dtype(), .axis = axis, .data = data};
  for (const std::int64_t dim : data.shape()) made.shape.push_back(static_cast<std::int32_t>(dim));
  made.scale = std::move(scale);
  made.zero_point = std::move(zero_point);
  return tensor(std::move(made));
}

int TfliteBuilder::input(TfliteTensor made) {
  inputs.push_back(tensor(std::move(made)));
  return inputs.back();
}

int TfliteBuilder::output(TfliteTensor made) {
  outputs.push_back(tensor(std::move(made)));
  return outputs.back();
}

TfliteOperator fully_connected(std::vector<std::int32_t> inputs, int output) {
  constexpr int kFullyConnected = 9;
  return {.code = kFullyConnected,
          .inputs = std::move(inputs),
          .outputs = {output},
          .kind = tfl::BuiltinOptions::FullyConnectedOptions,
          .options = options_of(tfl::CreateFullyConnectedOptions, std::int8_t{0}, std::int8_t{0}, false, false)};
}

TfliteBuilder& TfliteBuilder::add(TfliteOperator op) {
  operators_.push_back(std::move(op));
  return *this;
}

std::string TfliteBuilder::bytes() const {
  Writer writer(version, puts_data_behind);
  for (const TfliteTensor& tensor : tensors_) writer.add(tensor);
  for (const TfliteOperator& op : operators_) writer.add(op);
  std::string bytes = writer.finish(*this);
  save(bytes);
  return bytes;
}

Result<ImportedModel> import_tflite_text(const std::string& bytes, const ImportOptions& options) {
  return import_tflite(std::as_bytes(std::span(bytes.data(), bytes.size())), "test.tflite", options);
}

Result<ImportedModel> TfliteBuilder::import(const ImportOptions& options) const {
  return import_tflite_text(bytes(), options);
}

std::vector<Tensor> answers(const TfliteBuilder& builder, const std::vector<Tensor>& inputs,
                            const ImportOptions& options) {
  const auto model = builder.import(options);
  if (!model) {
    ADD_FAILURE() << to_string(model.errors());
    return {};
  }
  auto results = evaluate(model->graph, inputs);
  if (results) return std::move(*results);
  ADD_FAILURE() << to_string(results.errors());
  return {};
}

}  // namespace octavo::testing
