"""A strict parser of the Prometheus text format."""

import re
import time

from .api import Api
from .apps import TIMEOUT

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-z_]+="[^"\\\n]*",?)*\})? (-?[0-9.eE+-]+|NaN|[+-]Inf)')
COMMENT = re.compile(r"# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)")


class Metrics:
    def __init__(self, text: str):
        self.types: dict[str, str] = {}
        self.samples: list[tuple[str, str, float]] = []
        assert text.endswith("\n"), "the last line must end with a line feed"
        for line in text.splitlines():
            if line.startswith("#"):
                comment = COMMENT.fullmatch(line)
                assert comment, f"not a comment of Prometheus text: {line!r}"
                if comment[1] == "TYPE":
                    assert comment[2] not in self.types, f"{comment[2]} is typed twice"
                    self.types[comment[2]] = comment[3]
            elif line:
                sample = SAMPLE.fullmatch(line)
                assert sample, f"not a sample of Prometheus text: {line!r}"
                self.samples.append((sample[1], sample[2] or "", float(sample[3])))

    def total(self, family: str) -> float:
        """Returns the sum over all labels; 0 for a family without samples."""
        return sum(value for name, _, value in self.samples if name == family)

    def value(self, family: str, **labels: str) -> float:
        """Returns the sum of the samples with these labels."""
        return sum(value for name, received, value in self.samples if name == family
                   and all(f'{label}="{text}"' in received for label, text in labels.items()))


def scrape(api: Api) -> Metrics:
    response = api.get("/metrics")
    assert response.status == 200, response
    assert response.headers["content-type"].startswith("text/plain"), response.headers
    return Metrics(response.text)


def count_limited(api: Api, limit: str) -> float:
    """Returns how often a limit without a metric of its own was reached."""
    return sum(value for name, labels, value in scrape(api).samples
               if name == "fleetwire_limited_total" and f'"{limit}"' in labels)


def wait_for_metric(api: Api, family: str, value: float) -> None:
    """Polls until a metric has this value, for effects that clients cannot observe, such as the end
    of a connection.
    """
    deadline = time.monotonic() + TIMEOUT
    while (seen := scrape(api).total(family)) != value:
        assert time.monotonic() < deadline, f"{family} is {seen}, not {value}"
        time.sleep(0.02)
