// CompiledModel -> .octv, all or nothing. Part of artifact/.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "artifact/artifact.h"
#include "artifact/checksum.h"
#include "artifact/format.h"
#include "artifact/metadata.h"
#include "base/file.h"

namespace octavo {
namespace {

// The files of a program's networks, each on a page.
AlignedBytes encode_networks(const CompiledModel& model) {
  AlignedBytes all;
  for (const CompiledModel& network : model.networks) {
    const AlignedBytes bytes = encode_artifact(network);
    all.resize(round_to_page(all.size()));
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

}  // namespace

void adopt_constants(CompiledModel& model, ConstantPool& pool) {
  auto owned = std::make_shared<const AlignedBytes>(pool.take());
  model.constants = *owned;
  model.constants_owner = std::move(owned);
  if (model.network) model.network->weight_checksum = checksum_of(model.constants.first(model.network->weight_bytes));
}

AlignedBytes encode_artifact(const CompiledModel& model) {
  const Bytes metadata = encode(ModelMetadata{.source = model.source,
                                              .dialect = model.dialect,
                                              .source_nodes = model.source_nodes,
                                              .pictures = model.pictures});
  const Bytes plans = encode(model.plans);
  std::vector<PlanReport> told;
  for (const Plan& plan : model.plans) told.push_back(plan.report);
  const Bytes reports = encode(told);
  std::vector<std::pair<SectionType, std::span<const std::byte>>> contents = {{SectionType::model, metadata},
                                                                              {SectionType::plans, plans}};
  const bool has_reports =
      std::any_of(told.begin(), told.end(), [](const PlanReport& report) { return report != PlanReport{}; });
  if (has_reports) contents.emplace_back(SectionType::reports, reports);
  contents.emplace_back(SectionType::constants, model.constants);
  const std::uint64_t weights = model.network ? model.network->weight_bytes : 0;
  if (weights > 0 && weights <= model.constants.size())
    contents.emplace_back(SectionType::weights, model.constants.first(weights));
  const Bytes packings = encode(model.packings);
  if (!model.packings.empty()) contents.emplace_back(SectionType::packings, packings);
  const Bytes network = model.network ? encode(*model.network) : Bytes();
  if (model.network) contents.emplace_back(SectionType::network, network);
  const Bytes states = encode(StatesMetadata{model.states});
  if (!model.states.empty()) contents.emplace_back(SectionType::states, states);
  const Bytes program = model.program ? encode(*model.program) : Bytes();
  const AlignedBytes networks = encode_networks(model);
  if (model.program) {
    contents.emplace_back(SectionType::program, program);
    contents.emplace_back(SectionType::networks, networks);
  }

  ArtifactHeader header{.version = kArtifactVersion, .sections = contents.size()};
  std::vector<ArtifactSection> table;
  std::uint64_t end = sizeof header + contents.size() * sizeof(ArtifactSection);
  for (const auto& [type, content] : contents) {
    const bool has_page = type == SectionType::constants || type == SectionType::networks;
    const std::uint64_t offset = type == SectionType::weights ? table.back().offset  // of the constants
                                 : has_page                   ? round_to_page(end)
                                                              : end;
    table.push_back({.type = type, .offset = offset, .bytes = content.size()});
    end = std::max(end, offset + content.size());
  }
  AlignedBytes bytes(end);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table.data(), table.size() * sizeof(ArtifactSection));
  for (std::size_t i = 0; i < table.size(); ++i)
    std::copy(contents[i].second.begin(), contents[i].second.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(table[i].offset));
  repair_checksum(bytes);
  return bytes;
}

Status write_artifact(const CompiledModel& model, const std::string& path) {
  return write_file(path, encode_artifact(model));
}

}  // namespace octavo
