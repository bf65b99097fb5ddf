"""A model's attention as a plain ONNX graph, for comparison with other engines: features in, attention out."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from sauvolanet.net import Model


def attention_graph(model: Model) -> bytes:
    """The network from its features (1, C, H / fold, W / fold) to the attention (1, choices, H, W).

    A network with a refinement also takes ``seen`` (1, 1 + windows, H, W): gray and gray − mean.
    """
    arch = model.architecture
    nodes, weights = [], []
    layers = {name: rest for name, *rest in arch.convolutions()}

    def node(kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def constant(name: str, values: np.ndarray) -> str:
        weights.append(numpy_helper.from_array(values.astype(np.float32), name))
        return name

    def convolution(name: str, x: str) -> str:
        _, outputs, size, dilation, normalised, _ = layers[name]
        w, b = (constant(f"{name}.{part}", model.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        reach = size // 2 * dilation
        x = node("Conv", [x, w, b], f"{name}.z", dilations=[dilation] * 2, pads=[reach] * 4, kernel_shape=[size] * 2)
        if not normalised:
            return x
        if arch.norm == "instance":
            one, zero = constant(f"{name}.one", np.ones(outputs)), constant(f"{name}.zero", np.zeros(outputs))
            x = node("InstanceNormalization", [x, one, zero], f"{name}.n", epsilon=1e-10)
        return node("Relu", [x], f"{name}.y")

    x, kept = "features", []
    for depth, widths in enumerate(arch.widths):
        if depth:
            kept.append(x)
            x = node("MaxPool", [x], f"pool{depth}", kernel_shape=[2, 2], strides=[2, 2])
        for i in range(len(widths)):
            x = convolution(f"down{depth}.{i}", x)
    for depth in range(len(arch.widths) - 2, -1, -1):
        x = convolution(f"reduce{depth}", x)
        factors = constant(f"factors{depth}", np.array([1, 1, 2, 2]))
        x = node(
            "Resize",
            [x, "", factors],
            f"large{depth}",
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        x = convolution(f"up{depth}", node("Add", [kept.pop(), x], f"sum{depth}"))
    x = convolution("head", x)
    inputs = [("features", arch.inputs, arch.fold)]
    if arch.fold > 1:
        x = node("DepthToSpace", [x], "unfolded", blocksize=arch.fold, mode="DCR")
    if arch.refine:
        inputs.append(("seen", arch.refine_inputs - arch.choices, 1))
        y = convolution("refine1", convolution("refine0", node("Concat", [x, "seen"], "all", axis=1)))
        x = node("Add", [x, y], "refined")
    node("Softmax", [x], "attention", axis=1)
    values = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, c, f"height{f}", f"width{f}"]) for n, c, f in inputs
    ]
    out = helper.make_tensor_value_info("attention", TensorProto.FLOAT, [1, arch.choices, "height1", "width1"])
    graph = helper.make_graph(nodes, "attention", values, [out], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()
