"""Starts Mneme: the program is beside this file, the models are in a package of their own."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program."""
    import mneme_engine_models

    program = Path(__file__).parent / "program" / ("mneme.exe" if os.name == "nt" else "mneme")
    models = Path(mneme_engine_models.__file__).parent / "models"
    environment = {**os.environ, "MNEME_SHIPPED_MODELS_DIR": str(models)}
    command = [str(program), *sys.argv[1:]]
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.run(command, env=environment).returncode)
    os.execve(program, command, environment)
