"""A wall clock that a test moves while a program runs. The machine's clock stays."""

import os
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("wall_clock.c")


class WallClock:
    """The clock of the programs that `wrapper` runs."""

    def __init__(self, directory: Path):
        directory.mkdir()
        library, self.file = directory / "wall_clock.so", directory / "ahead"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, SOURCE], check=True)
        self.file.write_bytes(bytes(8))
        self.wrapper = ["env", f"LD_PRELOAD={library}", f"WALL_CLOCK={self.file}"]

    def move(self, seconds: int) -> None:
        """Sets the clock ahead of the machine's. The programs have mapped the file, so it is written in place."""
        descriptor = os.open(self.file, os.O_WRONLY)
        os.pwrite(descriptor, struct.pack("=q", seconds), 0)
        os.close(descriptor)
