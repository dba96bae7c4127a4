"""Octavo inside PyTorch: a backend of torch.compile.

    net = torch.compile(net, backend="octavo")        # by entry point, where the package is installed
    net = torch.compile(net, backend=octavo.torch.backend)

docs/python.md, PyTorch, tells the rest. Importing this module imports torch."""

from ._backend import backend

__all__ = ["backend"]


def __getattr__(name: str) -> object:
    """What needs torchao comes when it is used."""
    if name == "OctavoQuantizer":
        from ._quantizer import OctavoQuantizer

        return OctavoQuantizer
    raise AttributeError(f"module 'octavo.torch' has no attribute '{name}'")
