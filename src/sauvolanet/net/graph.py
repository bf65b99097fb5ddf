"""An ONNX graph in the making. Needs the extra ``onnx``."""

from __future__ import annotations

from typing import Any

import numpy as np

OPSET, IR_VERSION = 17, 9  # of 2022, so that older engines read it


class Graph:
    """Collects nodes and constants; every call returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def node(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        from onnx import helper

        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, kind: type = np.float32, name: str = "") -> str:
        from onnx import numpy_helper

        name = name or f"constant{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(values, kind), name)
        return name

    def cast(self, x: str, kind: type) -> str:
        from onnx import helper

        return self.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def file(
        self, inputs: dict[str, tuple[type, list[Any]]], outputs: dict[str, list[Any]], about: dict[str, str]
    ) -> bytes:
        """The finished file; inputs and outputs with their shapes."""
        from onnx import checker, helper

        def value(name: str, kind: type, shape: list[Any]) -> Any:
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)

        takes = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
        gives = [value(name, np.float32, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self.nodes, "sauvolanet", takes, gives, list(self.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                  producer_name="sauvolanet")  # fmt: skip
        helper.set_model_props(model, about)
        checker.check_model(model, full_check=True)
        return model.SerializeToString()  # type: ignore[no-any-return]
