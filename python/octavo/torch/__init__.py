"""Octavo inside PyTorch: a backend of torch.compile, a quantizer for pt2e, training with Octavo's integers.

    net = torch.compile(net, backend="octavo")        # by entry point, where the package is installed
    net = torch.compile(net, backend=octavo.torch.backend)
    prepared = prepare_pt2e(torch.export.export(net, inputs).module(), octavo.torch.OctavoQuantizer())
    qat = octavo.torch.prepare_qat(net, inputs)

docs/python.md, PyTorch, tells the rest. Importing this module imports torch."""

from typing import TYPE_CHECKING

from ._backend import backend

if TYPE_CHECKING:
    from ._qat import QatModule, prepare_qat
    from ._quantizer import OctavoQuantizer

__all__ = ["OctavoQuantizer", "QatModule", "backend", "prepare_qat"]


def __getattr__(name: str) -> object:
    """What needs torchao, or is needed for training alone, comes when it is used."""
    if name == "OctavoQuantizer":
        from ._quantizer import OctavoQuantizer

        return OctavoQuantizer
    if name in ("QatModule", "prepare_qat"):
        from . import _qat

        return getattr(_qat, name)
    raise AttributeError(f"module 'octavo.torch' has no attribute '{name}'")
