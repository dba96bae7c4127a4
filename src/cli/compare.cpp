// octavo compare. Part of cli/.
#include "analyze/compare.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "analyze/against.h"
#include "cli/common.h"
#include "cli/inputs.h"
#include "cli/options.h"

namespace octavo::cli {
namespace {

struct CompareArguments {
  std::string models[2];
  std::vector<std::string> inputs;
  std::optional<double> min_sqnr;
  bool dump = false;
  std::optional<Peer> against;
  PeerOptions engine;
  std::string json;
  CompileArguments compile;
};

struct NamedValue {
  std::string name;
  Tensor tensor;
};

// The value of one output of a step: what its integers stand for, so that plans with other scales, or in f32, can be
// compared with it.
Tensor meaning(const v1::StepInfo& step, std::size_t i) {
  const v1::ConstTensorRef& value = step.outputs[i];
  const ConstTensorView view{value.dtype, Shape(value.shape), static_cast<const std::byte*>(value.data)};
  const bool has_scale = is_8bit(value.dtype) && i < step.value_scales.size() && i < step.value_zero_points.size() &&
                         step.value_scales[i] != 0.0f;
  return has_scale ? dequantized(view, step.value_scales[i], step.value_zero_points[i]) : Tensor::copy_of(view);
}

// What one model answers.
struct Answer {
  std::optional<Preprocess> pictures;  // that the model takes
  std::vector<NamedValue> values;      // intermediate ones first where asked for, then its outputs
};

Result<Answer> answer(const std::string& model, const CompileRequest& request, const GivenInputs& inputs,
                      const CompareArguments& arguments) {
  auto session = open_session(model, request, inputs);
  if (!session) return session.errors();
  const Status set = inputs.empty() ? fill_random(session->inputs()) : set_inputs(inputs, request, *session);
  if (!set) return set.errors();
  Answer answer{session->pictures(), {}};
  std::vector<NamedValue>& values = answer.values;
  if (arguments.dump && session->is_program()) return needs_one_network("--dump");
  if (arguments.dump) {
    session->context().set_step_hook([&](const v1::StepInfo& step) {
      for (std::size_t i = 0; i < step.outputs.size() && i < step.value_names.size(); ++i) {
        values.push_back({step.value_names[i], meaning(step, i)});
      }
    });
  }
  if (const Status done = session->run(); !done) return done.errors();
  for (std::size_t i = 0; i < session->outputs().size(); ++i)
    values.push_back({session->plan().outputs[i].name, Tensor::copy_of(std::as_const(session->outputs()[i]).view())});
  return answer;
}

void print_compare(const std::string& name, const NamedValue& a, const Difference& difference) {
  if (!difference.first) {
    fmt::print("{:<40.40}  identical, {} elements\n", name, difference.elements);
    return;
  }
  fmt::print("{:<40.40}  SQNR {:.1f} dB, {} of {} elements differ, by at most {:g}; first at {}: {:g} and {:g}\n", name,
             difference.sqnr_db, difference.differing, difference.elements, difference.largest,
             position_in(a.tensor.shape(), *difference.first), difference.first_a, difference.first_b);
}

nlohmann::json difference_json(const std::string& name, const Difference& difference) {
  return {{"name", name},
          {"elements", difference.elements},
          {"differing", difference.differing},
          {"sqnr_db", difference.differing == 0 ? nlohmann::json() : nlohmann::json(difference.sqnr_db)},
          {"largest", difference.largest},
          {"first", difference.first ? nlohmann::json(*difference.first) : nlohmann::json()}};
}

int compare_values(const std::vector<NamedValue>& a, const std::vector<NamedValue>& b,
                   const CompareArguments& arguments) {
  bool is_yes = true;
  int compared = 0;
  nlohmann::json list = nlohmann::json::array();
  for (const NamedValue& value : a) {
    const auto other = std::find_if(b.begin(), b.end(), [&](const NamedValue& candidate) {
      return candidate.name == value.name && candidate.tensor.shape() == value.tensor.shape() &&
             is_float(candidate.tensor.dtype()) == is_float(value.tensor.dtype());
    });
    if (other == b.end()) continue;
    const Difference difference = compare_tensors(value.tensor.view(), other->tensor.view());
    print_compare(value.name, value, difference);
    list.push_back(difference_json(value.name, difference));
    is_yes &= arguments.min_sqnr ? difference.sqnr_db >= *arguments.min_sqnr : difference.differing == 0;
    ++compared;
  }
  if (compared == 0)
    return report({.kind = ErrorKind::usage,
                   .where = "compare",
                   .found = "no output that both have with one shape",
                   .expected = "two variants of one model"});
  const int code = arguments.json.empty() ? 0 : write_json(arguments.json, {{"tensors", list}, {"same", is_yes}});
  return code != 0 ? code : is_yes ? 0 : kAnswerIsNo;
}

int compare(const CompareArguments& arguments) {
  const auto request = request_for(arguments.compile, arguments.models);
  if (!request) return report(request.errors());
  const auto inputs = read_inputs(arguments.inputs);
  if (!inputs) return report(inputs.errors());
  warn_of_random(*request);
  const auto a = answer(arguments.models[0], *request, *inputs, arguments);
  if (!a) return report(a.errors());
  const auto b = answer(arguments.models[1], *request, *inputs, arguments);
  if (!b) return report(b.errors());
  if (inputs->empty() && a->pictures != b->pictures) {
    return report({.kind = ErrorKind::usage,
                   .where = "compare",
                   .found = "a model that takes pictures beside one that takes what they become, and no --input",
                   .expected = "--input with a picture"});
  }
  return compare_values(a->values, b->values, arguments);
}

constexpr Word<Peer> kPeers[] = {{"onnxruntime", Peer::onnxruntime}, {"litert", Peer::litert}};

int compare_engines(const CompareArguments& arguments) {
  const std::string& model = arguments.models[0];
  const auto request = request_for(arguments.compile, {&model, 1});
  if (!request) return report(request.errors());
  const auto inputs = read_inputs(arguments.inputs);
  if (!inputs) return report(inputs.errors());
  if (const auto known = tensors_of_file(model); !known) return report(known.errors());
  warn_of_random(*request);
  auto session = open_session(model, *request, *inputs);
  if (!session) return report(session.errors());
  const Status set = inputs->empty() ? fill_random(session->inputs()) : set_inputs(*inputs, *request, *session);
  if (!set) return report(set.errors());
  AgainstOptions options{arguments.engine, arguments.min_sqnr};
  options.engine.peer = *arguments.against;
  const auto compared = compare_against(model, *session, options);
  if (!compared) return report(compared.errors());
  fmt::print("{}", against_text(*compared));
  const int code = arguments.json.empty() ? 0 : write_json(arguments.json, against_json(*compared));
  return code != 0 ? code : compared->first() == nullptr ? 0 : kAnswerIsNo;
}

int compare_models_or_engines(const CompareArguments& arguments) {
  const bool has_second = !arguments.models[1].empty();
  if (has_second != arguments.against.has_value()) return has_second ? compare(arguments) : compare_engines(arguments);
  return report({.kind = ErrorKind::usage,
                 .where = "compare",
                 .found = has_second ? "B and --against" : "one model",
                 .expected = "a second one, or --against with an engine"});
}

void add_engine_options(CLI::App& verb, CompareArguments& arguments) {
  add_word_option(verb, "--against", arguments.against, kPeers,
                  "instead of B: what this engine makes of the file A, tensor by tensor; needs Python with its package "
                  "(onnxruntime; ai-edge-litert for litert)")
      ->type_name("ENGINE")
      ->excludes("--dump");
  verb.add_option("--python", arguments.engine.python, "the interpreter that has it")
      ->type_name("PATH")
      ->needs("--against")
      ->capture_default_str();
  verb.add_option("--timeout", arguments.engine.timeout_seconds, "seconds that it may take")
      ->type_name("S")
      ->needs("--against")
      ->check(positive_number())
      ->capture_default_str();
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App& verb = *app.add_subcommand(
      "compare",
      "run two models, or one here and in another engine, on the same input: signal to noise and first difference "
      "of each output");
  verb.add_option("A", arguments->models[0], "model file or .octv; the reference")->required();
  verb.add_option("B", arguments->models[1], "model file or .octv");
  verb.add_option("--input", arguments->inputs, "an input (default: seeded random numbers)")->type_name("NAME=x.npy");
  verb.add_option("--min-sqnr", arguments->min_sqnr,
                  "yes where every output reaches this (default: only where all are identical; of floats --against "
                  "an engine 60)")
      ->type_name("DB");
  verb.add_flag("--dump", arguments->dump, "compare intermediate values of equal name and shape, too");
  add_engine_options(verb, *arguments);
  verb.add_option("--json", arguments->json, "write the differences as JSON")->type_name("F");
  add_run_options(verb, arguments->compile, Batches::one, PreprocessOf::images);
  verb.callback([arguments, &exit_code] { exit_code = compare_models_or_engines(*arguments); });
}

}  // namespace octavo::cli
