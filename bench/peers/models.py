"""The files that each engine runs, made once and kept, and the commands of its workers."""

import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = {"octavo": None, "onnxruntime": "onnxruntime", "openvino": "openvino", "litert": "ai-edge-litert"}  # its package


def quietly(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Models:
    def __init__(self, octavo, work):
        self.octavo, self.work = octavo, work
        work.mkdir(parents=True, exist_ok=True)

    def worker(self, engine, network, precision, batch, threads):
        """The command that serves this model, or None where the engine has no way to get it."""
        model = getattr(self, f"_{engine}")(network, precision, batch)
        if engine == "octavo":
            return [self.octavo, "bench-worker", model, "--precision", precision, "--batch", str(batch), "--threads", str(threads)]
        worker = HERE / "engines" / f"{engine}_worker.py"
        return [self._python(engine), str(worker), str(model), "--batch", str(batch), "--threads", str(threads)]

    def version(self, engine):
        if engine == "octavo":
            return quietly([self.octavo, "--version"]).split()[-1]
        code = f"import importlib.metadata as m; print(m.version('{ENGINES[engine]}'))"
        return quietly([self._python(engine), "-c", code]).strip()

    def _python(self, engine):
        folder = self.work / f"venv-{engine}"
        ready = folder / "ready"
        if not ready.exists():
            print(f"making the environment of {engine}", file=sys.stderr)
            venv.create(folder, clear=True, with_pip=True)
            quietly([folder / "bin/pip", "install", "--quiet", "-r", HERE / "requirements" / f"{engine}.txt"])
            ready.touch()
        return folder / "bin/python"

    def _made(self, name, make):
        """make(path) writes the file under another name first, so that an interrupted run leaves no half of it."""
        target = self.work / name
        if not target.exists():
            print(f"making {name}", file=sys.stderr)
            half = target.with_name("half-" + name)
            make(half)
            for part in self.work.glob(half.stem + ".*"):  # OpenVINO writes two files
                part.rename(self.work / part.name.removeprefix("half-"))
        return target

    def _zoo(self, network):
        return self._made(f"{network}.onnx", lambda path: quietly([self.octavo, "zoo", network, "-o", path]))

    def _octavo(self, network, precision, batch):
        source = self._zoo(network)
        calibrate = ["--calibrate", "random", "--weights", "max"] if precision == "int8" else []
        command = [self.octavo, "compile", source, "--precision", precision, "--batch", str(batch), *calibrate, "-o"]
        target = self.work / f"{network}-{precision}-{batch}.octv"
        quietly([*command, target])  # always anew: the program may have changed
        return target

    def _onnxruntime(self, network, precision, batch):
        source = self._zoo(network)
        if precision == "fp32":
            return source
        quantize = [self._python("onnxruntime"), HERE / "engines/onnxruntime_quantize.py", source]
        return self._made(f"{network}-onnxruntime-int8.onnx", lambda path: quietly([*quantize, path]))

    def _openvino(self, network, precision, batch):
        source = self._zoo(network)
        if precision == "fp32":
            return source
        quantize = [self._python("openvino"), HERE / "engines/openvino_quantize.py", source]
        return self._made(f"{network}-openvino-int8.xml", lambda path: quietly([*quantize, path]))

    def _litert(self, network, precision, batch):
        export = [self._python("litert"), HERE / "engines/litert_export.py", network, precision, str(batch)]
        return self._made(f"{network}-litert-{precision}-{batch}.tflite", lambda path: quietly([*export, path]))
