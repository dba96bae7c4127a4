// AttributeReader: the attributes of one node, each consumed or reported. Part of import/.
#ifndef OCTAVO_IMPORT_ONNX_ATTRIBUTES_H_
#define OCTAVO_IMPORT_ONNX_ATTRIBUTES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// Their header is heavy.
namespace onnx {
class AttributeProto;
class NodeProto;
class TensorProto;
}  // namespace onnx

namespace octavo::onnx_import {

// Every accessor marks the attribute as read; one of another type is an error and gives the fallback.
class AttributeReader {
 public:
  // `where` names the node in messages.
  AttributeReader(const onnx::NodeProto& node, std::string where);

  bool has(std::string_view name) const { return attributes_.count(std::string(name)) != 0; }
  std::int64_t integer(std::string_view name, std::int64_t fallback);
  bool flag(std::string_view name, bool fallback);
  float number(std::string_view name, float fallback);
  std::string text(std::string_view name, std::string fallback);
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> fallback = {});
  std::vector<float> numbers(std::string_view name, std::vector<float> fallback = {});
  const onnx::TensorProto* tensor(std::string_view name);  // nullptr where absent
  // For attributes that change nothing in inference.
  void ignore(std::string_view name) { read_.insert(std::string(name)); }
  // The attribute as a message shows it; empty where absent.
  std::string printed(std::string_view name) const;

  const Errors& errors() const { return errors_; }
  // One error per attribute that nobody read.
  Errors unread() const;

 private:
  const onnx::AttributeProto* find(std::string_view name, int type, std::string_view type_name);
  Error error(ErrorKind kind, std::string_view name, std::string found, std::string expected) const;

  std::string where_;
  std::map<std::string, const onnx::AttributeProto*> attributes_;
  std::set<std::string, std::less<>> read_;
  Errors errors_;
};

}  // namespace octavo::onnx_import

#endif  // OCTAVO_IMPORT_ONNX_ATTRIBUTES_H_
