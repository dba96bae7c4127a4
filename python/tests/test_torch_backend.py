"""torch.compile with Octavo: what torch gives is the oracle."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any, Iterator

import pytest

import octavo

torch = pytest.importorskip("torch", reason="needs torch")
pytestmark = pytest.mark.long

import octavo.torch  # noqa: E402
from torch import nn  # noqa: E402

# fp32 against torch: sums in another order.
NEAR = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path) -> Iterator[None]:
    """No graph of another test, a cache of its own, and no word of Dynamo's about graph breaks."""
    torch._dynamo.reset()
    torch.manual_seed(1)
    torch.set_num_threads(1)
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    before, octavo.cache_dir = octavo.cache_dir, tmp_path / "cache"
    yield
    octavo.cache_dir = before


def compiled(module: nn.Module, **options: Any) -> Any:
    return torch.compile(module, backend=octavo.torch.backend, **options)


def check(function: Any, module: Any, *inputs: Any) -> None:
    """The same answers of clones of the inputs, and no warning that something runs in torch."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="octavo:.*")
        torch.testing.assert_close(
            function(*[each.clone() for each in inputs]), module(*[each.clone() for each in inputs]), **NEAR
        )


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3, 2, 1), nn.SiLU()
        )
        self.scores = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return {"scores": self.scores(self.features(x).mean((2, 3))), "images": x.shape[0], "x": x}


def count_of_graphs(folder: Path) -> int:
    return len(list(folder.glob("*.octv")))


def test_outputs_of_every_kind_and_sizes_that_become_open() -> None:
    module = Small().eval()
    function = compiled(module)
    for shape in ((1, 3, 8, 8), (2, 3, 8, 8), (5, 3, 8, 8), (5, 3, 12, 8), (3, 3, 16, 20)):
        check(function, module, torch.randn(shape))
    check(function, module, torch.randn(3, 8, 8, 3).permute(0, 3, 1, 2))


def test_dynamic_from_the_start_and_numbers_that_change() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product = nn.Linear(4, 4)
            self.factor = 2.5

        def forward(self, x: Any) -> Any:
            return self.product(x) * self.factor

    module = Scaled().eval()
    function = compiled(module, dynamic=True)
    for factor in (2.5, -1.25, 2.5):
        module.factor = factor
        check(function, module, torch.randn(2, 4))
        check(function, module, torch.randn(7, 4))


def test_a_second_process_finds_the_model_in_the_cache(tmp_path: Path) -> None:
    module, x = Small().eval(), torch.randn(1, 3, 8, 8)
    check(compiled(module), module, x)
    first = {path.name for path in (tmp_path / "cache").iterdir()}
    torch._dynamo.reset()
    check(compiled(module), module, x)
    assert {path.name for path in (tmp_path / "cache").iterdir()} == first and len(first) == 1


def test_written_parameters_are_noticed() -> None:
    module, x = Small().eval(), torch.randn(2, 3, 8, 8)
    function = compiled(module)
    check(function, module, x)
    with torch.no_grad():
        module.scores.weight.mul_(3)
    check(function, module, x)
    module.load_state_dict(Small().state_dict())
    check(function, module, x)
    module.scores.bias = nn.Parameter(torch.ones(5))
    check(function, module, x)


def test_modules_that_share_code_have_their_own_parameters() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product = nn.Linear(6, 6)

        def forward(self, x: Any) -> Any:
            return self.product(x).relu()

    blocks = [Block().eval() for _ in range(12)]
    forward = torch.compile(Block.forward, backend=octavo.torch.backend)
    x = torch.randn(3, 6)
    for _ in range(2):
        for block in blocks:
            check(lambda each, block=block: forward(block, each), block, x)


def test_graph_breaks() -> None:
    class Broken(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            x = self.first(x)
            return self.second(x) if float(x.sum()) > 0 else x

    module = Broken().eval()
    for _ in range(4):
        check(compiled(module), module, torch.randn(2, 4))


class Partly(nn.Module):
    """Operators that Octavo lacks between some that it has, a view over parts, and an input written over."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.register_buffer("factor", torch.tensor([1.0, 3.0, 1.0, 0.5]).reshape(4, 1, 1))

    def forward(self, x: Any) -> Any:
        y = self.first(x).relu() * self.factor
        z = torch.special.bessel_j0(y)
        lines = (self.second(z) * self.factor).reshape(x.shape[0] * 4, -1)
        low, high = torch.special.bessel_j1(lines).split([8, lines.shape[1] - 8], 1)
        y.mul_(2)
        return y + z, lines, low.sum(), high, x.shape[0] + 1


def test_what_octavo_lacks_runs_in_torch_and_is_named() -> None:
    module = Partly().eval()
    function = compiled(module)
    for shape in ((1, 3, 8, 8), (2, 3, 8, 8), (3, 3, 8, 8), (3, 3, 12, 8), (4, 3, 14, 10)):
        x = torch.randn(shape)
        with torch.no_grad(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.testing.assert_close(function(x.clone()), module(x.clone()), **NEAR)
        told = [str(each.message) for each in caught if str(each.message).startswith("octavo:")]
        for text in told:
            assert "bessel_j0" in text and "bessel_j1" in text and "2 parts in octavo" in text and "% of" in text
            assert "conv2d" not in text
        assert told or shape == (3, 3, 8, 8)  # a size that is open already


def warned(function: Any, *inputs: Any) -> str:
    with pytest.warns(UserWarning, match="octavo: a graph of .* runs in torch") as caught:
        function(*inputs)
    return "\n".join(str(each.message) for each in caught)


def test_gradients_are_torchs() -> None:
    module, x = Small().eval(), torch.randn(2, 3, 8, 8)
    function = compiled(module)
    assert "gradients are enabled" in warned(function, x)
    function(x)["scores"].sum().backward()
    assert module.scores.weight.grad is not None
    check(function, module, x)  # without gradients it is Octavo's
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    assert not compiled(module)(x)["scores"].requires_grad


def test_what_is_written_stays_torchs() -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product = nn.Linear(4, 4)
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.calls.add_(1)
            x.mul_(2)
            return self.product(x) + self.calls

    module = Counts().eval()
    function, x = compiled(module), torch.ones(2, 4)
    with torch.no_grad():
        assert "writes into" in warned(function, x)
        assert module.calls == 1 and x[0, 0] == 2
        function(x)
        assert module.calls == 2 and x[0, 0] == 4
        training = compiled(Small().train())
        assert "writes into" in warned(training, torch.randn(2, 3, 8, 8))


def test_types_that_octavo_lacks_are_torchs() -> None:
    module, x = nn.Linear(4, 4).half().eval(), torch.randn(2, 4).half()
    with torch.no_grad():
        assert "f16" in warned(compiled(module), x)
        torch.testing.assert_close(compiled(module)(x), module(x))


def test_inference_mode() -> None:
    with torch.inference_mode():
        module, x = nn.Linear(4, 4).eval(), torch.randn(2, 4)
        torch.testing.assert_close(compiled(module)(x), module(x), **NEAR)


def test_options() -> None:
    module, x = nn.Linear(4, 4).eval(), torch.randn(2, 4)
    with torch.no_grad():
        with pytest.raises(Exception, match="options of torch.compile: found 'wrong'"):
            compiled(module, options={"wrong": 1})(x)
        with pytest.raises(Exception, match="mode of torch.compile: found 'max-autotune'"):
            compiled(module, mode="max-autotune")(x)
        check(compiled(module, options={"target": "scalar", "allow_reference": True, "threads": 1}), module, x)


def torchao_configuration(name: str) -> Any:
    """A configuration of torchao, with the kernels that its products have in Octavo."""
    quantization = pytest.importorskip("torchao.quantization", reason="needs torchao")
    row, tensor, group = quantization.PerRow(), quantization.PerTensor(), quantization.PerGroup(16)
    asymmetric = quantization.MappingType.ASYMMETRIC
    dynamic, weights = quantization.Int8DynamicActivationInt8WeightConfig, quantization.Int8WeightOnlyConfig
    intx = quantization.Int8DynamicActivationIntxWeightConfig
    scale = torch.tensor([[[0.03]]])
    return {
        "rows": (lambda: dynamic(), "hybrid_conv"),
        "tensor": (lambda: dynamic(granularity=[tensor, row]), "hybrid_conv"),
        "asymmetric": (lambda: dynamic(act_mapping_type=asymmetric), "product_integer"),
        "intx": (lambda: intx(weight_granularity=quantization.PerAxis(0)), "hybrid_conv"),
        "static": (
            lambda: quantization.Int8StaticActivationInt8WeightConfig(act_quant_scale=scale, granularity=tensor),
            "conv_u8s8",
        ),
        "weights": (lambda: weights(), "float_fused_conv"),
        "weights of groups": (lambda: weights(granularity=group), "float_fused_conv"),
    }[name]


@pytest.mark.parametrize("name", ["rows", "tensor", "asymmetric", "intx", "static", "weights", "weights of groups"])
def test_torchao(name: str, tmp_path: Path) -> None:
    """What quantize_ leaves in a module, compiled inside of torch and as a program, is computed as it is."""
    configuration, kernel = torchao_configuration(name)
    module = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64, bias=False)).eval()
    from torchao.quantization import quantize_

    quantize_(module, configuration())
    function, batch = compiled(module), torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(module, (torch.randn(2, 5, 64),), dynamic_shapes=({0: batch},))
    model = octavo.compile(program, unquantized="fp32", progress=False)
    for rows in (2, 3, 7):
        x = torch.randn(rows, 5, 64)
        check(function, module, x)
        check(lambda x: torch.from_numpy(model(x)), module, x)
    kernels = [plan["kernels"] for path in (tmp_path / "cache").iterdir() for plan in octavo.load(path).info["plans"]]
    fixed = torch.export.export(module, (torch.randn(4, 5, 64),))
    kernels.append(octavo.compile(fixed, unquantized="fp32", progress=False).info["plans"][0]["kernels"])
    for each in kernels:
        assert sum(count for used, count in each.items() if used.startswith(kernel)) == 2, each


def test_a_part_that_holds_no_quantized_values_runs_in_fp32() -> None:
    """Beside what torch keeps of a quantized graph."""
    quantization = pytest.importorskip("torchao.quantization", reason="needs torchao")

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)

        def forward(self, x: Any) -> Any:
            return self.second(torch.special.bessel_j0(self.first(x)))

    module = Mixed().eval()
    configuration = quantization.Int8DynamicActivationInt8WeightConfig(reduce_range=True)
    quantization.quantize_(module, configuration, lambda _, name: name == "first")
    function, x = compiled(module), torch.randn(4, 32)
    with torch.no_grad(), pytest.warns(UserWarning, match="quant_min.*found -64 to 63"):
        torch.testing.assert_close(function(x), module(x), **NEAR)


def test_pt2e_runs_in_integers(tmp_path: Path) -> None:
    pytest.importorskip("torchao.quantization.pt2e", reason="needs torchao")
    xnnpack = pytest.importorskip("executorch.backends.xnnpack.quantizer.xnnpack_quantizer", reason="needs executorch")
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    module, x = (
        nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 16, 5)
        ).eval(),
        torch.randn(1, 3, 8, 8),
    )
    quantizer = xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(module, (x,)).module(), quantizer)
    with torch.no_grad():
        for _ in range(8):
            prepared(torch.randn(1, 3, 8, 8))
        converted = convert_pt2e(prepared)
        function = compiled(converted)
        step = next(
            float(node.args[1]) for node in reversed(converted.graph.nodes) if "quantize_per_tensor" in str(node.target)
        )
        for _ in range(4):
            x = torch.randn(1, 3, 8, 8)
            assert float((function(x) - converted(x)).abs().max()) <= 1.01 * step
    (path,) = (tmp_path / "cache").iterdir()
    assert "s8" in octavo.load(path).info["dialect"]


def test_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    module = transformers.BertModel(
        transformers.BertConfig(
            hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, vocab_size=100
        )
    ).eval()
    function = compiled(module)

    def run(model: Any, ids: Any, mask: Any) -> Any:
        answer = model(input_ids=ids, attention_mask=mask)
        return answer.last_hidden_state, answer.pooler_output

    for batch, length in ((2, 17), (2, 9), (3, 30)):
        ids, mask = torch.randint(0, 100, (batch, length)), torch.ones(batch, length, dtype=torch.long)
        mask[1, length // 2 :] = 0
        check(lambda *arrays: run(function, *arrays), lambda *arrays: run(module, *arrays), ids, mask)


def test_the_name_is_registered() -> None:
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        entries = distribution("octavo").entry_points
    except PackageNotFoundError:
        pytest.skip("octavo is not installed as a package")
    assert any(each.group == "torch_dynamo_backends" and each.name == "octavo" for each in entries)
    module, x = nn.Linear(4, 4).eval(), torch.randn(2, 4)
    check(torch.compile(module, backend="octavo"), module, x)
