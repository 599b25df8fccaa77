"""README.md and the pages in docs/ and examples/: their blocks run in order, and print what the pages show."""

import contextlib
import re
import subprocess
import textwrap

import pytest

from harness.documents import ROOT, Block, Page, PageShell, RepositoryGateway
from harness.gateway import BINARY, environment
from harness.webhook_receiver import unused_port

# Pages that are not read here.
LEFT_OUT = {
    "docs/operations.md": "test_deploy_walkthrough.py runs it as root in namespaces",
    "docs/cluster.md": "test_cluster.py and test_deploy_cluster.py run it with servers",
    "docs/postgres.md": "test_postgres.py runs it with a server",
}
# The first words of lines in `sh` blocks that are not run.
SKIPPED = {
    "make ": "CI runs make check (.ci/run); what `make run` starts, RepositoryGateway starts",
}
# Where an endpoint of webhooks and a backend listen in the pages.
WEBHOOK_PORT, BACKEND_PORT = "6002", "6003"
# What a page's gateway needs, and the committed configuration does not have.
WEBHOOKS = {"webhooks: []": f'webhooks: [{{url: "http://127.0.0.1:{WEBHOOK_PORT}/", allow_private: true}}]'}
CHANGES = {
    "docs/batches.md": {"enabled: false                    # false: the paths of accounts":
                        "enabled: true                     # false: the paths of accounts"},
    "docs/backends.md": WEBHOOKS,
    "examples/README.md": WEBHOOKS,
}
RUN = {"sh", "python", "text"}
# Languages of other platforms, whose SDKs neither Debian's packages nor PyPI have.
MARKED = {"js", "tsx", "swift", "kotlin"}

PATHS = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/migration/*.md")),
         ROOT / "examples/README.md"]
PAGES = {page.name: page for page in map(Page.read, PATHS) if page.name not in LEFT_OUT}
BLOCKS = [block for page in PAGES.values() for block in page.blocks()]
LINKING = [Page.read(path) for path in [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("[!.]*/**/*.md"))]
           if path.parent.name != ".pytest_cache"]
CONFIGURATIONS = [block for block in BLOCKS if block.language == "yaml"]


def runs(block: Block) -> bool:
    return block.is_run and block.language in RUN


@pytest.mark.parametrize("name", [name for name, page in PAGES.items()
                                  if any(map(runs, page.blocks()))])
def test_the_blocks_of_the_page_run_in_order(name, tmp_path):
    ports = {port: str(unused_port()) for port in (WEBHOOK_PORT, BACKEND_PORT)}
    changes = {before: after.replace(WEBHOOK_PORT, ports[WEBHOOK_PORT])
               for before, after in CHANGES.get(name, {}).items()}
    with contextlib.ExitStack() as stack:
        gateway = RepositoryGateway(tmp_path, changes)
        stack.callback(gateway.stop)
        shell = PageShell(tmp_path, gateway, SKIPPED, ports)
        stack.callback(shell.close)
        blocks = list(filter(runs, PAGES[name].blocks()))
        for block, following in zip(blocks, [*blocks[1:], None]):
            shell.run(block)
            if not (following and following.language == "text"):
                shell.check()
        gateway.assert_alive()


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: block.place)
def test_the_configuration_is_valid(block, providers):
    """A block of YAML is a part of the configuration; what it does not have has its default."""
    text = block.text
    if "apps:" not in text:
        text += "apps: [{id: '1001', key: key1, secret: secret1}]\n"
    config = providers.folder / "fleetwire.yaml"
    config.write_text(text)
    providers.account_file.rename(providers.folder / "service-account.json")
    secret = "a-secret-for-tests-of-32-bytes-and-more"
    result = subprocess.run(
        [BINARY, "check-config", "--config", config], capture_output=True, text=True,
        env=environment(**{name: secret for name in re.findall(r"\$\{(\w+)\}", text)}))
    assert result.returncode == 0, f"{block.place}\n{result.stdout}{result.stderr}"


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_the_block_is_run_or_marked(block):
    assert block.language in RUN | MARKED | {"yaml"}, "no language that this test knows"
    assert block.language not in MARKED or not block.is_run, "it is not run, and is not marked"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.source], ids=lambda block: block.place)
def test_the_quoted_lines_are_those_of_the_file(block):
    lines = block.source.read_text().splitlines()
    count = block.text.count("\n")
    assert block.text.rstrip("\n") in {
        textwrap.dedent("\n".join(lines[begin:begin + count])) for begin in range(len(lines))}


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_no_command_stands_outside_of_a_fence(page):
    """An indented block would not be run."""
    lines = page.without_blocks().splitlines()
    assert [line for before, line in zip(lines, lines[1:])
            if not before.strip() and re.match(r" {4,}\S", line)] == []


@pytest.mark.parametrize("page", LINKING, ids=lambda page: page.name)
def test_links_within_the_repository_are_valid(page):
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", page.without_blocks()):
        name, _, anchor = target.partition("#")
        path = ((ROOT / page.name).parent / name if name else ROOT / page.name).resolve()
        if "://" not in target and not (
                path.exists() and (not anchor or anchor in Page.read(path).anchors())):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("name, lines", [("README.md", 170), ("ARCHITECTURE.md", 250), ("CONTRIBUTING.md", 90)])
def test_the_first_pages_stay_short(name, lines):
    """What does not fit has its place in docs/."""
    assert len((ROOT / name).read_text().splitlines()) <= lines


def test_the_index_lists_every_decision():
    folder = ROOT / "docs/decisions"
    listed = re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))
    for name in listed:
        headings = re.findall(r"^#+ (.*)$", (folder / name).read_text(), re.MULTILINE)
        assert headings[0].startswith(f"{int(name[:4])}. ") and headings[1:] == ["Context", "Decision", "Consequences"]


def test_exceptions_are_needed():
    assert all((ROOT / name).exists() for name in LEFT_OUT)
    lines = [line for block in BLOCKS if block.language == "sh" for line in block.text.splitlines()]
    assert all(any(line.startswith(words) for line in lines) for words in SKIPPED)
    assert CHANGES.keys() <= PAGES.keys()
