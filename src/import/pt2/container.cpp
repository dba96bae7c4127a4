// The layouts of .pt2 archives. Part of import/.
#include "import/pt2/container.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace octavo::pt2_import {
namespace {

constexpr std::uint64_t kLargestProgram = std::uint64_t{1} << 27;
constexpr std::uint64_t kLargestVersion = 64;
constexpr std::string_view kHint = "Save the model with torch.export.save";

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Result<std::string> read_word(const Archive& archive, const std::string& entry) {
  auto text = archive.read_text(entry, kLargestVersion);
  if (text) text->erase(text->find_last_not_of(" \r\n") + 1);
  return text;
}

Status check_word(const Archive& archive, const std::string& entry, std::string_view expected) {
  const auto word = read_word(archive, entry);
  if (!word) return word.errors();
  if (*word == expected) return ok_status();
  return Error{ErrorKind::unsupported, archive.where(entry), "'" + *word + "'", "'" + std::string(expected) + "'", ""};
}

Result<Program> read_program_entry(const Archive& archive, const std::string& entry) {
  const auto text = archive.read_text(entry, kLargestProgram);
  if (!text) return text.errors();
  const auto document = parse_json(*text, archive.where(entry));
  if (!document) return document.errors();
  return read_program(*document, archive.where(entry));
}

// "models/<name>.json": exactly one program.
Result<std::string> find_model(const Archive& archive) {
  std::vector<std::string> models;
  for (const std::string& name : archive.names()) {
    if (starts_with(name, "models/") && ends_with(name, ".json")) models.push_back(name.substr(7, name.size() - 12));
  }
  if (models.size() == 1) return models[0];
  const auto names = archive.names();
  const bool is_compiled = std::any_of(names.begin(), names.end(),
                                       [](const std::string& name) { return starts_with(name, "data/aotinductor/"); });
  const std::string found = models.empty() ? std::string(is_compiled ? "code compiled by AOTInductor" : "no program")
                                           : std::to_string(models.size()) + " programs";
  return Error{ErrorKind::unsupported, archive.file(), found, "one exported program", std::string(kHint)};
}

// The tensors of one folder: a list with raw entries, or a pickle as the first versions of this layout had it.
Status add_folder(const Archive& archive, Weights& weights, const std::string& folder, const std::string& model,
                  const std::string& kind) {
  const std::string config = folder + model + "_" + kind + "_config.json", pickle = folder + model + ".pt";
  if (archive.has(config)) return weights.add_config(config, folder);
  if (archive.has(pickle)) return weights.add_torch_file(pickle);
  return Error{ErrorKind::invalid_input, archive.file(), "neither '" + config + "' nor '" + pickle + "'", "one of them",
               ""};
}

Result<Container> with_program(const Archive& archive, const std::string& entry, Weights weights) {
  auto program = read_program_entry(archive, entry);
  if (!program) return program.errors();
  return Container{*std::move(program), std::move(weights)};
}

Result<Container> read_archive_layout(const Archive& archive) {
  if (auto status = check_word(archive, "archive_version", "0"); !status) return status.errors();
  if (archive.has("byteorder")) {
    if (auto status = check_word(archive, "byteorder", "little"); !status) return status.errors();
  }
  const auto model = find_model(archive);
  if (!model) return model.errors();
  Weights weights(archive);
  for (const auto& [folder, kind] :
       {std::pair("data/weights/", "weights"), std::pair("data/constants/", "constants")}) {
    if (auto status = add_folder(archive, weights, folder, *model, kind); !status) return status.errors();
  }
  return with_program(archive, "models/" + *model + ".json", std::move(weights));
}

Result<Container> read_serialized_layout(const Archive& archive) {
  const auto version = read_word(archive, "version");
  if (!version) return version.errors();
  if (!starts_with(*version, std::to_string(kSchemaMajor) + ".")) {
    return Error{ErrorKind::unsupported, archive.where("version"), "version " + *version,
                 "version " + std::to_string(kSchemaMajor), "Export the model with a PyTorch of 2.6 or newer"};
  }
  Weights weights(archive);
  for (const char* part : {"serialized_state_dict", "serialized_constants"}) {
    const std::string entry = part;
    // Both names hold a file of torch.save.
    const std::string name = archive.has(entry + ".pt") ? entry + ".pt" : entry + ".json";
    if (auto status = weights.add_torch_file(name); !status) return status.errors();
  }
  return with_program(archive, "serialized_exported_program.json", std::move(weights));
}

}  // namespace

Result<Container> read_container(const Archive& archive) {
  if (archive.has("archive_version")) return read_archive_layout(archive);
  if (archive.has("serialized_exported_program.json")) return read_serialized_layout(archive);
  const bool is_pickle = archive.has("data.pkl");
  return Error{ErrorKind::unsupported, archive.file(),
               is_pickle ? "a zip archive of torch.save or TorchScript"
                         : "a zip archive without the entries of an exported program",
               "an archive of torch.export", std::string(kHint)};
}

}  // namespace octavo::pt2_import
