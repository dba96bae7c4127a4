// Applying repairs, each checked: what a file answers before and after, by this program's own runtime. Part of
// diagnose/.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analyze/compare.h"
#include "analyze/session.h"
#include "diagnose/repair/onnx_edit.h"
#include "diagnose/repair/repair.h"
#include "diagnose/repair/tflite_edit.h"
#include "octavo/compile.h"

namespace octavo::repair {
namespace {

// What the check asks of a format.
struct OnnxFiles {
  using Model = onnx::ModelProto;
  using Edit = OnnxEdit;
  static std::span<const RepairOf<Edit>> repairs() { return onnx_repairs(); }
  static std::string bytes(const Model& model) { return model.SerializeAsString(); }
  static Result<Model> exact(const Model& model, const std::string&) { return unrounded(model); }
  // How many places were changed, and the model then.
  static Result<std::pair<int, Model>> changed(const RepairOf<Edit>& repair, const Model& model, const std::string&) {
    OnnxEdit edit(model);
    const int places = repair.apply(edit);
    return std::pair(places, places == 0 ? Model() : edit.finish());
  }
};
struct TfliteFiles {
  using Model = std::string;
  using Edit = TfliteEdit;
  static std::span<const RepairOf<Edit>> repairs() { return tflite_repairs(); }
  static const std::string& bytes(const Model& model) { return model; }
  static Result<Model> exact(const Model& model, const std::string& file) { return unrounded_tflite(model, file); }
  static Result<std::pair<int, Model>> changed(const RepairOf<Edit>& repair, const Model& model,
                                               const std::string& file) {
    auto edit = TfliteEdit::of(model, file);
    if (!edit) return edit.errors();
    const int places = repair.apply(*edit);
    if (places == 0) return std::pair(0, Model());
    auto written = edit->finish();
    if (!written) return written.errors();
    return std::pair(places, *std::move(written));
  }
};

struct Answers {
  std::vector<std::string> names;
  std::vector<Tensor> outputs;
};

Result<Answers> answers_of(const std::string& bytes, const std::string& file) {
  const auto compiled = v1::compile(std::as_bytes(std::span(bytes)), file,
                                    {.unquantized = v1::Unquantized::fp32, .allow_reference = true});
  if (!compiled) return compiled.errors();
  auto session = Session::create(*compiled, {}, 0);
  if (!session) return session.errors();
  if (const Status filled = fill_random(session->inputs()); !filled) return filled.errors();
  if (const Status done = session->run(); !done) return done.errors();
  Answers answers;
  for (std::size_t i = 0; i < session->outputs().size(); ++i) {
    answers.names.push_back(session->plan().outputs[i].name);
    answers.outputs.push_back(Tensor::copy_of(session->outputs()[i].view()));
  }
  return answers;
}

// Signal to noise of the output that differs most; infinite where none differs.
Result<double> least_sqnr(const Answers& reference, const Answers& other, const std::string& file) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < reference.outputs.size(); ++i) {
    const bool fits = i < other.outputs.size() && reference.names[i] == other.names[i] &&
                      reference.outputs[i].shape() == other.outputs[i].shape();
    if (!fits) {
      return Error{.kind = ErrorKind::internal,
                   .where = file,
                   .found = "another output than '" + reference.names[i] + "' after a repair",
                   .expected = "the same outputs"};
    }
    const Difference difference = compare_tensors(reference.outputs[i].view(), other.outputs[i].view());
    if (difference.differing != 0) least = std::min(least, difference.sqnr_db);
  }
  return least;
}

// What both versions answer, beside each other and beside what no rounding gives.
Result<Done> compared(const Answers& exact, const Answers& before, const Answers& after, const std::string& file) {
  const auto apart = least_sqnr(before, after, file);
  const auto first = least_sqnr(exact, before, file), second = least_sqnr(exact, after, file);
  for (const auto* each : {&apart, &first, &second}) {
    if (!*each) return each->errors();
  }
  return Done{.is_equal = std::isinf(*apart), .sqnr_db = *apart, .noise_before_db = *first, .noise_after_db = *second};
}

// 40 dB is as good as exact: less noise than that is nobody's loss.
bool keeps(const Promise& promise, const Done& done) {
  if (done.is_equal) return true;
  return !promise.is_equal && done.noise_after_db >= std::min(done.noise_before_db, 40.0) - promise.most_noise;
}

// Those asked for, in the order of the list.
template <class Edit>
Result<std::vector<const RepairOf<Edit>*>> chosen(std::span<const RepairOf<Edit>> all,
                                                  std::span<const std::string> names) {
  std::vector<const RepairOf<Edit>*> repairs;
  for (const RepairOf<Edit>& each : all) {
    if (names.empty() || std::ranges::find(names, each.repair.name) != names.end()) repairs.push_back(&each);
  }
  for (const std::string& name : names) {
    if (std::ranges::any_of(all, [&](const RepairOf<Edit>& each) { return each.repair.name == name; })) continue;
    std::string known;
    for (const RepairOf<Edit>& each : all) known += (known.empty() ? "" : ", ") + std::string(each.repair.name);
    return Error{.kind = ErrorKind::usage, .where = "--repairs", .found = "'" + name + "'", .expected = known};
  }
  return repairs;
}

Error broken_promise(const std::string& file, const Repair& repair, const Done& done) {
  const std::string found =
      repair.promise.is_equal
          ? fmt::format("answers that differ, SQNR {:.1f} dB, after {} changes", done.sqnr_db, done.places)
          : fmt::format("{:.1f} dB of signal to rounding noise after {} changes, {:.1f} dB before them",
                        done.noise_after_db, done.places, done.noise_before_db);
  return {.kind = ErrorKind::internal,
          .where = file + ": repair '" + std::string(repair.name) + "'",
          .found = found,
          .expected =
              repair.promise.is_equal ? "the same bits" : fmt::format("at most {} dB less", repair.promise.most_noise),
          .hint = "Nothing is written; --repairs names the others"};
}

template <class Files>
Result<Repaired<typename Files::Model>> repair_files(typename Files::Model model, const std::string& file,
                                                     std::span<const std::string> names) {
  const auto repairs = chosen(Files::repairs(), names);
  if (!repairs) return repairs.errors();
  auto before = answers_of(Files::bytes(model), file);
  if (!before) return before.errors();
  const auto floats = Files::exact(model, file);
  if (!floats) return floats.errors();
  const auto exact = answers_of(Files::bytes(*floats), file + ", without rounding");
  if (!exact) return exact.errors();
  Repaired<typename Files::Model> repaired{.model = std::move(model), .done = {}};
  for (const auto* each : *repairs) {
    auto changed = Files::changed(*each, repaired.model, file);
    if (!changed) return changed.errors();
    if (changed->first == 0) continue;
    auto after = answers_of(Files::bytes(changed->second), file);
    if (!after) return after.errors();
    auto done = compared(*exact, *before, *after, file);
    if (!done) return done.errors();
    done->repair = &each->repair;
    done->places = changed->first;
    if (!keeps(each->repair.promise, *done)) return broken_promise(file, each->repair, *done);
    repaired.done.push_back(*done);
    repaired.model = std::move(changed->second);
    before = std::move(after);
  }
  return repaired;
}

}  // namespace

Result<Repaired<onnx::ModelProto>> repair(onnx::ModelProto model, const std::string& file,
                                          std::span<const std::string> names) {
  return repair_files<OnnxFiles>(std::move(model), file, names);
}

Result<Repaired<std::string>> repair_tflite(std::string bytes, const std::string& file,
                                            std::span<const std::string> names) {
  return repair_files<TfliteFiles>(std::move(bytes), file, names);
}

}  // namespace octavo::repair
