// What the metadata section of an .octv holds. Part of artifact/.
#ifndef OCTAVO_ARTIFACT_METADATA_H_
#define OCTAVO_ARTIFACT_METADATA_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "artifact/artifact.h"
#include "base/fields.h"

namespace octavo {

struct ArtifactMetadata {
  std::string source;
  std::string dialect;
  Machine machine;
  IsaSet needs;
  std::int32_t source_nodes = 0;
  std::vector<Plan> plans;

  static constexpr auto fields() {
    return std::tuple(Field{"source", &ArtifactMetadata::source}, Field{"dialect", &ArtifactMetadata::dialect},
                      Field{"machine", &ArtifactMetadata::machine}, Field{"needs", &ArtifactMetadata::needs},
                      Field{"source_nodes", &ArtifactMetadata::source_nodes}, Field{"plans", &ArtifactMetadata::plans});
  }
};

}  // namespace octavo

#endif  // OCTAVO_ARTIFACT_METADATA_H_
