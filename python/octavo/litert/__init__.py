"""LiteRT's interpreter on Octavo: `from octavo.litert import Interpreter`, and the rest of the script stays."""

from .interpreter import Interpreter, OpResolverType, SignatureRunner, load_delegate

__all__ = ["Interpreter", "OpResolverType", "SignatureRunner", "load_delegate"]
