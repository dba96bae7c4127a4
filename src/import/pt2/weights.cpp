// The stored tensors of an exported program. Part of import/.
#include "import/pt2/weights.h"

#include <nlohmann/json.hpp>

#include "import/pt2/json.h"
#include "import/pt2/program.h"
#include "import/pt2/types.h"

namespace octavo::pt2_import {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{1} << 27;
constexpr std::uint64_t kLargestPickle = std::uint64_t{1} << 24;
// Views may overlap; four times the archive is more than any model needs.
constexpr std::uint64_t kViewFactor = 4;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 22;
constexpr std::size_t kWeightsErrorLimit = 100;

// A dimension of a stored tensor, which is always a number.
std::int64_t known(const ProgramDim& dim, const JsonPlace& place) {
  if (!dim.expression.empty()) place.fail("the size '" + dim.expression + "'", "a number");
  return dim.value;
}

StridedView view_of(const TensorMeta& meta, const JsonPlace& place) {
  StridedView view;
  const auto dtype = dtype_of_torch(meta.type);
  if (!dtype)
    place.unsupported("elements of type " + torch_type_name(meta.type), "integers, floats of 16 to 64 bits or bool");
  view.dtype = dtype.value_or(DType::f32);
  for (const ProgramDim& dim : meta.sizes) view.sizes.push_back(known(dim, place));
  for (const ProgramDim& dim : meta.strides) view.strides.push_back(known(dim, place));
  view.offset = known(meta.offset, place);
  return view;
}

}  // namespace

Weights::Weights(const Archive& archive)
    : archive_(archive), budget_{kViewFactor * archive.total_bytes() + kFreeBytes} {}

Result<std::shared_ptr<TorchFile>> Weights::open_torch_file(const std::string& entry) {
  // Paid for like a tensor: a hostile list could name one entry very often.
  auto bytes = archive_.read_text(entry, budget_.left);
  if (!bytes) return bytes.errors();
  budget_.left -= bytes->size();
  auto file = std::make_shared<TorchFile>();
  file->bytes = *std::move(bytes);
  auto inner = Archive::open(std::as_bytes(std::span(file->bytes.data(), file->bytes.size())), archive_.where(entry));
  if (!inner) return inner.errors();
  file->archive = *std::move(inner);
  if (file->archive.has("byteorder")) {
    const auto order = file->archive.read_text("byteorder", 16);
    if (!order) return order.errors();
    if (*order != "little")
      return Error{ErrorKind::unsupported, file->archive.where("byteorder"), "'" + *order + "'", "'little'", ""};
  }
  const auto pickle = file->archive.read_text("data.pkl", kLargestPickle);
  if (!pickle) return pickle.errors();
  auto tensors = read_pickle(*pickle, file->archive.where("data.pkl"));
  if (!tensors) return tensors.errors();
  file->tensors = *std::move(tensors);
  return file;
}

Status Weights::add_pickled(const std::string& name, const std::string& entry, const std::string& key,
                            const std::shared_ptr<TorchFile>& file) {
  const auto found = file->tensors.find(key);
  if (found == file->tensors.end()) {
    return Error{ErrorKind::invalid_input, archive_.where(entry), "no tensor '" + name + "'", "one", ""};
  }
  const PickledTensor& tensor = found->second;
  const std::string storage = "data/" + tensor.storage;
  const std::uint64_t stored = file->archive.size_of(storage);
  const auto says = static_cast<std::uint64_t>(tensor.storage_elements);
  if (tensor.storage_elements < 0 || says > stored || says * size_of(tensor.view.dtype) != stored) {
    return Error{
        ErrorKind::invalid_input, file->archive.where(storage), std::to_string(stored) + " bytes",
        std::to_string(tensor.storage_elements) + " elements of type " + std::string(name_of(tensor.view.dtype)), ""};
  }
  places_.emplace(name, Place{storage, tensor.view, file});
  return ok_status();
}

Status Weights::add_torch_file(const std::string& entry) {
  const auto file = open_torch_file(entry);
  if (!file) return file.errors();
  for (const auto& [name, tensor] : (*file)->tensors) {
    if (auto status = add_pickled(name, entry, name, *file); !status) return status;
  }
  return ok_status();
}

Status Weights::add_config(const std::string& entry, const std::string& folder) {
  const auto text = archive_.read_text(entry, kLargestText);
  if (!text) return text.errors();
  const auto document = parse_json(*text, archive_.where(entry));
  if (!document) return document.errors();
  Errors errors;
  const JsonPlace root(*document, archive_.where(entry) + ": payload", errors);
  root.member("config").for_each_member([&](const std::string& name, const JsonPlace& payload) {
    const std::string path = folder + payload.member("path_name").text();
    if (!payload.has("tensor_meta")) return payload.unsupported("an object that is no tensor", "tensors");
    const JsonPlace meta = payload.member("tensor_meta");
    if (!payload.member("use_pickle").boolean()) {
      places_.emplace(name, Place{path, view_of(read_tensor_meta(meta), meta), nullptr});
      return;
    }
    const auto file = open_torch_file(path);
    const Status status = file ? add_pickled(name, path, "", *file) : Status(file.errors());
    for (Error error : status ? Errors() : status.errors()) {
      error.where += ", tensor '" + name + "'";
      if (errors.size() < kWeightsErrorLimit) errors.push_back(std::move(error));
    }
  });
  if (!errors.empty()) return errors;
  return ok_status();
}

Result<Tensor> Weights::read(const std::string& name) {
  const auto found = places_.find(name);
  if (found == places_.end()) {
    return Error{ErrorKind::invalid_input, archive_.file() + ": weights", "no tensor '" + name + "'", "one", ""};
  }
  const Place& place = found->second;
  const Archive& archive = place.file == nullptr ? archive_ : place.file->archive;
  if (!archive.has(place.entry)) {
    return Error{ErrorKind::invalid_input, archive.file() + ": tensor '" + name + "'", "no entry '" + place.entry + "'",
                 "one", ""};
  }
  const ReadStorage read_storage = [&](std::span<std::byte> to) { return archive.read(place.entry, to); };
  auto tensor = read_strided(place.view, archive.size_of(place.entry), read_storage, budget_,
                             archive.where(place.entry) + ": tensor '" + name + "'");
  if (tensor) total_elements_ += static_cast<std::uint64_t>(tensor->elements());
  return tensor;
}

}  // namespace octavo::pt2_import
