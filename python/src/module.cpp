// octavo._core: the library as Python sees it; what users call is made of it in python/octavo. Part of the extension.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "errors.h"
#include "model.h"
#include "watched.h"

namespace nb = nanobind;

namespace octavo::python {
namespace {

using Words = std::vector<std::string>;

// A path as text, or a name and the file's bytes, which this keeps in place.
class Given {
 public:
  Given(const std::string& name, const nb::object& bytes) {
    model_.name = name;
    if (bytes.is_none()) return;
    if (PyObject_GetBuffer(bytes.ptr(), &buffer_, PyBUF_SIMPLE) != 0) nb::raise_python_error();
    is_held_ = true;
    model_.bytes = std::span(static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len));
  }
  ~Given() {
    if (is_held_) PyBuffer_Release(&buffer_);
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  const v1::GivenModel& model() const { return model_; }

 private:
  v1::GivenModel model_;
  Py_buffer buffer_{};
  bool is_held_ = false;
};

// What work(watch) gives; its errors as an exception.
template <class T, class Work>
T watched(const nb::object& progress, Work work) {
  std::optional<Result<T>> result;
  run_watched(progress, [&](const v1::Watch& watch) { result.emplace(work(watch)); });
  return value_of(std::move(*result));
}

v1::CompiledModel compile(const std::string& name, const nb::object& bytes, const Words& words,
                          const nb::object& progress) {
  const Given given(name, bytes);
  return watched<v1::CompiledModel>(
      progress, [&](const v1::Watch& watch) { return v1::compile_as_told(given.model(), words, watch); });
}

v1::QuantizedModel quantize(const std::string& name, const nb::object& bytes, const Words& words,
                            const nb::object& progress) {
  const Given given(name, bytes);
  return watched<v1::QuantizedModel>(
      progress, [&](const v1::Watch& watch) { return v1::quantize_as_told(given.model(), words, watch); });
}

// Name, type in numpy and shape of each, and whether samples may have several shapes.
nb::list sample_inputs(const std::string& name, const nb::object& bytes, const Words& words) {
  const Given given(name, bytes);
  const auto inputs = watched<std::vector<v1::SampleInput>>(
      nb::none(), [&](const v1::Watch&) { return v1::sample_inputs(given.model(), words); });
  nb::list described;
  for (const v1::SampleInput& input : inputs)
    described.append(nb::make_tuple(as_text(input.name), numpy_name(input.dtype), input.shape, input.is_open));
  return described;
}

v1::CompiledModel open(const std::string& name, const nb::object& bytes) {
  const Given given(name, bytes);
  const auto opened = [&] {
    const nb::gil_scoped_release released;
    return given.model().bytes ? v1::open(*given.model().bytes, name) : v1::open(name);
  }();
  return value_of(opened);
}

bool is_compiled(const std::string& name, const nb::object& bytes) {
  const Given given(name, bytes);
  return given.model().bytes ? v1::is_compiled(*given.model().bytes) : v1::is_compiled(name);
}

nb::bytes bytes_of(const v1::CompiledModel& compiled) {
  const std::vector<std::byte> bytes = [&] {
    const nb::gil_scoped_release released;
    return compiled.bytes();
  }();
  return nb::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void save(const v1::CompiledModel& compiled, const std::string& path) {
  const Status saved = [&] {
    const nb::gil_scoped_release released;
    return compiled.save(path);
  }();
  if (!saved) raise(saved.errors());
}

nb::bytes onnx_of(const v1::QuantizedModel& quantized) {
  const auto bytes = [&] {
    const nb::gil_scoped_release released;
    return quantized.onnx();
  }();
  const std::string file = value_of(bytes);
  return nb::bytes(file.data(), file.size());
}

nb::list described(const std::vector<v1::OpenTensorInfo>& tensors) {
  nb::list infos;
  for (const v1::OpenTensorInfo& tensor : tensors) {
    nb::list shape;
    for (const std::string& extent : tensor.shape) shape.append(as_text(extent));
    infos.append(nb::make_tuple(as_text(tensor.name), numpy_name(tensor.dtype), shape));
  }
  return infos;
}

void add_models(nb::module_& module) {
  nb::class_<v1::CompiledModel>(module, "CompiledModel")
      .def("save", &save, nb::arg("path"))
      .def("bytes", &bytes_of)
      .def("info", [](const v1::CompiledModel& compiled) { return v1::describe_model(compiled.info()); });
  nb::class_<v1::QuantizedModel>(module, "QuantizedModel")
      .def("onnx", &onnx_of)
      .def("scales", &v1::QuantizedModel::scales)
      .def("kept_in_float", [](const v1::QuantizedModel& quantized) { return quantized.kept_in_float(); })
      .def("groups", &v1::QuantizedModel::groups);
  nb::class_<Stop>(module, "Stop").def(nb::init<>()).def("request", &Stop::request).def("clear", &Stop::clear);
  nb::class_<LoadedModel>(module, "LoadedModel")
      .def(
          "__init__",
          [](LoadedModel* self, const v1::CompiledModel& compiled, int threads, std::uint64_t plan_cache_bytes,
             std::uint64_t context_bytes, std::int64_t max_iterations, int device) {
            new (self) LoadedModel(compiled, {.threads = threads,
                                              .plan_cache_bytes = plan_cache_bytes,
                                              .context_bytes = context_bytes,
                                              .max_iterations = max_iterations,
                                              .device = device});
          },
          nb::arg("compiled"), nb::arg("threads"), nb::arg("plan_cache_bytes"), nb::arg("context_bytes"),
          nb::arg("max_iterations"), nb::arg("device"))
      .def("run", &LoadedModel::run, nb::arg("inputs"), nb::arg("outputs").none(), nb::arg("stop").none() = nb::none())
      .def("inputs", [](const LoadedModel& model) { return described(model.inputs()); })
      .def("outputs", [](const LoadedModel& model) { return described(model.outputs()); })
      .def("memory_bytes", &LoadedModel::memory_bytes);
  nb::class_<BoundModel>(module, "BoundModel")
      .def(nb::init<std::shared_ptr<LoadedModel>, const nb::sequence&, const nb::object&>(), nb::arg("model"),
           nb::arg("inputs"), nb::arg("outputs").none())
      .def("run", &BoundModel::run, nb::arg("stop").none() = nb::none())
      .def("outputs", &BoundModel::outputs);
}

}  // namespace

NB_MODULE(_core, module) {
  add_models(module);
  module.def("compile", &compile, nb::arg("name"), nb::arg("bytes").none(), nb::arg("words"),
             nb::arg("progress").none());
  module.def("quantize", &quantize, nb::arg("name"), nb::arg("bytes").none(), nb::arg("words"),
             nb::arg("progress").none());
  module.def("sample_inputs", &sample_inputs, nb::arg("name"), nb::arg("bytes").none(), nb::arg("words"));
  module.def("open", &open, nb::arg("name"), nb::arg("bytes").none());
  module.def("is_compiled", &is_compiled, nb::arg("name"), nb::arg("bytes").none());
  module.def("machine", &v1::describe_machine);
  module.def("version", [] { return std::string(v1::version()); });
}

}  // namespace octavo::python
