// .octv -> CompiledModel, from files that may be damaged. Part of artifact/.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "artifact/artifact.h"
#include "artifact/checksum.h"
#include "artifact/format.h"
#include "artifact/metadata.h"

namespace octavo {
namespace {

Error damaged(const std::string& name, std::string found, std::string expected, std::string hint = {}) {
  return {.kind = ErrorKind::invalid_input,
          .where = name,
          .found = std::move(found),
          .expected = std::move(expected),
          .hint = std::move(hint)};
}

std::string hex(std::uint64_t value) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = digits[value >> (4 * i) & 15];
  return text;
}

// Numbers of the header that were written by a machine, or turned round by a tool, whose first byte is the highest.
bool is_big_endian(const ArtifactHeader& header) {
  return header.version > 0xffffff && (header.version & 0xffffff) == 0;
}

Status check_header(const ArtifactHeader& header, std::span<const std::byte> bytes, const std::string& name) {
  if (is_big_endian(header))
    return damaged(name, "an .octv file with big-endian numbers", "little-endian ones", "Compile the model again");
  if (header.version != kArtifactVersion) {
    return damaged(name, "an .octv file of format version " + std::to_string(header.version),
                   "version " + std::to_string(kArtifactVersion), "Compile the model again with this release");
  }
  if (header.file_bytes > bytes.size()) {
    return damaged(name, "a truncated .octv file of " + std::to_string(bytes.size()) + " bytes",
                   std::to_string(header.file_bytes) + " bytes");
  }
  if (header.file_bytes < bytes.size()) {
    return damaged(name, std::to_string(bytes.size() - header.file_bytes) + " bytes after the end of an .octv file",
                   std::to_string(header.file_bytes) + " bytes in all");
  }
  if (const std::uint64_t actual = checksum_of_file(bytes); header.checksum != actual) {
    return damaged(name, "a damaged .octv file with checksum " + hex(actual), hex(header.checksum),
                   "Copy or compile it again");
  }
  return ok_status();
}

// By type; those of unknown types are left out.
using Sections = std::map<SectionType, std::span<const std::byte>>;

bool is_known(SectionType type) { return type >= SectionType::model && type <= SectionType::packings; }

bool lies_within(const ArtifactSection& section, std::uint64_t first, std::uint64_t file_bytes) {
  const bool has_page = section.type == SectionType::constants || section.type == SectionType::networks;
  const bool is_placed = !has_page || section.offset % kArtifactPage == 0;
  return is_placed && section.reserved == 0 && section.offset >= first && section.offset <= file_bytes &&
         section.bytes <= file_bytes - section.offset;
}

Result<Sections> sections_of(const ArtifactHeader& header, std::span<const std::byte> bytes, const std::string& name) {
  const auto wrong = [&](std::string found) {
    return damaged(name, std::move(found), "a table of sections inside " + std::to_string(bytes.size()) + " bytes");
  };
  if (header.reserved != 0 || header.sections > (bytes.size() - sizeof header) / sizeof(ArtifactSection))
    return wrong("a section table that ends outside the .octv file");
  Sections sections;
  const std::uint64_t first = sizeof header + header.sections * sizeof(ArtifactSection);
  for (std::uint64_t i = 0; i < header.sections; ++i) {
    ArtifactSection section;
    std::memcpy(&section, bytes.data() + sizeof header + i * sizeof section, sizeof section);
    if (!lies_within(section, first, bytes.size()))
      return wrong("section " + std::to_string(i) + ", which lies outside the .octv file");
    if (is_known(section.type) && !sections.emplace(section.type, bytes.subspan(section.offset, section.bytes)).second)
      return wrong("two sections of type " + std::to_string(static_cast<std::uint32_t>(section.type)));
  }
  for (const SectionType type : {SectionType::model, SectionType::plans, SectionType::constants}) {
    if (!sections.contains(type))
      return wrong("no section of type " + std::to_string(static_cast<std::uint32_t>(type)));
  }
  return sections;
}

Status read_plans(const Sections& sections, const std::string& name, std::vector<Plan>& plans) {
  auto decoded = decode_all<std::vector<Plan>>(sections.at(SectionType::plans));
  if (!decoded) return damaged(name, "metadata that cannot be decoded", "the plans of an .octv file");
  plans = std::move(*decoded);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Status status = check_indices(plans[i]);
    if (status) continue;
    Errors errors = std::move(status).errors();
    for (Error& error : errors) error.where = name + ", plan " + std::to_string(i) + ", " + error.where;
    return errors;
  }
  if (!sections.contains(SectionType::reports)) return ok_status();
  auto reports = decode_all<std::vector<PlanReport>>(sections.at(SectionType::reports));
  if (!reports || reports->size() != plans.size())
    return damaged(name, "metadata that cannot be decoded", "a report of each plan");
  for (std::size_t i = 0; i < plans.size(); ++i) plans[i].report = std::move((*reports)[i]);
  return ok_status();
}

// The network of open sizes, where the file has one; its weights are the first of the constants.
Status read_network(const Sections& sections, const std::string& name, CompiledModel& model) {
  if (sections.contains(SectionType::network)) {
    model.network = decode_all<OpenNetwork>(sections.at(SectionType::network));
    if (!model.network) return damaged(name, "a network that cannot be decoded", "one whose sizes are open");
  }
  const std::uint64_t bytes = model.network ? model.network->weight_bytes : 0;
  const auto weights = sections.find(SectionType::weights);
  const bool is_there = weights == sections.end()
                            ? bytes == 0
                            : weights->second.data() == model.constants.data() && weights->second.size() == bytes &&
                                  bytes <= model.constants.size();
  return is_there ? ok_status()
                  : damaged(name, "weights that are not where its constants begin",
                            std::to_string(bytes) + " bytes of them");
}

// A file, or one inside a program's.
enum class Level { file, network };

Result<CompiledModel> parse(std::span<const std::byte> bytes, const std::string& name, Level level);

// The parts of a program, and the files of its networks, one behind the other.
Status read_program(const Sections& sections, const std::string& name, Level level, CompiledModel& model) {
  if (!sections.contains(SectionType::program)) return ok_status();
  if (level == Level::network) return damaged(name, "a program inside a program", "networks");
  model.program = decode_all<Program>(sections.at(SectionType::program));
  if (!model.program) return damaged(name, "a program that cannot be decoded", "the parts of a model");
  const auto found = sections.find(SectionType::networks);
  std::span<const std::byte> rest = found == sections.end() ? std::span<const std::byte>() : found->second;
  while (!rest.empty()) {
    ArtifactHeader header;
    if (rest.size() < sizeof header) return damaged(name, "a network that is cut off", "whole ones");
    std::memcpy(&header, rest.data(), sizeof header);
    if (header.file_bytes < sizeof header || header.file_bytes > rest.size())
      return damaged(name, "a network of " + std::to_string(header.file_bytes) + " bytes",
                     "at most " + std::to_string(rest.size()));
    auto network = parse(rest.first(header.file_bytes), name + ", network " + std::to_string(model.networks.size()),
                         Level::network);
    if (!network) return network.errors();
    model.networks.push_back(std::move(*network));
    rest = rest.subspan(std::min<std::size_t>(rest.size(), round_to_page(header.file_bytes)));
  }
  Status known = check_program(model);
  if (known) return known;
  Errors errors = std::move(known).errors();
  for (Error& error : errors) error.where = name + ", " + error.where;
  return errors;
}

// Everything but the constants' memory; `constants` points into `bytes`.
Result<CompiledModel> parse(std::span<const std::byte> bytes, const std::string& name, Level level) {
  if (!looks_like_artifact(bytes)) return damaged(name, "something else", "an .octv file");
  if (bytes.size() < sizeof(ArtifactHeader)) {
    return damaged(name, "a truncated .octv file of " + std::to_string(bytes.size()) + " bytes",
                   "a header of " + std::to_string(sizeof(ArtifactHeader)) + " bytes");
  }
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (Status status = check_header(header, bytes, name); !status) return status.errors();
  const auto sections = sections_of(header, bytes, name);
  if (!sections) return sections.errors();
  auto metadata = decode_all<ModelMetadata>(sections->at(SectionType::model));
  if (!metadata) return damaged(name, "metadata that cannot be decoded", "the metadata of an .octv file");
  CompiledModel model{.source = std::move(metadata->source),
                      .dialect = std::move(metadata->dialect),
                      .source_nodes = metadata->source_nodes,
                      .pictures = std::move(metadata->pictures),
                      .constants = sections->at(SectionType::constants)};
  if (sections->contains(SectionType::states)) {
    auto states = decode_all<StatesMetadata>(sections->at(SectionType::states));
    if (!states) return damaged(name, "states that cannot be decoded", "names of inputs");
    model.states = std::move(states->states);
  }
  if (sections->contains(SectionType::packings)) {
    auto packings = decode_all<std::vector<StoredPacking>>(sections->at(SectionType::packings));
    if (!packings) return damaged(name, "packings that cannot be decoded", "what kernels made of weights");
    model.packings = std::move(*packings);
  }
  if (Status status = read_plans(*sections, name, model.plans); !status) return status.errors();
  if (Status status = read_network(*sections, name, model); !status) return status.errors();
  if (Status status = read_program(*sections, name, level, model); !status) return status.errors();
  return model;
}

Error unreadable(const std::string& path, int error) {
  return {
      .kind = ErrorKind::resource, .where = path, .found = std::strerror(error), .expected = "a file that can be read"};
}

struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0) close(fd);
  }
};

// A private, read-only mapping that lasts as long as the pointer.
struct MappedFile {
  std::shared_ptr<const void> memory;
  std::span<const std::byte> bytes;
};

Result<MappedFile> map_file(const std::string& path) {
  const FileDescriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return unreadable(path, errno);
  struct stat status {};
  if (fstat(file.fd, &status) != 0) return unreadable(path, errno);
  if (!S_ISREG(status.st_mode)) return unreadable(path, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile{};
  void* memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (memory == MAP_FAILED) return unreadable(path, errno);
  MappedFile mapped;
  mapped.memory = std::shared_ptr<const void>(memory, [size](const void* p) { munmap(const_cast<void*>(p), size); });
  mapped.bytes = {static_cast<const std::byte*>(memory), size};
  return mapped;
}

}  // namespace

NetworkPorts ports_of(const CompiledModel& network) {
  if (!network.plans.empty()) return {network.plans[0].inputs.size(), network.plans[0].outputs.size()};
  if (network.network) return {network.network->graph.inputs.size(), network.network->graph.outputs.size()};
  return {};
}

Status check_program(const CompiledModel& model) {
  std::vector<NetworkPorts> ports;
  for (const CompiledModel& network : model.networks) ports.push_back(ports_of(network));
  return check_program(*model.program, ports);
}

bool looks_like_artifact(std::span<const std::byte> bytes) {
  return bytes.size() >= kArtifactMagic.size() &&
         std::memcmp(bytes.data(), kArtifactMagic.data(), kArtifactMagic.size()) == 0;
}

Result<CompiledModel> read_artifact(const std::string& path) {
  auto file = map_file(path);
  if (!file) return file.errors();
  auto model = parse(file->bytes, path, Level::file);
  if (!model) return model;
  model->constants_owner = file->memory;
  for (CompiledModel& network : model->networks) network.constants_owner = file->memory;
  return model;
}

namespace {

void own_constants(CompiledModel& model) {
  auto owned = std::make_shared<const AlignedBytes>(model.constants.begin(), model.constants.end());
  model.constants = *owned;
  model.constants_owner = std::move(owned);
}

}  // namespace

Result<CompiledModel> parse_artifact(std::span<const std::byte> bytes, const std::string& name) {
  auto model = parse(bytes, name, Level::file);
  if (!model) return model;
  own_constants(*model);
  for (CompiledModel& network : model->networks) own_constants(network);
  return model;
}

Status check_weights(const CompiledModel& model) {
  const OpenNetwork& network = *model.network;
  const std::uint64_t actual = checksum_of(model.constants.first(network.weight_bytes));
  if (actual == network.weight_checksum) return ok_status();
  return damaged(model.source, "damaged weights with checksum " + hex(actual), hex(network.weight_checksum),
                 "Copy or compile the .octv file again");
}

void repair_checksum(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(ArtifactHeader)) return;
  ArtifactHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.file_bytes = bytes.size();
  header.checksum = checksum_of_file(bytes);
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace octavo
