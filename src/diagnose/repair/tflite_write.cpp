// Writing a repaired TFLite file: new tables stand before the old file, which follows as it was. A FlatBuffer's offsets
// count forward from where they stand, so that new tables can name old ones, of whatever schema. Part of diagnose/.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "diagnose/repair/tflite_edit.h"
#include "import/tflite/file_tensor.h"

namespace octavo::repair {
namespace {

namespace file = tflite_import::file;
using flatbuffers::Offset;
using flatbuffers::Table;
using flatbuffers::uoffset_t;

// How wide the fields of a table are, by slot of the public schema; 0: an offset.
using Slots = std::span<const std::uint8_t>;
constexpr std::uint8_t kTensorSlots[] = {0, 1, 4, 0, 0, 1, 0, 0, 1, 0, 4};
constexpr std::uint8_t kOperatorSlots[] = {4, 0, 0, 1, 0, 0, 1, 0, 0, 8, 8, 1, 0, 4};
constexpr std::uint8_t kSubGraphSlots[] = {0, 0, 0, 0, 0, 4};
constexpr std::uint8_t kModelSlots[] = {4, 0, 0, 0, 0, 0, 0, 0, 0, 0};

// Instead of what the old table has in a slot: a number of that slot's width, or where something new stands.
using Changes = std::map<int, std::uint32_t>;

flatbuffers::voffset_t field_of(std::size_t slot) { return static_cast<flatbuffers::voffset_t>(4 + 2 * slot); }

bool has_unknown_fields(const Table& table, Slots slots) {
  const std::uint8_t* vtable = table.GetVTable();
  const std::size_t fields = (flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable) - 4u) / 2;
  for (std::size_t slot = slots.size(); slot < fields; ++slot) {
    if (table.GetOptionalFieldOffset(field_of(slot)) != 0) return true;
  }
  return false;
}

template <class T>
const Table& table_of(const T& typed) {
  return reinterpret_cast<const Table&>(typed);
}

// A builder that has the old file at its end.
class Builder {
 public:
  Builder(const std::string& bytes, const std::string& where)
      : bytes_(bytes), where_(where), builder_(bytes.size() + 65536) {
    builder_.PreAlign(bytes.size(), 16);  // what vectors of weights stand on
    builder_.PushBytes(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    end_ = builder_.GetSize();
  }

  flatbuffers::FlatBufferBuilder& operator*() { return builder_; }
  flatbuffers::FlatBufferBuilder* operator->() { return &builder_; }

  std::size_t end() const { return end_; }  // how far from the end the old file begins

  // Where something old stands, as new tables name it.
  std::uint32_t old(const void* pointer) const {
    const auto at = static_cast<const char*>(pointer) - bytes_.data();
    return static_cast<std::uint32_t>(end_ - static_cast<std::size_t>(at));
  }

  // A table with all that the old one has, but for what changes.
  template <class T>
  Result<Offset<T>> copied(const T& typed, Slots slots, const Changes& changes) {
    const Table& table = table_of(typed);
    if (has_unknown_fields(table, slots)) {
      return Error{.kind = ErrorKind::unsupported,
                   .where = where_,
                   .found = "a table with fields of a newer schema",
                   .expected = "one of the schema of 2026"};
    }
    const uoffset_t start = builder_.StartTable();
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      const auto change = changes.find(static_cast<int>(slot));
      if (change != changes.end()) put(slot, slots[slot], change->second);
      else if (const auto* at = table.GetAddressOf(field_of(slot)); at != nullptr) put_old(slot, slots[slot], at);
    }
    return Offset<T>(builder_.EndTable(start));
  }

 private:
  void put(std::size_t slot, std::uint8_t width, std::uint32_t value) {
    if (width == 0) builder_.AddOffset(field_of(slot), Offset<void>(value));
    else if (width == 1) builder_.AddElement(field_of(slot), static_cast<std::uint8_t>(value));
    else builder_.AddElement(field_of(slot), value);
  }
  void put_old(std::size_t slot, std::uint8_t width, const std::uint8_t* at) {
    if (width == 8) builder_.AddElement(field_of(slot), flatbuffers::ReadScalar<std::uint64_t>(at));
    else if (width == 4) builder_.AddElement(field_of(slot), flatbuffers::ReadScalar<std::uint32_t>(at));
    else if (width == 1) builder_.AddElement(field_of(slot), *at);
    else put(slot, 0, old(at + flatbuffers::ReadScalar<uoffset_t>(at)));
  }

  const std::string& bytes_;
  const std::string& where_;
  flatbuffers::FlatBufferBuilder builder_;
  std::size_t end_ = 0;
};

// The format's number of a type that repairs make.
std::uint32_t type_number(DType dtype) {
  for (int number = 0;; ++number) {
    if (tflite_import::dtype_of_file(number) == dtype) return static_cast<std::uint32_t>(number);
  }
}

template <class T>
uoffset_t count(const flatbuffers::Vector<T>* list) {
  return list == nullptr ? 0 : list->size();
}

// Buffers that something reads: metadata, and tensors; of the first subgraph those that are used.
std::set<std::uint32_t> used_buffers(const file::Model& model, const std::set<int>& tensors) {
  std::set<std::uint32_t> used = {0};
  for (uoffset_t graph = 0; graph < model.subgraphs()->size(); ++graph) {
    const auto* all = model.subgraphs()->Get(graph)->tensors();
    for (uoffset_t i = 0; i < count(all); ++i) {
      if (graph > 0 || tensors.contains(static_cast<int>(i))) used.insert(all->Get(i)->buffer());
    }
  }
  for (uoffset_t i = 0; i < count(model.metadata()); ++i) used.insert(model.metadata()->Get(i)->buffer());
  for (uoffset_t i = 0; i < count(model.metadata_buffer()); ++i)
    used.insert(static_cast<std::uint32_t>(model.metadata_buffer()->Get(i)));
  return used;
}

// Inside of the FlatBuffer, or where it says. Offsets were checked for tensors alone.
std::span<const std::byte> data_of(const file::Buffer& buffer, std::span<const std::byte> file) {
  if (buffer.offset() > 1) {
    const bool is_inside = buffer.offset() <= file.size() && buffer.size() <= file.size() - buffer.offset();
    return is_inside ? file.subspan(buffer.offset(), buffer.size()) : std::span<const std::byte>();
  }
  return std::as_bytes(std::span(buffer.data() == nullptr ? nullptr : buffer.data()->data(), count(buffer.data())));
}

// Moves a number that counts from the file's first byte.
void move_offset(const Table& table, flatbuffers::voffset_t field, std::uint64_t by) {
  const std::uint8_t* at = table.GetAddressOf(field);
  if (at == nullptr || flatbuffers::ReadScalar<std::uint64_t>(at) <= 1) return;
  flatbuffers::WriteScalar(const_cast<std::uint8_t*>(at), flatbuffers::ReadScalar<std::uint64_t>(at) + by);
}

// Places of constants that nobody reads any more, by their size.
class FreePlaces {
 public:
  FreePlaces(const tflite_import::ModelFile& model, const std::set<int>& tensors) {
    const auto* buffers = model.model->buffers();
    const auto used = used_buffers(*model.model, tensors);
    std::set<const void*> taken;  // buffers may share data
    for (const std::uint32_t buffer : used) {
      if (buffer < count(buffers)) taken.insert(data_of(*buffers->Get(buffer), model.contents()).data());
    }
    for (uoffset_t i = 0; i < count(buffers); ++i) {
      const auto data = data_of(*buffers->Get(i), model.contents());
      if (data.empty() || used.contains(i) || !taken.insert(data.data()).second) continue;
      places_.emplace(data.size(), Place{i, static_cast<std::size_t>(data.data() - model.contents().data())});
    }
  }

  // Writes the value into `bytes`; the number of its buffer, nothing where no place has that size.
  std::optional<std::uint32_t> take(const Tensor& value, std::string& bytes) {
    const auto found = places_.find(value.bytes());
    if (found == places_.end()) return {};
    const Place place = found->second;
    places_.erase(found);
    std::memcpy(bytes.data() + place.at, value.data(), value.bytes());
    return place.buffer;
  }

 private:
  struct Place {
    std::uint32_t buffer;
    std::size_t at;
  };
  std::multimap<std::size_t, Place> places_;
};

}  // namespace

class TfliteWriter {
 public:
  explicit TfliteWriter(const TfliteEdit& edit)
      : edit_(edit), bytes_(with_new_constants()), out_(bytes_, edit.file_), model_(*file::GetModel(bytes_.data())) {}

  Result<std::string> write() {
    const auto buffers = write_buffers();
    const auto operators = write_operators();  // before the codes, which it may add to
    if (!operators) return operators.errors();
    const auto tensors = write_tensors();
    if (!tensors) return tensors.errors();
    const auto graph = out_.copied(first_graph(), kSubGraphSlots,
                                   {{0, out_->CreateVector(*tensors).o}, {3, out_->CreateVector(*operators).o}});
    if (!graph) return graph.errors();
    std::vector<Offset<file::SubGraph>> graphs = {*graph};
    for (uoffset_t i = 1; i < model_.subgraphs()->size(); ++i)
      graphs.emplace_back(out_.old(model_.subgraphs()->Get(i)));
    const Changes changes = {{1, write_codes()}, {2, out_->CreateVector(graphs).o}, {4, out_->CreateVector(buffers).o}};
    const auto model = out_.copied(model_, kModelSlots, changes);
    if (!model) return model.errors();
    out_->Finish(*model, file::ModelIdentifier());
    move_data(*file::GetModel(out_->GetBufferPointer()), out_->GetSize() - out_.end());
    return std::string(reinterpret_cast<const char*>(out_->GetBufferPointer()), out_->GetSize());
  }

 private:
  // Data that lies behind the tables is found by where it is in the file, and now stands further back.
  static void move_data(const file::Model& model, std::uint64_t by) {
    for (uoffset_t i = 0; i < count(model.buffers()); ++i)
      move_offset(table_of(*model.buffers()->Get(i)), file::Buffer::VT_OFFSET, by);
    for (const file::SubGraph* graph : *model.subgraphs()) {
      for (uoffset_t i = 0; i < count(graph->operators()); ++i) {
        move_offset(table_of(*graph->operators()->Get(i)), file::Operator::VT_UNREAD_LARGE_CUSTOM_OPTIONS_OFFSET, by);
      }
    }
  }

  const file::SubGraph& first_graph() const { return *model_.subgraphs()->Get(0); }
  int first_new() const { return static_cast<int>(edit_.file_tensors_); }

  std::set<int> used_tensors() const {
    std::set<int> used(edit_.inputs_.begin(), edit_.inputs_.end());
    used.insert(edit_.outputs_.begin(), edit_.outputs_.end());
    const auto* operators = edit_.model_.model->subgraphs()->Get(0)->operators();
    for (const TfliteOp& op : edit_.ops) {
      used.insert(op.inputs.begin(), op.inputs.end());
      used.insert(op.outputs.begin(), op.outputs.end());
      const auto* between = op.like < 0 ? nullptr : operators->Get(static_cast<uoffset_t>(op.like))->intermediates();
      if (between != nullptr) used.insert(between->begin(), between->end());
    }
    return used;
  }

  // The old file, in which new constants stand in the place of those of their size that nobody reads any more.
  std::string with_new_constants() {
    std::string bytes = edit_.bytes_;
    const std::set<int> used = used_tensors();
    FreePlaces places(edit_.model_, used);
    for (int i = first_new(); i < edit_.tensor_count(); ++i) {
      if (!edit_.is_constant(i) || !used.contains(i)) continue;
      if (const auto buffer = places.take(*edit_.tensor(i).constant, bytes)) buffers_[i] = *buffer;
      else apart_.push_back(i);
    }
    return bytes;
  }

  // Those of the file, and behind them those of new constants that found no place.
  std::vector<Offset<file::Buffer>> write_buffers() {
    std::vector<Offset<file::Buffer>> buffers;
    for (uoffset_t i = 0; i < count(model_.buffers()); ++i) buffers.emplace_back(out_.old(model_.buffers()->Get(i)));
    if (buffers.empty()) buffers.push_back(file::CreateBuffer(*out_));
    for (const int i : apart_) {
      const Tensor& value = *edit_.tensor(i).constant;
      out_->ForceVectorAlignment(value.bytes(), 1, 16);
      const auto data = out_->CreateVector(reinterpret_cast<const std::uint8_t*>(value.data()), value.bytes());
      buffers_[i] = static_cast<std::uint32_t>(buffers.size());
      buffers.push_back(file::CreateBuffer(*out_, data));
    }
    return buffers;
  }

  std::uint32_t write_quantization(const std::optional<QuantParams>& quant) {
    if (!quant) return file::CreateQuantizationParameters(*out_).o;
    const std::vector<std::int64_t> zeros(quant->zero_point.begin(), quant->zero_point.end());
    const auto scales = out_->CreateVector(quant->scale);
    const auto zero_points = out_->CreateVector(zeros);
    return file::CreateQuantizationParameters(*out_, 0, 0, scales, zero_points, 0, 0, std::max(quant->axis, 0)).o;
  }

  Result<Offset<file::Tensor>> write_tensor(int index) {
    const TfliteTensor& tensor = edit_.tensor(index);
    const auto buffer = buffers_.find(index);
    const Changes changes = {{1, type_number(tensor.dtype)},
                             {2, buffer == buffers_.end() ? 0 : buffer->second},
                             {3, out_->CreateString(tensor.name).o},
                             {4, write_quantization(tensor.quant)}};
    if (tensor.like >= 0)
      return out_.copied(*first_graph().tensors()->Get(static_cast<uoffset_t>(tensor.like)), kTensorSlots, changes);
    std::vector<std::int32_t> sizes;
    for (int axis = 0; axis < tensor.shape.rank(); ++axis)
      sizes.push_back(static_cast<std::int32_t>(tensor.shape[axis]));
    const auto shape = out_->CreateVector(sizes);
    return file::CreateTensor(*out_, shape, static_cast<std::int8_t>(changes.at(1)), changes.at(2), changes.at(3),
                              changes.at(4));
  }

  Result<std::vector<Offset<file::Tensor>>> write_tensors() {
    std::vector<Offset<file::Tensor>> tensors;
    for (int i = 0; i < first_new(); ++i)
      tensors.emplace_back(out_.old(first_graph().tensors()->Get(static_cast<uoffset_t>(i))));
    for (int i = first_new(); i < edit_.tensor_count(); ++i) {
      const auto made = write_tensor(i);
      if (!made) return made.errors();
      tensors.push_back(*made);
    }
    return tensors;
  }

  // The number of the code of an operator whose code or version is new.
  std::uint32_t code_index(const TfliteOp& op) {
    const auto found = std::ranges::find(new_codes_, std::pair(op.code, op.version));
    const auto at = static_cast<std::size_t>(found - new_codes_.begin());
    if (found == new_codes_.end()) new_codes_.emplace_back(op.code, op.version);
    return static_cast<std::uint32_t>(count(model_.operator_codes()) + at);
  }

  Result<Offset<file::Operator>> write_operator(const TfliteOp& op) {
    if (op.like < 0) {
      const auto inputs = out_->CreateVector(op.inputs), outputs = out_->CreateVector(op.outputs);
      return file::CreateOperator(*out_, code_index(op), inputs, outputs);
    }
    const file::Operator& like = *first_graph().operators()->Get(static_cast<uoffset_t>(op.like));
    const TfliteOp& old = edit_.file_ops_[static_cast<std::size_t>(op.like)];
    if (op == old) return Offset<file::Operator>(out_.old(&like));
    const bool has_its_code = op.code == old.code && op.version == old.version;
    return out_.copied(like, kOperatorSlots,
                       {{0, has_its_code ? like.opcode_index() : code_index(op)},
                        {1, out_->CreateVector(op.inputs).o},
                        {2, out_->CreateVector(op.outputs).o}});
  }

  Result<std::vector<Offset<file::Operator>>> write_operators() {
    std::vector<Offset<file::Operator>> operators;
    for (const TfliteOp& op : edit_.ops) {
      const auto made = write_operator(op);
      if (!made) return made.errors();
      operators.push_back(*made);
    }
    return operators;
  }

  std::uint32_t write_codes() {
    constexpr int kMostInAByte = 127;  // what the older field holds; this one for all beyond
    std::vector<Offset<file::OperatorCode>> codes;
    for (uoffset_t i = 0; i < count(model_.operator_codes()); ++i)
      codes.emplace_back(out_.old(model_.operator_codes()->Get(i)));
    for (const auto& [code, version] : new_codes_)
      codes.push_back(
          file::CreateOperatorCode(*out_, static_cast<std::int8_t>(std::min(code, kMostInAByte)), 0, version, code));
    return out_->CreateVector(codes).o;
  }

  const TfliteEdit& edit_;
  std::map<int, std::uint32_t> buffers_;  // of new constants
  std::vector<int> apart_;                // those that need a buffer of their own
  std::string bytes_;
  Builder out_;
  const file::Model& model_;  // the old one, in bytes_
  std::vector<std::pair<int, int>> new_codes_;
};

Result<std::string> TfliteEdit::finish() const { return TfliteWriter(*this).write(); }

}  // namespace octavo::repair
