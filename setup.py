"""The compiled part of the build: `.pyx` modules, and others that have a `.pxd` alongside them.

The rest of the packaging is in pyproject.toml. Without a compiler, or with PERCEPTRON_UNCOMPILED=1, the same
modules run interpreted, with the same answers.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

PACKAGES = [Path("perceptron_core"), Path("service")]
KINDS = "*.pyx", "*.pxd"
SHARED = "_cython"
"""What Cython would otherwise repeat in every module, in a module of each package: some of `service` are
imported where no learner is."""

# PERCEPTRON_SANITIZE=address,undefined: with these checks in the machine code (make test-sanitized).
# Optimized, it takes twice as long to compile and runs no faster, and what is optimized away is not checked.
SANITIZERS = os.environ.get("PERCEPTRON_SANITIZE", "")
CHECKED = [
    f"-fsanitize={SANITIZERS}",
    "-fno-sanitize-recover=undefined",
    "-fno-omit-frame-pointer",
    "-O0",
    "-g1",
]
STRIPPED = ["-s"] if sys.platform == "linux" else []
"""Without symbols, which only a debugger reads: an eighth of what is compiled."""
LINK_FLAGS = [f"-fsanitize={SANITIZERS}"] if SANITIZERS else STRIPPED
VECTORS = {"perceptron_core.linear.one_vs_rest"}
"""Loops over several numbers at once."""
LOOPS = VECTORS | {
    "perceptron_core.auto.characters",
    "perceptron_core.auto.columns",
    "perceptron_core.auto.dense_maps",
    "perceptron_core.auto.ensemble",
    "perceptron_core.auto.feature_maps",
    "perceptron_core.auto.rule",
    "perceptron_core.auto.token_map",
    "perceptron_core.elementary",
    "perceptron_core.linear.coin_betting",
    "perceptron_core.linear.normalized_adagrad",
    "perceptron_core.mixing.lead",
    "perceptron_core.mixing.mixer",
    "perceptron_core.text.hasher",
    "perceptron_core.text.murmur3",
    "perceptron_core.text.tokenizer",
    "perceptron_core.trees.boosting",
    "perceptron_core.trees.leaves",
    "perceptron_core.trees.neighbors",
    "perceptron_core.trees.refitted",
    "perceptron_core.trees.trees",
    "perceptron_core.weights.example",
    "service.messages.event_reader",
    "service.messages.features",
    "service.messages.json_keys",
    "service.partition.parts.window_cells",
}
"""Loops over numbers or bytes, and what `auto` does with each event: up to a third faster with -O3.

Elsewhere it only takes longer to compile.
"""

UNCOMPILED = os.environ.get("PERCEPTRON_UNCOMPILED") == "1"

DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": False,  # only the .pxd files declare C types
    "auto_pickle": False,  # learners define their pickles themselves
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
}


class BuildAllOrNone(build_ext):
    """Compile all modules or, if one fails, none: compiled modules call each other in C."""

    n_compiled = 0

    def build_extensions(self) -> None:
        """Compile, or report why not."""
        self.parallel = self.parallel or os.cpu_count()
        try:
            super().build_extensions()
        except (BaseError, CCompilerError) as error:
            self.leave_uncompiled(error)

    def run(self) -> None:
        """Build; in place, delete machine code of modules that are no longer compiled.

        Python would import it instead of their source.
        """
        super().run()
        if not self.inplace:
            return
        wanted = {Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions}
        for found in (path.resolve() for package in PACKAGES for path in package.rglob("*.so")):
            if found not in wanted:
                found.unlink()

    def build_extension(self, extension: Extension) -> None:
        """Compile a module, and print how many are compiled."""
        super().build_extension(extension)
        self.n_compiled += 1
        print(f"compiling: {self.n_compiled} of {len(self.extensions)} modules", flush=True)

    def leave_uncompiled(self, reason: object) -> None:
        """Skip compilation, delete the extensions built so far, and tag the wheel for any platform."""
        self.warn(f"perceptron_core stays uncompiled, and slower: {reason}")
        for extension in self.extensions:
            Path(self.get_ext_fullpath(extension.name)).unlink(missing_ok=True)
        self.extensions = self.distribution.ext_modules = []
        if wheel := self.distribution.get_command_obj("bdist_wheel", create=False):
            wheel.root_is_pure = True  # decided when it was still to be compiled


def flags(module: str) -> list[str]:
    """Return the compiler's options for a module."""
    if sys.platform == "win32":
        return []
    optimized = ["-O3"] if module in LOOPS else ["-O1"]
    if module in VECTORS:  # no one asks for errno and traps, which keep roots from being taken in vectors
        optimized += ["-fno-math-errno", "-fno-trapping-math"]
    level = CHECKED if SANITIZERS else [*optimized, "-g0"]
    # No fused multiply-add: it rounds once where the interpreter rounds twice.
    return [*level, "-ffp-contract=off", "-Wno-unused-function"]


def extension(module: str, sources: list[str]) -> Extension:
    """Return what is to be compiled."""
    return Extension(module, sources, extra_compile_args=flags(module), extra_link_args=LINK_FLAGS)


def extensions(package: Path) -> list[Extension]:
    """List what of a package is to be compiled, as C sources unless it stays as it is."""
    shared = f"{package}.{SHARED}"
    modules = [
        extension(".".join(path.with_suffix("").parts), [str(source(path))])
        for path in sorted({each.with_suffix("") for kind in KINDS for each in package.rglob(kind)})
        if source(path).exists()  # else declarations for others
    ]
    modules.insert(0, extension(shared, []))
    return cythonize(
        modules,
        build_dir="build/c",
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=shared,
        nthreads=os.cpu_count(),
        quiet=True,
    )


def source(module: Path) -> Path:
    """Return what is compiled: the `.pyx`, or the `.py` that has a `.pxd`."""
    own = module.with_suffix(".pyx")
    return own if own.exists() else module.with_suffix(".py")


if __name__ == "__main__":  # processes that Cython starts import this module
    setup(
        ext_modules=[] if UNCOMPILED else [each for package in PACKAGES for each in extensions(package)],
        cmdclass={"build_ext": BuildAllOrNone},
    )
