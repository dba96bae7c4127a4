// Reading and setting inputs. Part of cli/.
#include "cli/inputs.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "data/image_decode.h"
#include "data/npy.h"

namespace octavo::cli {
namespace {

Error input_error(std::string found, std::string expected) {
  return {.kind = ErrorKind::usage, .where = "--input", .found = std::move(found), .expected = std::move(expected)};
}

std::string describe(const Tensor& tensor) {
  return std::string(name_of(tensor.dtype())) + "[" + tensor.shape().to_string() + "]";
}

const v1::StateInfo* state_of(const Session& session, const std::string& input) {
  const auto& states = session.states();
  const auto found =
      std::find_if(states.begin(), states.end(), [&](const v1::StateInfo& state) { return state.name == input; });
  return found == states.end() ? nullptr : &*found;
}

// Whether nobody has to say which input is meant.
bool has_one_input(const Session& session) {
  const auto& infos = session.plan().inputs;
  return std::count_if(infos.begin(), infos.end(),
                       [&](const v1::TensorInfo& info) { return state_of(session, info.name) == nullptr; }) == 1;
}

const GivenInput* find(const GivenInputs& given, const std::string& name, bool is_only_input) {
  if (const auto it = given.find(name); it != given.end()) return &it->second;
  if (const auto it = given.find(""); it != given.end() && is_only_input) return &it->second;
  return nullptr;
}

Result<GivenInput> read_input(const std::string& path) {
  if (is_image_name(path)) {
    auto image = read_image(path);
    return image ? Result<GivenInput>(std::move(*image)) : image.errors();
  }
  auto tensor = read_npy(path);
  return tensor ? Result<GivenInput>(std::move(*tensor)) : tensor.errors();
}

// An array in the type of the input; f32 is quantized for one with a scale.
Result<Tensor> from_array(const Tensor& array, const InputSpec& spec, const Tensor& input) {
  const bool is_quantized_here = spec.scale && array.dtype() == DType::f32;
  if ((array.dtype() != input.dtype() && !is_quantized_here) || array.shape() != input.shape()) {
    return input_error(describe(array) + " for input '" + spec.name + "'",
                       describe(input) + (spec.scale ? ", or f32 to be quantized with its scale" : ""));
  }
  return is_quantized_here ? quantized(array, *spec.scale) : array;
}

Result<Tensor> from_picture(const Picture& picture, const InputSpec& spec, const Tensor& input,
                            const std::optional<Preprocess>& preprocess) {
  if (!preprocess) {
    return input_error("a picture for input '" + spec.name + "' and no --preprocess",
                       "how pixels become numbers, or a model that was compiled with --input-type u8");
  }
  auto tensor = image_to_input(picture, *preprocess, spec);
  if (!tensor || tensor->shape() == input.shape()) return tensor;
  return input_error("one picture for input '" + spec.name + "'", describe(input));
}

// Shapes that arrays ask of a model that is still to be compiled, unless the user gave one.
void ask_for_shapes(const GivenInputs& given, CompileRequest& request) {
  if (!request.options.pictures.empty()) return;  // shapes are the file's, pictures have another layout
  for (const auto& [name, input] : given) {
    const auto* tensor = std::get_if<Tensor>(&input);
    if (tensor != nullptr && !name.empty())
      request.options.shapes.try_emplace(name, std::vector<Extent>(tensor->shape().begin(), tensor->shape().end()));
  }
}

// The shapes of arrays for a model with open sizes. Nothing for others, and where not all inputs are arrays.
v1::InputShapes shapes_for(const v1::ModelInfo& info, const GivenInputs& given) {
  v1::InputShapes shapes;
  for (const v1::OpenTensorInfo& input : info.open_inputs) {
    const GivenInput* one = find(given, input.name, info.open_inputs.size() == 1);
    const auto* tensor = one == nullptr ? nullptr : std::get_if<Tensor>(one);
    const bool is_state = std::any_of(info.states.begin(), info.states.end(),
                                      [&](const v1::StateInfo& state) { return state.name == input.name; });
    if (tensor == nullptr && is_state) continue;  // its shape is numbers, or somebody has to say it
    if (tensor == nullptr) return {};
    shapes[input.name] = tensor->shape().to_vector();
  }
  return shapes;
}

// The batch that they have, where they agree on the first dimension; that of a picture is 1.
std::optional<std::int64_t> batch_of(const GivenInputs& given) {
  std::optional<std::int64_t> batch;
  for (const auto& [name, input] : given) {
    const auto* tensor = std::get_if<Tensor>(&input);
    if (tensor != nullptr && tensor->shape().rank() == 0) return std::nullopt;
    const std::int64_t own = tensor == nullptr ? 1 : tensor->shape()[0];
    if (batch && *batch != own) return std::nullopt;
    batch = own;
  }
  return batch;
}

// Those inputs that something is given for.
Status set_given(const GivenInputs& given, const CompileRequest& request, Session& session) {
  const auto& infos = session.plan().inputs;
  const auto preprocess = preprocess_for(session, request);
  if (!preprocess) return preprocess.errors();
  std::string names;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    names += (i == 0 ? "'" : ", '") + infos[i].name + "'";
    const bool is_state = state_of(session, infos[i].name) != nullptr;
    const GivenInput* one = find(given, infos[i].name, has_one_input(session) && !is_state);
    if (one == nullptr) continue;
    Tensor& input = session.inputs()[i];
    const InputSpec spec = input_spec(infos[i], session.plan().batch);
    const auto* array = std::get_if<Tensor>(one);
    const auto stored = array != nullptr ? from_array(*array, spec, input)
                                         : from_picture(std::get<Picture>(*one), spec, input, *preprocess);
    if (!stored) return stored.errors();
    std::memcpy(input.data(), stored->data(), input.bytes());
  }
  for (const auto& [name, input] : given) {
    const bool is_known = name.empty() ? has_one_input(session) : names.find("'" + name + "'") != std::string::npos;
    if (!is_known) return input_error("unknown input '" + name + "'", names);
  }
  return ok_status();
}

}  // namespace

Result<GivenInputs> read_inputs(const std::vector<std::string>& arguments) {
  GivenInputs inputs;
  for (const std::string& argument : arguments) {
    // The last '=' would split file names, the first one tensor names; neither is common, names with '=' even less.
    const std::size_t equals = argument.find('=');
    const std::string name = equals == std::string::npos ? "" : argument.substr(0, equals);
    auto input = read_input(equals == std::string::npos ? argument : argument.substr(equals + 1));
    if (!input) return input.errors();
    if (!inputs.emplace(name, std::move(*input)).second) return input_error("'" + name + "' twice", "each input once");
  }
  return inputs;
}

Result<Session> open_session(const std::string& path, CompileRequest request, const GivenInputs& given,
                             const FindShapes& find_shapes) {
  const bool is_asked = request.plan.batch.has_value(), is_compiled_here = !v1::is_compiled(path);
  if (const auto batch = batch_of(given); batch && !is_asked) {
    request.plan.batch = batch;
    request.options.batches = {*batch};
    request.guesses_batch = true;
  }
  if (is_compiled_here) ask_for_shapes(given, request);
  const auto compiled = open_or_compile(path, request);
  if (!compiled) return compiled.errors();
  const v1::ModelInfo info = compiled->info();
  RunChoice choice = choice_of(path, request);
  if (choice.shapes.empty()) choice.shapes = shapes_for(info, given);
  if (choice.shapes.empty()) choice.shapes = shapes_of_crop(info, request);
  if (choice.shapes.empty() && info.plans.empty() && !info.sizes.empty() && find_shapes) {
    auto found = find_shapes(info);
    if (!found) return found.errors();
    choice.shapes = std::move(*found);
  }
  // What is the only plan needs no choice; a wrong shape is then reported with the tensor's name.
  const bool is_only = is_compiled_here || (!is_asked && (!choice.shapes.empty() || info.plans.size() == 1));
  if (is_only) choice.plan.batch.reset();
  return Session::of_any(*compiled, choice, request.threads);
}

Status set_inputs(const GivenInputs& given, const CompileRequest& request, Session& session) {
  const auto& infos = session.plan().inputs;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    Tensor& input = session.inputs()[i];
    if (const v1::StateInfo* state = state_of(session, infos[i].name)) {
      // Zeros, as its engine begins it, unless something is given.
      for (std::int64_t k = 0; k < input.elements(); ++k) store_double(input.view(), k, state->zero_point);
    } else if (find(given, infos[i].name, has_one_input(session)) == nullptr)
      return input_error("nothing for input '" + infos[i].name + "'",
                         infos[i].name + "=FILE.npy with " + describe(session.inputs()[i]));
  }
  return set_given(given, request, session);
}

FillInputs filled_with(GivenInputs given) {
  return [given = std::move(given)](Session& session) {
    if (Status filled = fill_random(session.inputs()); !filled) return filled;
    return set_given(given, {}, session);
  };
}

void add_timed_inputs(CLI::App& verb, std::vector<std::string>& inputs) {
  verb.add_option("--input", inputs, "what an input holds while it is timed, an .npy; others hold random numbers, or 0")
      ->type_name("NAME=x.npy");
}

std::string file_name_of(const std::string& tensor) {
  // Of at most 255 bytes with what is put behind it: a number, an ending, and what it is called while it is written.
  constexpr std::size_t kLongest = 200;
  std::string name = tensor.substr(0, kLongest);
  for (char& c : name) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  // Neither hidden nor a way out of the folder.
  if (name.empty() || name.front() == '.') name.insert(name.begin(), '_');
  return name;
}

}  // namespace octavo::cli
