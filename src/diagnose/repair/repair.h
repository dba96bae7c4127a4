// Repairs: changes of a file that make it faster in the engine that it is for, with the same answers, which is checked
// by running both. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_REPAIR_REPAIR_H_
#define OCTAVO_DIAGNOSE_REPAIR_REPAIR_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "import/onnx/proto.h"

namespace octavo::repair {

class OnnxEdit;
class TfliteEdit;

// What a repair leaves of the answers. Rounding at other places gives other answers, and a deep network makes much of
// it; so they are measured by what no rounding gives: the file's own network in floats, its bounds kept (unrounded()).
struct Promise {
  bool is_equal = false;    // every bit of every output
  double most_noise = 0.0;  // else: in dB, by how much more the answers may be off from those than before
};

struct Repair {
  std::string_view name;  // as it is asked for
  std::string_view what;  // what it does, in a sentence for people
  std::string_view why;   // what the engine gains, and how that is known
  Promise promise;
};

template <class Edit>
struct RepairOf {
  Repair repair;
  int (*apply)(Edit& edit);  // how many places it changed
};

// In the order in which they are applied.
std::span<const RepairOf<OnnxEdit>> onnx_repairs();
std::span<const RepairOf<TfliteEdit>> tflite_repairs();

// What was done of one repair, and what it did to the answers.
struct Done {
  const Repair* repair = nullptr;
  int places = 0;
  bool is_equal = false;
  double sqnr_db = 0.0;          // to the file before it, of the output that differs most
  double noise_before_db = 0.0;  // signal to rounding noise of the file before it, and
  double noise_after_db = 0.0;   // after it
};

template <class Model>
struct Repaired {
  Model model;
  std::vector<Done> done;  // those that found a place
};

// Applies the repairs of these names, all where there are none, each to what the ones before it left, and runs every
// version on the same random inputs. Errors: usage (no such repair; the file has its sizes open beyond the batch, so
// that nothing can be run), internal (a repair does not keep its promise), those of compiling.
Result<Repaired<onnx::ModelProto>> repair(onnx::ModelProto model, const std::string& file,
                                          std::span<const std::string> names);
// Likewise, of the bytes of a file. Errors besides: unsupported (what cannot be written again).
Result<Repaired<std::string>> repair_tflite(std::string bytes, const std::string& file,
                                            std::span<const std::string> names);

// The network of a quantized file in floats: in the place of every pair of activations the bounds of its type.
onnx::ModelProto unrounded(const onnx::ModelProto& model);
// Of a TFLite file, whatever operators take both; behind each the bounds of its type.
Result<std::string> unrounded_tflite(const std::string& bytes, const std::string& file);

}  // namespace octavo::repair

#endif  // OCTAVO_DIAGNOSE_REPAIR_REPAIR_H_
