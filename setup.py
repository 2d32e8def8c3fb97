"""Build the extension where a compiler is there; everything else about the package stands in pyproject.toml."""

import os
import sysconfig

from setuptools import Extension, setup

# The sanitizers' options, and whatever else one build is to have.
EXTRA = os.environ.get("PHASEPROF_CFLAGS", "").split()

IS_LINUX = os.uname().sysname == "Linux"


def extension(name: str) -> Extension:
    """Describe one of the extensions."""
    return Extension(
        f"phaseprof.native.{name}",
        [f"phaseprof/native/{name}.c"],
        define_macros=[("_POSIX_C_SOURCE", "200809L")] if IS_LINUX else [],
        # What a debugger reads would be three quarters of an extension; PHASEPROF_CFLAGS=-g has it again.
        extra_compile_args=["-std=c11", "-O3", "-g0", *EXTRA],
        extra_link_args=EXTRA,
        optional=True,  # without it the same is done in Python
    )


# The last two read files of /proc.
NAMES = ["_heap", "_tracing", "_points", "_sampling"] if IS_LINUX else ["_heap", "_tracing"]
# The passes rely on the interpreter's lock, which a free-threaded Python does not have.
setup(ext_modules=[] if sysconfig.get_config_var("Py_GIL_DISABLED") else [extension(name) for name in NAMES])
