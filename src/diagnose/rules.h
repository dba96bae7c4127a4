// Rules: what an engine makes of patterns of a file, as records with their source. Part of diagnose/.
#ifndef OCTAVO_DIAGNOSE_RULES_H_
#define OCTAVO_DIAGNOSE_RULES_H_

#include <span>
#include <string_view>
#include <vector>

#include "diagnose/engine_cost.h"
#include "diagnose/file_view.h"
#include "diagnose/finding.h"

namespace octavo::diagnose {

// One node that costs more than it would in the form that the engine is fast in.
struct Loss {
  int node = -1;
  double ms = 0.0;
};

struct Rule {
  Cause cause{};
  std::vector<Loss> (*find)(const FileView& view, const EngineRates& rates) = nullptr;
  Sureness sureness = Sureness::known;
  std::string_view source;  // engine and version, and how it is known
  std::string_view advice;  // in the engine
  std::string_view octavo;  // what Octavo does with the file as it is
};

// In no order that matters: findings are sorted.
std::span<const Rule> rules_of(Engine engine);
// Those about answers, which hold whatever runs the file.
std::span<const Rule> answer_rules();

// ---- what ONNX Runtime does with a product between pairs (ort_products.cpp) ----

struct ProductFate {
  int node = -1;
  Form form = Form::packed_float;
  std::optional<Cause> cause;  // why it is not the fast form
};
// Of all products of an ONNX file.
std::vector<ProductFate> fates_in_ort(const FileView& view);

// What the whole file takes in the engine, predicted: products in the form they get, conversions and passes.
struct PredictedTime {
  double products_ms = 0.0, conversions_ms = 0.0, others_ms = 0.0;
  double total() const { return products_ms + conversions_ms + others_ms; }
};
PredictedTime predicted_time(const FileView& view, Engine engine);

}  // namespace octavo::diagnose

#endif  // OCTAVO_DIAGNOSE_RULES_H_
