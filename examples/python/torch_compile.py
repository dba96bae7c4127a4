"""A module inside PyTorch by Octavo: in fp32 as it is, and in integers after pt2e quantization.

pip install octavo torch torchvision torchao executorch
python examples/python/torch_compile.py
"""

import time

import torch
import torchvision
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


def milliseconds(function, x: torch.Tensor) -> float:
    function(x)
    times = []
    for _ in range(10):
        start = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - start)
    return min(times) * 1e3


def main() -> None:
    net, x = torchvision.models.resnet18().eval(), torch.randn(1, 3, 224, 224)

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(net, (x,)).module(), quantizer)
    with torch.no_grad():
        for _ in range(4):
            prepared(torch.randn(1, 3, 224, 224))  # your images
    quantized = convert_pt2e(prepared)

    with torch.no_grad():
        print(
            f"fp32: {milliseconds(net, x):.1f} ms eager, {milliseconds(torch.compile(net, backend='octavo'), x):.1f} ms by Octavo"
        )
        print(
            f"int8: {milliseconds(quantized, x):.1f} ms eager, {milliseconds(torch.compile(quantized, backend='octavo'), x):.1f} ms by Octavo"
        )


if __name__ == "__main__":
    main()
