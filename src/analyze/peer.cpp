// What is asked of another engine's process, and its answer. Part of analyze/.
#include "analyze/peer.h"

#include <nlohmann/json.hpp>

#include "analyze/command.h"
#include "base/file.h"
#include "data/npy.h"

namespace octavo {
namespace {

// The program that the interpreter gets: run(engine, request) is the engine's. Its last argument is the request's file.
// An answer has "version", or "missing" or "refused" with the reason. The working folder is no place for packages.
constexpr std::string_view kBegin = R"(
import json, sys
sys.path[:] = [folder for folder in sys.path if folder]
with open(sys.argv[-1]) as file:
    request = json.load(file)

def tell(**answer):
    with open(request["answer"], "w") as file:
        json.dump(answer, file)

def keep(values):
    for output, value in zip(request["outputs"], values):
        with open(output["file"], "wb") as file:
            np.save(file, np.asarray(value, order="C"), allow_pickle=False)
)";

constexpr std::string_view kOnnxRuntime = R"(
try:
    import numpy as np
    import onnxruntime as engine
except ImportError as error:
    tell(missing=str(error))
    sys.exit(0)
try:
    options = engine.SessionOptions()
    options.log_severity_level = 3
    session = engine.InferenceSession(request["model"], options, providers=["CPUExecutionProvider"])
    feeds = {value["name"]: np.load(value["file"]) for value in request["inputs"]}
    keep(session.run([value["name"] for value in request["outputs"]], feeds))
    tell(version=engine.__version__)
except Exception as error:
    tell(refused=str(error))
)";

constexpr std::string_view kLiteRt = R"(
try:
    import numpy as np
    from importlib.metadata import version
    from ai_edge_litert.interpreter import Interpreter
except ImportError as error:
    tell(missing=str(error))
    sys.exit(0)
try:
    engine = Interpreter(model_path=request["model"])
    details = {detail["index"]: detail for detail in engine.get_input_details()}
    feeds = {value["index"]: np.load(value["file"]) for value in request["inputs"]}
    for index, value in feeds.items():
        if tuple(details[index]["shape"]) != value.shape:
            engine.resize_tensor_input(index, value.shape)
    engine.allocate_tensors()
    for index, value in feeds.items():
        engine.set_tensor(index, value)
    engine.invoke()
    keep([engine.get_tensor(value["index"]) for value in request["outputs"]])
    tell(version=version("ai-edge-litert"))
except Exception as error:
    tell(refused=str(error))
)";

struct PeerInfo {
  std::string_view name, package;
  FileFormat format;
  std::string_view files, script;
};
constexpr PeerInfo kPeers[] = {{"onnxruntime", "onnxruntime", FileFormat::onnx, "an ONNX file", kOnnxRuntime},
                               {"litert", "ai-edge-litert", FileFormat::tflite, "a TFLite file", kLiteRt}};
const PeerInfo& info_of(Peer peer) { return kPeers[static_cast<std::size_t>(peer)]; }

std::string last_line(const std::string& words) {
  const std::size_t end = words.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "";
  const std::size_t begin = words.rfind('\n', end);
  return words.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? -1 : begin));
}

// The request as JSON, with the paths that it names.
struct Request {
  nlohmann::json json;
  std::string path;
};

Result<Request> write_request(TemporaryFolder& folder, const std::string& path, const std::vector<PeerInput>& inputs,
                              const std::vector<MadeTensor>& outputs) {
  Request request{{{"model", folder.next_file()}, {"answer", folder.next_file()}}, folder.next_file()};
  nlohmann::json& json = request.json;
  json["inputs"] = json["outputs"] = nlohmann::json::array();
  for (const PeerInput& input : inputs) {
    const std::string file = folder.next_file();
    if (const Status written = write_npy(file, input.value); !written) return written.errors();
    json["inputs"].push_back({{"name", input.tensor.name}, {"index", input.tensor.index}, {"file", file}});
  }
  for (const MadeTensor& output : outputs)
    json["outputs"].push_back({{"name", output.name}, {"index", output.index}, {"file", folder.next_file()}});
  if (const Status written = write_with_outputs(path, outputs, json["model"]); !written) return written.errors();
  if (const Status written = write_text(request.path, json.dump()); !written) return written.errors();
  return request;
}

// What it says of itself, or why it says nothing.
Result<std::string> version_in(const Request& request, const CommandEnd& end, const PeerOptions& options) {
  const PeerInfo& info = info_of(options.peer);
  const auto failed = [&](ErrorKind kind, std::string found, std::string expected, std::string hint) {
    return Error{kind, options.python + " (" + std::string(info.name) + ")", std::move(found), std::move(expected),
                 std::move(hint)};
  };
  const auto bytes = read_file(request.json["answer"]);
  if (end.exit_code != 0 || !bytes)
    return failed(ErrorKind::resource,
                  "a process that " + end.text() + (end.exit_code == 0 ? ", without an answer" : ""), "",
                  last_line(end.last_words));
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  const auto answer = nlohmann::json::parse(text, text + bytes->size(), nullptr, false);
  const auto said = [&](const char* key) {
    const bool is_there = answer.is_object() && answer.contains(key) && answer[key].is_string();
    return is_there ? answer[key].get<std::string>() : std::string();
  };
  if (const std::string missing = said("missing"); !missing.empty())
    return failed(ErrorKind::resource, "no package " + std::string(info.package) + " (" + missing + ")",
                  "an interpreter that has it (--python)", "");
  if (const std::string refused = said("refused"); !refused.empty())
    return failed(ErrorKind::unsupported, "a refusal: " + refused, "a model that the engine runs", "");
  if (said("version").empty())
    return failed(ErrorKind::resource, "an answer without a version", "", last_line(end.last_words));
  return std::string(info.name) + " " + said("version");
}

}  // namespace

std::string_view name_of(Peer peer) { return info_of(peer).name; }
std::string_view package_of(Peer peer) { return info_of(peer).package; }

Result<PeerAnswer> ask_peer(const std::string& path, FileFormat format, const std::vector<PeerInput>& inputs,
                            const std::vector<MadeTensor>& outputs, const PeerOptions& options) {
  const PeerInfo& info = info_of(options.peer);
  if (format != info.format)
    return Error{ErrorKind::usage, path, "a file of another format than " + std::string(info.name) + " runs",
                 std::string(info.files), ""};
  auto folder = TemporaryFolder::create();
  if (!folder) return folder.errors();
  const auto request = write_request(*folder, path, inputs, outputs);
  if (!request) return request.errors();
  const std::string script = std::string(kBegin) + std::string(info.script);
  const auto end = run_command({options.python, "-c", script, request->path}, {.seconds = options.timeout_seconds});
  if (!end) return end.errors();
  auto version = version_in(*request, *end, options);
  if (!version) return version.errors();
  PeerAnswer answer{std::move(*version), {}};
  for (const auto& output : request->json["outputs"]) {
    auto value = read_npy(output["file"]);
    if (!value) return value.errors();
    answer.outputs.push_back(std::move(*value));
  }
  return answer;
}

}  // namespace octavo
