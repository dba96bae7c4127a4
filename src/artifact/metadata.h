// What the sections of an .octv hold beside plans, their reports and constants. Part of artifact/.
#ifndef OCTAVO_ARTIFACT_METADATA_H_
#define OCTAVO_ARTIFACT_METADATA_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "plan/program.h"

namespace octavo {

// SectionType::model.
struct ModelMetadata {
  std::string source;
  std::string dialect;
  std::int32_t source_nodes = 0;
  std::string pictures;

  static constexpr auto fields() {
    return std::tuple(Field{"source", &ModelMetadata::source}, Field{"dialect", &ModelMetadata::dialect},
                      Field{"source_nodes", &ModelMetadata::source_nodes}, Field{"pictures", &ModelMetadata::pictures});
  }
};

// SectionType::states.
struct StatesMetadata {
  std::vector<ModelState> states;

  static constexpr auto fields() { return std::tuple(Field{"states", &StatesMetadata::states}); }
};

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_METADATA_H_
