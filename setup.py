"""The compiled core, sauvolanet.core._native; everything else about the package is in pyproject.toml.

Every kernel file is compiled once for each level of processors, into a namespace of its own; the module chooses at run
time. Where no compiler works the package is installed without it.

SAUVOLANET_CXXFLAGS adds flags for compiler and linker; where it is set a build that fails is an error. So our own builds
make warnings errors (-Werror) and check every access to memory (see the Makefile).
"""

import os
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = Path("src/sauvolanet/core/native")
MODULE = NATIVE / "module.cpp"
KERNELS = sorted(set(NATIVE.glob("*.cpp")) - {MODULE})

AVX2 = ["-mavx2", "-mfma"]
AVX512 = [*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mavx512vnni"]
X86 = {"plain": [], "avx2": AVX2, "avx512": AVX512}  # levels, lowest first, and their flags
ARM: dict[str, list[str]] = {"neon": []}  # every processor of 64 bits has it
PROCESSORS = {"x86_64": X86, "amd64": X86, "aarch64": ARM, "arm64": ARM}
IN_MSVC = {"-mavx2": "/arch:AVX2", "-mavx512f": "/arch:AVX512"}
# results are the same on all levels: a product and a sum become one operation only where the code says so
UNIX = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fvisibility=hidden",
        "-g0", "-Wall", "-Wextra", "-Wno-psabi"]  # fmt: skip
MSVC = ["/std:c++17", "/O2", "/fp:precise", "/EHsc", "/utf-8"]
FLAGS = os.environ.get("SAUVOLANET_CXXFLAGS", "").split()
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")  # one binary for all Pythons that have the usual lock


class BuildLevels(build_ext):
    """Compiles the kernels for every level, then the module that collects them."""

    def build_extension(self, ext: Extension) -> None:
        self.force = True  # what lies there may be of other flags
        platform, msvc = sysconfig.get_platform(), self.compiler.compiler_type == "msvc"
        levels = next((levels for name, levels in PROCESSORS.items() if platform.endswith(name)), {"plain": []})
        ext.extra_compile_args = [*(MSVC if msvc else UNIX), *FLAGS]
        ext.define_macros += [("LEVELS", " ".join(f"X({level})" for level in levels))]

        def compiled(level: str, source: Path) -> list[str]:
            flags = [IN_MSVC[flag] for flag in levels[level] if flag in IN_MSVC] if msvc else levels[level]
            return self.compiler.compile(
                [str(source)],
                output_dir=str(Path(self.build_temp, level)),
                macros=[*ext.define_macros, ("LEVEL", level)],
                include_dirs=ext.include_dirs,
                debug=self.debug,
                extra_postargs=[*ext.extra_compile_args, *flags],
            )

        # the lowest level is linked first: of a standard function that several levels contain, the linker takes the first
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for job in [pool.submit(compiled, level, source) for level in levels for source in KERNELS]:
                ext.extra_objects += job.result()
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "sauvolanet.core._native",
            [str(MODULE)],
            depends=[str(path) for path in sorted(NATIVE.iterdir())],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if LIMITED else [],
            py_limited_api=LIMITED,
            extra_link_args=FLAGS,
            optional=not FLAGS,
        )
    ],
    cmdclass={"build_ext": BuildLevels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
