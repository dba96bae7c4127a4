"""IOBinding: arrays that stay where they are from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .._errors import OctavoError
from ._engine import Bound
from ._errors import RuntimeException, problem
from ._options import RunOptions
from ._values import OrtDevice, OrtValue, array_at

if TYPE_CHECKING:
    from ._session import InferenceSession


class IOBinding:
    """Inputs and outputs of a session, bound by name. Bound arrays are read and written in place at every run; an
    output that is bound without memory gets its own at the first run after it was bound, and keeps it. For one thread
    at a time."""

    def __init__(self, session: InferenceSession) -> None:
        self._engine = session._engine
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, np.ndarray | None] = {}
        self._bound: Bound | None = None
        self._results: list[Any] = []

    def _input(self, name: str, array: Any) -> None:
        if all(each.name != name for each in self._engine.inputs):
            raise problem(
                RuntimeException, "binding", f"'{name}'", " or ".join(each.name for each in self._engine.inputs)
            )
        self._inputs[name], self._bound = array, None

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """The array is read in place at every run where it is contiguous. Raises RuntimeException for a name that the
        model lacks."""
        self._input(name, np.ascontiguousarray(arr_on_cpu).reshape(np.shape(arr_on_cpu)))

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Memory of the caller's, which has to last."""
        OrtDevice(device_type, device_id)
        self._input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """The value's memory."""
        self._input(name, ortvalue._array)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Memory of the caller's to write into, or none."""
        OrtDevice(device_type, device_id)
        if buffer_ptr is not None and (element_type is None or shape is None):
            raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        array = None if buffer_ptr is None else array_at(buffer_ptr, element_type, shape or ())
        self._outputs[name], self._bound = (
            array,
            None,
        )  # an unknown name is an error of the run, as it is with ONNX Runtime

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """The value's memory."""
        self._outputs[name], self._bound = ortvalue._array, None

    def _run(self, options: RunOptions | None) -> None:
        if not self._outputs:
            raise problem(RuntimeException, "outputs", "none that is bound", "at least one")
        known = [each.name for each in self._engine.outputs]
        unknown = [name for name in self._outputs if name not in known]
        if unknown:
            raise problem(RuntimeException, "binding", f"'{unknown[0]}'", " or ".join(known))
        try:
            if self._bound is None:
                out = {name: array for name, array in self._outputs.items() if array is not None}
                self._bound = self._engine.bind(list(self._outputs), self._inputs, out)
            self._results = self._bound(options)
        except OctavoError as error:
            raise RuntimeException(error.errors) from None
        # What the run allocated stays bound, as it does in ONNX Runtime.
        self._outputs = dict(zip(self._outputs, self._results))

    def get_outputs(self) -> list[OrtValue]:
        """Of the run before, in the order in which they were bound, in place."""
        return [OrtValue(each) for each in self._results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray]:
        """Copies of the outputs."""
        return [each.copy() for each in self._results]

    def clear_binding_inputs(self) -> None:
        """No input is bound."""
        self._inputs, self._bound = {}, None

    def clear_binding_outputs(self) -> None:
        """No output is bound."""
        self._outputs, self._bound, self._results = {}, None, []

    def synchronize_inputs(self) -> None:
        """Nothing to wait for on the CPU."""

    def synchronize_outputs(self) -> None:
        """Nothing to wait for on the CPU."""
