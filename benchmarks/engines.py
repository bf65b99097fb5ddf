"""The networks' convolutions in several engines: ours, ONNX Runtime, OpenVINO. Features in, attention out.

python benchmarks/engines.py [--threads 2] [--rounds 9]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from sauvolanet.net import Model, load, shipped
from sauvolanet.net.features import features, page_numbers, shown
from sauvolanet.net.features import statistics as window_statistics
from sauvolanet.page import PageNumbers
from sauvolanet.standalone import attention_graph
from sauvolanet.synth import page

HEIGHT, WIDTH = 576, 1104


def inputs(model: Model) -> tuple[np.ndarray, ...]:
    """Scaled gray, mean, deviation, page numbers and features of a page."""
    gray, _ = page(1, kind="manuscript", height=HEIGHT, width=WIDTH)
    numbers = PageNumbers.of(gray)
    scale = model.scale(numbers)
    gray = shown(gray, scale)
    whole = (slice(0, HEIGHT), slice(0, WIDTH))
    mean, deviation = window_statistics(gray, model.architecture.windows, scale, whole, None)
    scaled = (gray - np.float32(scale.low)) * np.float32(scale.gain)
    known = page_numbers(numbers, model.about["scaling"])
    return scaled, mean, deviation, known, features(model.architecture, scaled, mean, deviation, known)


def engines(model: Model, threads: int) -> dict[str, Callable[[], np.ndarray]]:
    """What can be timed: a function per engine that returns the attention (H, W, choices)."""
    arch, network = model.architecture, model.network
    scaled, mean, deviation, known, seen = inputs(model)
    feeds = {"features": np.ascontiguousarray(seen.transpose(2, 0, 1))[None]}
    if arch.refine:
        near = [mean[..., arch.windows.index(w)] for w in arch.refine_windows]
        feeds["seen"] = np.ascontiguousarray(np.stack([scaled, *(scaled - m for m in near)]))[None]
    core = (slice(0, HEIGHT), slice(0, WIDTH))

    def ours() -> np.ndarray:
        head = network._head(scaled, mean, deviation, known, {}, threads)
        return network._decide(head, scaled, mean, deviation, core, threads, keep=True)[1]

    found: dict[str, Callable[[], np.ndarray]] = {"ours": ours}
    graph = attention_graph(model)
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        found[f"onnxruntime {onnxruntime.__version__}"] = lambda: session.run(None, feeds)[0][0].transpose(1, 2, 0)
    except ImportError:
        pass
    try:
        import openvino

        core_ = openvino.Core()
        network_ = core_.read_model(graph)
        network_.reshape({n: v.shape for n, v in feeds.items()})
        settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        compiled = core_.compile_model(network_, "CPU", settings)
        found[f"openvino {openvino.__version__.split('-')[0]}"] = lambda: compiled(feeds)[0][0].transpose(1, 2, 0)
    except ImportError:
        pass
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    for name in shipped():
        model = load(name)
        rivals = engines(model, args.threads)
        results = {n: run() for n, run in rivals.items()}
        times: dict[str, list[float]] = {n: [] for n in rivals}
        for _ in range(args.rounds):
            for n, run in rivals.items():
                begun = time.perf_counter()
                run()
                times[n].append(time.perf_counter() - begun)
        for n, values in times.items():
            apart = float(np.abs(results[n] - results["ours"]).max())
            middle = statistics.median(values)
            print(
                f"{name:14} {n:22} {1000 * middle:7.1f} ms  {statistics.median(times['ours']) / middle:5.2f}×  attention within {apart:.1e}"
            )


if __name__ == "__main__":
    main()
