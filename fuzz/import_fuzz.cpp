// Fuzz target: bytes as an ONNX file, through import, quantization, lowering and planning. Must never crash, hang or
// take unbounded memory.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "fuzz/planning.h"
#include "fuzz/proto_mutator.h"
#include "fuzz/scratch_folder.h"
#include "import/import.h"
#include "import/onnx/operators.h"
#include "import/onnx/ort_format.h"
#include "import/onnx/proto.h"

namespace octavo {
namespace {

// Where external data may lie: data.bin, and link.bin that leads out of the folder.
class DataFolder : public fuzz::ScratchFolder {
 public:
  DataFolder() {
    if (path().empty()) return;
    std::ofstream(path() + "/data.bin") << std::string(256, '\1');
    std::filesystem::create_symlink("/etc/hostname", path() + "/link.bin");
  }
};

void import_lower_plan(std::span<const std::byte> bytes) {
  static const DataFolder folder;
  fuzz::quantize_and_plan(import_onnx(bytes, folder.path(), "fuzz.onnx", fuzz::import_options_for(bytes)));
}

// Operators' names, and what else the importer compares strings with.
std::vector<std::string> words() {
  std::vector<std::string> words = {"",
                                    "data.bin",
                                    "link.bin",
                                    "../data.bin",
                                    "location",
                                    "offset",
                                    "length",
                                    "com.microsoft",
                                    "ai.onnx",
                                    "NOTSET",
                                    "SAME_UPPER",
                                    "VALID",
                                    "SAME_LOWER",
                                    "constant",
                                    "reflect",
                                    "edge",
                                    "linear",
                                    "cubic",
                                    "nearest",
                                    "half_pixel",
                                    "floor",
                                    "asymmetric",
                                    "axis",
                                    "axes",
                                    "perm",
                                    "pads",
                                    "group",
                                    "strides",
                                    "dilations",
                                    "keepdims",
                                    "ceil_mode",
                                    "alpha",
                                    "block_size",
                                    "ONNXRuntime",
                                    "If",
                                    "Loop",
                                    "Scan",
                                    "body",
                                    "then_branch",
                                    "else_branch",
                                    "num_scan_inputs",
                                    "scan_input_axes",
                                    "scan_output_axes"};
  for (const onnx_import::Operator& op : onnx_import::all_operators()) words.emplace_back(op.name);
  return words;
}

std::span<const std::byte> view_of(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

// 0 where it does not fit.
std::size_t store(const onnx::ModelProto& model, std::uint8_t* to, std::size_t room) {
  const std::string bytes = model.SerializePartialAsString();
  if (bytes.empty() || bytes.size() > room) return 0;
  std::memcpy(to, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace
}  // namespace octavo

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  // One in eight as plain bytes: the parser itself wants trying too; so does that of ONNX Runtime's format, always.
  const bool is_ort = octavo::onnx_import::is_ort_format({reinterpret_cast<const char*>(data), size});
  if (seed % 8 != 0 && !is_ort) {
    if (auto model = octavo::onnx_import::parse_model_bytes(octavo::view_of(data, size), "fuzz.onnx")) {
      static const std::vector<std::string> words = octavo::words();
      octavo::fuzz::ProtoMutator mutator(seed, words);
      for (unsigned i = 0; i <= seed / 8 % 4; ++i) mutator.mutate(*model);
      if (const std::size_t stored = octavo::store(*model, data, max_size); stored != 0) return stored;
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* a, std::size_t a_size, const std::uint8_t* b,
                                                 std::size_t b_size, std::uint8_t* out, std::size_t max_out,
                                                 unsigned seed) {
  auto model = octavo::onnx_import::parse_model_bytes(octavo::view_of(a, a_size), "fuzz.onnx");
  const auto other = octavo::onnx_import::parse_model_bytes(octavo::view_of(b, b_size), "fuzz.onnx");
  if (!model || !other) return 0;
  octavo::fuzz::ProtoMutator(seed, {}).splice(*model, *other);
  return octavo::store(*model, out, max_out);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::import_lower_plan(octavo::view_of(data, size));
  return 0;
}
