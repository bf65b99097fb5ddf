"""Speed of the models, array in, ink out, as ratios to the paper's network in its plain ONNX export.

The peer is the authors' network as a graph of convolutions, instance normalisations and softmax in ONNX Runtime, with
the Sauvola layer in numpy, on the same number of threads. Runs are interleaved; a figure is the median of its rounds.

    python benchmarks/runtime.py [--threads 2] [--rounds 7] [--json FILE] [--readme README.md]
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from sauvolanet import Binarizer
from sauvolanet.net import Model, load, shipped
from sauvolanet.synth import page
from sauvolanet.windows import mean_deviation_numpy

SIZES = {"574×1104 (the paper's)": (574, 1104), "2480×3508 (A4 at 300 dpi)": (3508, 2480)}


def plain_export(model: Model) -> bytes:
    """PWA of the paper's network as an ONNX graph: gray (1, 1, H, W) in, attention (1, N, H, W) out."""
    nodes, weights, last = [], [], "gray"
    for name, _, outputs, size, dilation, normalised, _ in model.architecture.convolutions():
        for part in ("weight", "bias"):
            weights.append(
                numpy_helper.from_array(model.weights[f"{name}.{part}"].astype(np.float32), f"{name}.{part}")
            )
        reach = size // 2 * dilation
        nodes.append(helper.make_node("Conv", [last, f"{name}.weight", f"{name}.bias"], [f"{name}.z"],
                                      dilations=[dilation] * 2, pads=[reach] * 4, kernel_shape=[size] * 2))  # fmt: skip
        last = f"{name}.z"
        if normalised:
            weights.append(numpy_helper.from_array(np.ones(outputs, np.float32), f"{name}.one"))
            weights.append(numpy_helper.from_array(np.zeros(outputs, np.float32), f"{name}.zero"))
            nodes.append(
                helper.make_node(
                    "InstanceNormalization", [last, f"{name}.one", f"{name}.zero"], [f"{name}.n"], epsilon=1e-10
                )
            )
            nodes.append(helper.make_node("Relu", [f"{name}.n"], [f"{name}.y"]))
            last = f"{name}.y"
    nodes.append(helper.make_node("Softmax", [last], ["attention"], axis=1))
    shape = [1, 1, "height", "width"]
    graph = helper.make_graph(nodes, "pwa", [helper.make_tensor_value_info("gray", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("attention", TensorProto.FLOAT, [1, None, "height", "width"])], weights)  # fmt: skip
    return onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9).SerializeToString()


def peer(model: Model, threads: int) -> Callable[[np.ndarray], np.ndarray]:
    """The authors' network: attention in ONNX Runtime, Sauvola layer and threshold in numpy."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(plain_export(model), options, providers=["CPUExecutionProvider"])
    k, r = (np.asarray(model.about[n], np.float32) for n in ("k", "r"))

    def run(gray: np.ndarray) -> np.ndarray:
        low, span = int(gray.min()), int(gray.max()) - int(gray.min()) + 0.1
        scaled = ((gray - np.float32(low)) / np.float32(span)).astype(np.float32)
        attention = session.run(None, {"gray": scaled[None, None]})[0][0]
        total = np.zeros_like(scaled)
        for i, window in enumerate(model.architecture.windows):
            mean, deviation = mean_deviation_numpy(gray, window)
            mean, deviation = (mean - low) / span, np.maximum(deviation / span, 1e-3)
            total += attention[i] * (mean * (1 + k[i] * (deviation / r[i] - 1)))
        return scaled < total

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", help="write the figures here")
    parser.add_argument("--readme", help="put the table between the marks in this file")
    args = parser.parse_args()
    name = f"plain ONNX export, onnxruntime {onnxruntime.__version__}"
    rivals: dict[str, Callable[[np.ndarray], np.ndarray]] = {name: peer(load("original"), args.threads)}
    rivals |= {n: Binarizer(model=n, threads=args.threads, invert="no") for n in shipped()}
    lines = ["| page | " + " | ".join(rivals) + " |", "|---|" + "---|" * len(rivals)]
    results = []
    for title, (height, width) in SIZES.items():
        gray, _ = page(1, kind="manuscript", height=height, width=width)
        inks = {n: run(gray) for n, run in rivals.items()}  # also warms everything up
        same = float((inks[name] == inks["original"]).mean())
        times: dict[str, list[float]] = {n: [] for n in rivals}
        for _ in range(args.rounds if height * width < 2e6 else max(args.rounds // 2, 2)):
            for n, run in rivals.items():
                begun = time.perf_counter()
                run(gray)
                times[n].append(time.perf_counter() - begun)
        medians = {n: statistics.median(v) for n, v in times.items()}
        cells = [
            f"{1000 * t:.0f} ms" + ("" if n == name else f", **{medians[name] / t:.1f}×**") for n, t in medians.items()
        ]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
        results.append({"page": title, "threads": args.threads, "seconds": medians, "same_ink_as_peer": same})
        print(lines[-1], f"original's ink equals the peer's on {100 * same:.4f} % of the pixels", flush=True)
    text = "\n".join(
        [
            *lines,
            "",
            f"{args.threads} threads, {platform.machine()}, median of interleaved rounds; ratios are to the first column.",
        ]
    )
    print(text)
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1) + "\n")
    if args.readme:
        readme = Path(args.readme)
        marked = re.sub(
            r"(<!-- speed -->\n).*?(<!-- end of speed -->)",
            lambda m: f"{m[1]}{text}\n{m[2]}",
            readme.read_text(),
            flags=re.DOTALL,
        )
        readme.write_text(marked)


if __name__ == "__main__":
    main()
