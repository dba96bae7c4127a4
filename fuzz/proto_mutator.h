// Changes of protobuf messages that keep them messages, so that fuzzing does not stop at the parser. Part of fuzz/.
#ifndef OCTAVO_FUZZ_PROTO_MUTATOR_H_
#define OCTAVO_FUZZ_PROTO_MUTATOR_H_

#include <google/protobuf/message.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::fuzz {

class ProtoMutator {
 public:
  // `words` are strings worth trying wherever a message holds one.
  ProtoMutator(unsigned seed, std::vector<std::string> words) : random_(seed), words_(std::move(words)) {}

  // Changes one field somewhere in the tree: its value, or the number or order of its elements.
  void mutate(google::protobuf::Message& root);
  // Puts a part of `from` in the place of a part of the same type, or beside it.
  void splice(google::protobuf::Message& root, const google::protobuf::Message& from);

 private:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  void mutate_field(Message& message, const Field& field);
  void mutate_repeated(Message& message, const Field& field);
  void set_value(Message& message, const Field& field);
  void set_element(Message& message, const Field& field, int index);
  std::int64_t integer(std::int64_t old);
  double real(double old);
  std::string text(std::string old, bool is_bytes);

  std::mt19937 random_;
  std::vector<std::string> words_;
  std::vector<std::string> strings_;  // of the message being changed
};

}  // namespace octavo::fuzz

#endif  // OCTAVO_FUZZ_PROTO_MUTATOR_H_
