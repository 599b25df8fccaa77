"""Full disks."""

import contextlib
import resource

INFINITE = resource.RLIM_INFINITY


class FullTmpfs:
    """Fills a small file system to the last byte, and frees it again."""

    def __init__(self, place):
        self.place, self.filler = place, place / "filler"

    def fill(self) -> None:
        with self.filler.open("wb", buffering=0) as filler:
            with contextlib.suppress(OSError):
                while filler.write(b"\0" * 4096) == 4096:
                    pass

    def free(self) -> None:
        self.filler.unlink()


class FileSizeLimit:
    """Limits the size of each file that the process writes."""

    def __init__(self, gateway, path):
        self.pid, self.path = gateway.process.pid, path

    def fill(self, largest: int | None = None) -> None:
        """By default, the largest database file keeps its size. 0 refuses the next write already."""
        if largest is None:
            largest = max(each.stat().st_size for each in self.path.parent.glob(f"{self.path.name}*"))
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (largest, INFINITE))

    def free(self) -> None:
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (INFINITE, INFINITE))
