"""The compiled core, sauvolanet.core._native; everything else about the package is in pyproject.toml.

Every kernel file is compiled once for each level of processors, into a namespace of its own; the module chooses at run
time. Where no compiler works the package is installed without it. CXXFLAGS=-Werror makes warnings errors.
"""

import sysconfig
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/sauvolanet/core/native")
MODULE = NATIVE / "module.cpp"
KERNELS = sorted(set(NATIVE.glob("*.cpp")) - {MODULE})

AVX2 = ["-mavx2", "-mfma"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512vnni"]
LEVELS = {  # the flags of each level, lowest first, by the processor that is compiled for
    "x86_64": {"plain": [], "avx2": AVX2, "avx512": AVX512},
    "amd64": {"plain": [], "avx2": ["/arch:AVX2"], "avx512": ["/arch:AVX512"]},
    "aarch64": {"plain": [], "neon": []},
    "arm64": {"plain": [], "neon": []},
}
# results are the same on all levels: a product and a sum become one operation only where the code says so
UNIX = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden",
        "-Wall", "-Wextra"]  # fmt: skip
MSVC = ["/std:c++17", "/O2", "/fp:precise", "/EHsc", "/utf-8"]
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")  # one binary for all Pythons that have the usual lock


class BuildLevels(build_ext):
    """Compiles the kernels for every level, then the module that collects them."""

    def build_extension(self, ext: Extension) -> None:
        levels = next((flags for name, flags in LEVELS.items() if sysconfig.get_platform().endswith(name)), {"plain": []})
        ext.extra_compile_args = MSVC if self.compiler.compiler_type == "msvc" else UNIX
        ext.define_macros += [("LEVELS", " ".join(f"X({level})" for level in levels))]

        def compiled(level: str, source: Path) -> list[str]:
            return self.compiler.compile(
                [str(source)],
                output_dir=str(Path(self.build_temp, level)),
                macros=[*ext.define_macros, ("LEVEL", level)],
                include_dirs=ext.include_dirs,
                debug=self.debug,
                extra_postargs=[*ext.extra_compile_args, *levels[level]],
            )

        # the lowest level is linked first: of a standard function that several levels contain, the linker takes the first
        with ThreadPoolExecutor(cpu_count()) as pool:
            for objects in pool.map(compiled, *zip(*((a, b) for a in levels for b in KERNELS))):
                ext.extra_objects += objects
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "sauvolanet.core._native",
            [str(MODULE)],
            depends=[str(path) for path in sorted(NATIVE.iterdir())],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildLevels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
