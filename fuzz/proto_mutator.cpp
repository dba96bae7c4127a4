// Changes of protobuf messages by reflection. Part of fuzz/.
#include "fuzz/proto_mutator.h"

#include <algorithm>
#include <cstdint>
#include <limits>

// libFuzzer's own changes of bytes; returns the new size.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace octavo::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool holds_message(const FieldDescriptor& field) { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

// The root and all messages below it.
void collect(Message& root, std::vector<Message*>& messages, std::vector<std::string>& strings) {
  messages.push_back(&root);
  const Reflection& reflection = *root.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(root, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(root, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (holds_message(*field)) {
        collect(field->is_repeated() ? *reflection.MutableRepeatedMessage(&root, field, i)
                                     : *reflection.MutableMessage(&root, field),
                messages, strings);
      } else if (field->type() == FieldDescriptor::TYPE_STRING) {
        strings.push_back(field->is_repeated() ? reflection.GetRepeatedString(root, field, i)
                                               : reflection.GetString(root, field));
      }
    }
  }
}

}  // namespace

void ProtoMutator::mutate(Message& root) {
  std::vector<Message*> messages;
  strings_.clear();
  collect(root, messages, strings_);
  Message& message = *messages[below(messages.size())];
  // Mostly fields that are there; now and then any field of the type.
  std::vector<const Field*> fields;
  message.GetReflection()->ListFields(message, &fields);
  const int declared = message.GetDescriptor()->field_count();
  if (fields.empty() || one_in(6)) {
    if (declared == 0) return;
    fields = {message.GetDescriptor()->field(static_cast<int>(below(static_cast<std::size_t>(declared))))};
  }
  mutate_field(message, *fields[below(fields.size())]);
}

void ProtoMutator::splice(Message& root, const Message& from) {
  std::vector<Message*> messages, sources;
  std::vector<std::string> strings;
  collect(root, messages, strings);
  const std::unique_ptr<Message> copy(from.New());
  copy->CopyFrom(from);
  collect(*copy, sources, strings);
  Message& target = *messages[below(messages.size())];
  std::erase_if(sources, [&](const Message* source) { return source->GetDescriptor() != target.GetDescriptor(); });
  if (sources.empty()) return;
  const Message& source = *sources[below(sources.size())];
  if (one_in(2)) target.MergeFrom(source);
  else target.CopyFrom(source);
}

void ProtoMutator::mutate_field(Message& message, const Field& field) {
  if (field.is_repeated()) return mutate_repeated(message, field);
  if (one_in(8)) return message.GetReflection()->ClearField(&message, &field);
  set_value(message, field);
}

void ProtoMutator::mutate_repeated(Message& message, const Field& field) {
  const Reflection& reflection = *message.GetReflection();
  const int size = reflection.FieldSize(message, &field);
  const auto any = [&] { return static_cast<int>(below(static_cast<std::size_t>(size))); };
  switch (size == 0 ? 0 : below(5)) {
    case 0: return set_element(message, field, size);
    case 1: return reflection.RemoveLast(&message, &field);
    case 2: return reflection.SwapElements(&message, &field, any(), any());
    case 3: {  // any one removed
      reflection.SwapElements(&message, &field, any(), size - 1);
      return reflection.RemoveLast(&message, &field);
    }
    default: return set_element(message, field, any());
  }
}

// Element `index` of a repeated field, a new one where it is the size.
void ProtoMutator::set_element(Message& message, const Field& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool is_new = index == r.FieldSize(message, &field);
  const auto set = [&](auto get, auto change, auto add, auto make) {
    const auto value = make(is_new ? decltype(get())() : get());
    if (is_new) add(value);
    else change(value);
  };
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return set([&] { return r.GetRepeatedInt32(message, &field, index); },
                 [&](auto v) { r.SetRepeatedInt32(&message, &field, index, v); },
                 [&](auto v) { r.AddInt32(&message, &field, v); },
                 [&](auto v) { return static_cast<std::int32_t>(integer(v)); });
    case Field::CPPTYPE_INT64:
      return set([&] { return r.GetRepeatedInt64(message, &field, index); },
                 [&](auto v) { r.SetRepeatedInt64(&message, &field, index, v); },
                 [&](auto v) { r.AddInt64(&message, &field, v); }, [&](auto v) { return integer(v); });
    case Field::CPPTYPE_UINT64:
      return set([&] { return r.GetRepeatedUInt64(message, &field, index); },
                 [&](auto v) { r.SetRepeatedUInt64(&message, &field, index, v); },
                 [&](auto v) { r.AddUInt64(&message, &field, v); },
                 [&](auto v) { return static_cast<std::uint64_t>(integer(static_cast<std::int64_t>(v))); });
    case Field::CPPTYPE_FLOAT:
      return set([&] { return r.GetRepeatedFloat(message, &field, index); },
                 [&](auto v) { r.SetRepeatedFloat(&message, &field, index, v); },
                 [&](auto v) { r.AddFloat(&message, &field, v); }, [&](auto v) { return static_cast<float>(real(v)); });
    case Field::CPPTYPE_DOUBLE:
      return set([&] { return r.GetRepeatedDouble(message, &field, index); },
                 [&](auto v) { r.SetRepeatedDouble(&message, &field, index, v); },
                 [&](auto v) { r.AddDouble(&message, &field, v); }, [&](auto v) { return real(v); });
    case Field::CPPTYPE_STRING:
      return set([&] { return r.GetRepeatedString(message, &field, index); },
                 [&](const std::string& v) { r.SetRepeatedString(&message, &field, index, v); },
                 [&](const std::string& v) { r.AddString(&message, &field, v); },
                 [&](std::string v) { return text(std::move(v), field.type() == Field::TYPE_BYTES); });
    case Field::CPPTYPE_MESSAGE: {
      const int size = r.FieldSize(message, &field);
      if (is_new) {
        Message& added = *r.AddMessage(&message, &field);
        if (size > 0)
          added.CopyFrom(
              r.GetRepeatedMessage(message, &field, static_cast<int>(below(static_cast<std::size_t>(size)))));
        return;
      }
      return r.MutableRepeatedMessage(&message, &field, index)
          ->CopyFrom(r.GetRepeatedMessage(message, &field, static_cast<int>(below(static_cast<std::size_t>(size)))));
    }
    default: return;  // other kinds do not occur repeated in ONNX
  }
}

void ProtoMutator::set_value(Message& message, const Field& field) {
  const Reflection& r = *message.GetReflection();
  switch (field.cpp_type()) {
    case Field::CPPTYPE_INT32:
      return r.SetInt32(&message, &field, static_cast<std::int32_t>(integer(r.GetInt32(message, &field))));
    case Field::CPPTYPE_INT64: return r.SetInt64(&message, &field, integer(r.GetInt64(message, &field)));
    case Field::CPPTYPE_FLOAT:
      return r.SetFloat(&message, &field, static_cast<float>(real(r.GetFloat(message, &field))));
    case Field::CPPTYPE_DOUBLE: return r.SetDouble(&message, &field, real(r.GetDouble(message, &field)));
    case Field::CPPTYPE_ENUM: {
      const auto& kinds = *field.enum_type();
      return r.SetEnum(&message, &field,
                       kinds.value(static_cast<int>(below(static_cast<std::size_t>(kinds.value_count())))));
    }
    case Field::CPPTYPE_STRING:
      return r.SetString(&message, &field, text(r.GetString(message, &field), field.type() == Field::TYPE_BYTES));
    case Field::CPPTYPE_MESSAGE: static_cast<void>(r.MutableMessage(&message, &field)); return;
    default: return;  // other kinds do not occur in ONNX
  }
}

std::int64_t ProtoMutator::integer(std::int64_t old) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(),
                         kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t values[] = {
      -2,    -1,    0, 1, 2, 3, 4, 7, 8, 10, 16, 17, 64, 255, 256, std::int64_t{1} << 31, std::int64_t{1} << 33,
      kMost, kLeast};
  switch (below(4)) {
    case 0: return old == kMost ? old : old + 1;
    case 1: return old == kLeast ? old : old - 1;
    default: return values[below(std::size(values))];
  }
}

double ProtoMutator::real(double old) {
  using Limits = std::numeric_limits<float>;
  const double values[] = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0.5,
                           1e-3,
                           6.0,
                           Limits::denorm_min(),
                           Limits::max(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN()};
  return one_in(3) ? -old : values[below(std::size(values))];
}

std::string ProtoMutator::text(std::string old, bool is_bytes) {
  if (is_bytes || one_in(10)) {
    const std::size_t size = old.size();
    const std::size_t room = size + 16;
    old.resize(room);
    old.resize(
        LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(old.data()), size, one_in(2) && size > 0 ? size : room));
    return old;
  }
  const std::vector<std::string>& from = strings_.empty() || one_in(3) ? words_ : strings_;
  return from.empty() ? old : from[below(from.size())];
}

}  // namespace octavo::fuzz
