// The tables of TFLite operators, joined. Part of import/.
#include "import/tflite/operators.h"

#include <map>

namespace octavo::tflite_import {

const OperatorEntry* find_operator(int code) {
  static const std::map<std::string_view, const OperatorEntry*> kAll = [] {
    std::map<std::string_view, const OperatorEntry*> all;
    for (const auto& table : {kConvolutions, kElementwise, kImages, kReductions, kSelection, kShaping}) {
      for (const OperatorEntry& entry : table) all.emplace(entry.name, &entry);
    }
    return all;
  }();
  const auto found = kAll.find(builtin_name(code));
  return found == kAll.end() ? nullptr : found->second;
}

}  // namespace octavo::tflite_import
