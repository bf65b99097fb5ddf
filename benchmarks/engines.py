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
from sauvolanet.net.run import Network
from sauvolanet.net.standalone import attention_graph
from sauvolanet.page.numbers import PageNumbers
from sauvolanet.synth import page

HEIGHT, WIDTH = 576, 1104


def engines(model: Model, threads: int) -> dict[str, Callable[[], np.ndarray]]:
    """What can be timed: a function per engine that returns the attention (H, W, choices); all in single precision, and
    beside them ours in 8 bits, if the model runs so."""
    single = Model({**model.about, "bits": 32}, model.weights)
    arch, network = single.architecture, single.network
    gray, _ = page(1, kind="manuscript", height=HEIGHT, width=WIDTH)
    whole = (slice(0, HEIGHT), slice(0, WIDTH))
    read = model.inputs(gray, PageNumbers.of(gray))
    measured = read.statistics(whole, threads)
    feeds = {"features": np.ascontiguousarray(read.features(measured).transpose(2, 0, 1))[None]}
    if arch.refine:
        near = [measured.mean[..., i] for i in arch.refine_indices]
        feeds["seen"] = np.ascontiguousarray(np.stack([measured.gray, *(measured.gray - m for m in near)]))[None]

    view = network.in_view(read, network.view(read, threads), whole)
    if view is not None:
        feeds["view"] = np.ascontiguousarray(view.transpose(2, 0, 1))[None]

    def ours(network: Network) -> np.ndarray:
        head = network.head(read, measured, threads, view=view)
        return network.decide(head, measured, whole, threads, keep=True)[1]

    found: dict[str, Callable[[], np.ndarray]] = {"ours": lambda: ours(network)}
    if model.about["bits"] == 8:
        found["ours, 8 bits"] = lambda: ours(model.network)
    graph = attention_graph(single)
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
