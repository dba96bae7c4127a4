"""What MediaPipe's own runtime answers on a .tflite file with one input, an image: also where the file has operators that LiteRT lacks.

    python scripts/compare/mediapipe_answers.py MODEL IMAGE.npy LOWEST HIGHEST OUTPUTS ANSWERS.npz

ANSWERS.npz holds `x`, the input as floats from LOWEST to HIGHEST, and `y0`, `y1`, ...: flat arrays. Needs a virtual environment of its own, since MediaPipe
wants an older numpy: pip install "numpy<2" "protobuf<5" absl-py attrs matplotlib opencv-python-headless flatbuffers && pip install --no-deps mediapipe==0.10.14
"""

import pathlib
import sys

import mediapipe
import numpy as np
from mediapipe.python._framework_bindings import resource_util


def answers(path, image, bounds, outputs):
    """The input as floats between the bounds, and what MediaPipe answers, each as a flat array; the image is u8 of the input's size."""
    low, high = bounds
    size = f"output_tensor_width: {image.shape[1]} output_tensor_height: {image.shape[0]}"
    numbers = range(outputs)
    config = f"""
input_stream: "image" output_stream: "x" {" ".join(f'output_stream: "y{i}"' for i in numbers)}
node {{ calculator: "ImageToTensorCalculator" input_stream: "IMAGE:image" output_stream: "TENSORS:t" options {{
  [mediapipe.ImageToTensorCalculatorOptions.ext] {{ {size} output_tensor_float_range {{ min: {low} max: {high} }} }} }} }}
node {{ calculator: "TensorsToFloatsCalculator" input_stream: "TENSORS:t" output_stream: "FLOATS:x" }}
node {{ calculator: "TfLiteCustomOpResolverCalculator" output_side_packet: "OP_RESOLVER:resolver" options {{
  [mediapipe.TfLiteCustomOpResolverCalculatorOptions.ext] {{ use_gpu: false }} }} }}
node {{ calculator: "InferenceCalculatorCpu" input_side_packet: "OP_RESOLVER:resolver" input_stream: "TENSORS:t" output_stream: "TENSORS:t_y" options {{
  [mediapipe.InferenceCalculatorOptions.ext] {{ model_path: "{path.name}" delegate {{ tflite {{}} }} }} }} }}
node {{ calculator: "SplitTensorVectorCalculator" input_stream: "t_y" {" ".join(f'output_stream: "t{i}"' for i in numbers)} options {{
  [mediapipe.SplitVectorCalculatorOptions.ext] {{ {" ".join(f"ranges {{ begin: {i} end: {i + 1} }}" for i in numbers)} }} }} }}
""" + "\n".join(f'node {{ calculator: "TensorsToFloatsCalculator" input_stream: "TENSORS:t{i}" output_stream: "FLOATS:y{i}" }}' for i in numbers)
    resource_util.set_resource_dir(str(path.parent))
    graph, found = mediapipe.CalculatorGraph(graph_config=config), {}
    for name in ["x", *(f"y{i}" for i in numbers)]:
        graph.observe_output_stream(name, lambda stream, packet: found.update({stream: np.float32(mediapipe.packet_getter.get_float_list(packet))}))
    graph.start_run()
    frame = mediapipe.packet_creator.create_image_frame(image_format=mediapipe.ImageFormat.SRGB, data=image)
    graph.add_packet_to_input_stream("image", frame.at(1))
    graph.close_all_packet_sources()
    graph.wait_until_done()
    return [found[name] for name in ["x", *(f"y{i}" for i in numbers)]]


def main():
    model, image, low, high, outputs, path = sys.argv[1:]
    found = answers(pathlib.Path(model), np.load(image), (float(low), float(high)), int(outputs))
    np.savez(path, x=found[0], **{f"y{i}": value for i, value in enumerate(found[1:])})


if __name__ == "__main__":
    main()
