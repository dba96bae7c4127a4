// The tables of TFLite operators, joined. Part of import/.
#include "import/tflite/operators.h"

#include <map>

namespace octavo::tflite_import {

namespace {

using Table = std::span<const OperatorEntry>;
using ByName = std::map<std::string_view, const OperatorEntry*>;

ByName operators_joined(std::initializer_list<Table> tables) {
  ByName all;
  for (const Table& table : tables) {
    for (const OperatorEntry& entry : table) all.emplace(entry.name, &entry);
  }
  return all;
}

const OperatorEntry* find(const ByName& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace

const OperatorEntry* find_operator(int code, std::string_view custom) {
  static const ByName kBuiltin =
      operators_joined({kConvolutions, kCounted, kElementwise, kImages, kMatrices, kRandom, kRecurrentLayers,
                        kReductions, kSelection, kShaping, kSpectra, kVolumes});
  static const ByName kCustom = operators_joined({kDetection, kMediaPipe, kMediaPipeLandmarks});
  return code == kCustomCode ? find(kCustom, custom) : find(kBuiltin, builtin_name(code));
}

}  // namespace octavo::tflite_import
