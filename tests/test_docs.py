"""The site builds without a warning, and what its pages say is true: blocks, settings, options, links."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml

from tests.conftest import ROOT
from tfmigrate import cli, rules, settings
from tfmigrate.cli import batch
from tfmigrate.migrate import migrate_bytes
from tfmigrate.settings import Settings

PAGES = sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / name for name in ("CHANGELOG.md", "CONTRIBUTING.md"))])
TEXTS = {page.name: page.read_text(encoding="utf-8") for page in PAGES}


def blocks(text: str, info: str) -> list[str]:
    return re.findall(rf"^```{info}\n(.*?)^```$", text, flags=re.M | re.S)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


REFERENCES = [
    pytest.param(one, id=f"{rule.code} {one}")
    for rule in rules.all_rules()
    for one in rule.references
    if one.startswith("docs/")
]


@pytest.mark.parametrize("reference", REFERENCES)
def test_evidence_that_a_rule_cites_is_in_the_repository(reference: str) -> None:
    page, _, section = reference.partition(", ")
    text = (ROOT / page).read_text(encoding="utf-8")
    assert section.partition(":")[0] in re.findall(r"^## (.+)$", text, flags=re.M)


def test_no_rule_cites_what_is_not_in_the_repository() -> None:
    cited = [one for rule in rules.all_rules() for one in rule.references]
    pages = {match for one in cited for match in re.findall(r"[\w/-]+\.md\b", one)}
    assert {page for page in pages if not (ROOT / page).is_file()} == set()


def test_every_rule_has_a_page(site: Path) -> None:
    index = (site / "rules/index.html").read_text(encoding="utf-8")
    for rule in rules.all_rules():
        page = (site / "rules" / rule.code / "index.html").read_text(encoding="utf-8")
        assert rule.name in page
        assert f'href="{rule.code}/"' in index


def test_the_sidebar_lists_the_rules_by_group_and_pages_lead_to_the_next(site: Path) -> None:
    page = (site / "rules/TFM411/index.html").read_text(encoding="utf-8")
    listed = re.findall(r'href="\.\./(TFM\d+)/"', page)
    group = [rule.code for rule in rules.all_rules() if rule.code.startswith("TFM4")]
    assert [one for one in listed if one in group] != []
    position = group.index("TFM411")
    footer = page[page.rindex("<a ", 0, page.index("md-footer__link--prev")) :]
    assert re.findall(r'href="\.\./(TFM\d+)/"', footer)[:2] == [group[position - 1], group[position + 1]]
    for title in ("Rewrites", "Refusals", "Strategy traps", "The project around the code"):
        assert title in page


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="(https?:[^"]+)"')
    assert [match for page in site.rglob("*.html") for match in loaded.findall(page.read_text(encoding="utf-8"))] == []


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    """As mkdocs does, but for the pages as built, the generated ones included."""
    broken = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for link in re.findall(r'<a [^>]*href="([^"]+)"', page.read_text(encoding="utf-8")):
            if re.match(r"https?:|mailto:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and f'id="{anchor}"' not in target.read_text(encoding="utf-8")):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_the_guide_shows_what_the_tool_does() -> None:
    befores, afters = (blocks(TEXTS["guide.md"], f"python {role}") for role in ("before", "after"))
    assert len(befores) == len(afters) == 1
    for before, after in zip(befores, afters, strict=True):
        assert migrate_bytes(before.encode(), "example.py", Settings()).after == after


def test_the_configuration_is_complete_and_valid(tmp_path: Path) -> None:
    (block,) = blocks(TEXTS["configuration.md"], "toml")
    (tmp_path / "pyproject.toml").write_text(block)
    chosen = settings.load(tmp_path, {})
    assert chosen.per_file_ignores == (("legacy/", ("TFM2", "TFM3")), ("*.ipynb", ("TFM205",)))
    told = {match.strip('"') for match in re.findall(r"^([\w-]+) =", block, flags=re.M)} | {"per-file-ignores"}
    assert told == settings._KEYS


@pytest.mark.parametrize("page", TEXTS)
def test_commands_options_and_codes_exist(page: str) -> None:
    commands = cli.commands()
    for line in re.findall(r"^ *(?:- )?tfmigrate (\S.*?) *(?:#.*|> .*)?$", TEXTS[page], flags=re.M):
        name, *arguments = line.replace('"', "").split()
        assert name in commands, line
        commands[name].make_context(name, arguments)
    options = [one for command in commands.values() for one in command.params if isinstance(one, click.Option)]
    known = {"--help", *(option for one in options for option in one.opts)}
    others = {"--notebook", "--inplace", "--to"}  # of jupyter nbconvert
    others |= {"--nodes", "--ntasks-per-node", "--gpus-per-task"}  # of sbatch
    others |= {"--only", "--parts"}  # of `make field` and `make gpu`
    others |= {"--force-create", "--message", "--all", "--shortstat", "--detach"}  # of git
    others |= {"--head", "--title", "--body-file", "--org"}  # of gh and multi-gitter
    others |= {"--address"}  # of ray
    others |= {"--gpus"}  # of a script
    others |= {"--add-noqa"}  # of ruff
    others |= {"--user", "--scope"}  # of systemd-run
    others |= {"--host", "--no-python", "--nproc-per-node"}  # of mpirun and torchrun
    others |= {"--xla"}  # of XLA_FLAGS
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXTS[page])) <= known | others
    codes = set(re.findall(r"\bTFM\d{3}\b", TEXTS[page])) - {"TFM290", "TFM291"}  # CONTRIBUTING adds them
    assert codes <= set(rules.by_code())


@pytest.mark.parametrize("page", TEXTS)
def test_yaml_and_json_blocks_parse(page: str) -> None:
    for block in blocks(TEXTS[page], "yaml"):
        assert isinstance(yaml.safe_load(block), dict)
    for block in blocks(TEXTS[page], "json"):
        json.loads(block)


def test_the_hooks_and_inputs_that_ci_names_exist() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    own, local, github, plain, _ = (yaml.safe_load(block) for block in blocks(TEXTS["ci.md"], "yaml"))
    assert {hook["id"] for repo in own["repos"] for hook in repo["hooks"]} <= hooks.keys()
    (written_out,) = local["repos"][0]["hooks"]
    assert {written_out[key] == hooks["tfmigrate-check"][key] for key in ("name", "entry", "require_serial")} == {True}
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    assert set(github["jobs"]["tfmigrate"]["steps"][1]["with"]) <= set(inputs)
    name, *arguments = plain["jobs"]["tfmigrate"]["steps"][2]["run"].split()[1:]
    cli.commands()[name].make_context(name, [one for one in arguments if "{" not in one and one[-1] != "}"])


def test_the_make_targets_of_contributing_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.M))
    assert set(re.findall(r"\bmake (test|docs|bench|\w+)  ", TEXTS["CONTRIBUTING.md"])) <= targets


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str) -> None:
    assert f"_TFMIGRATE_COMPLETE={shell}_source" in TEXTS["editors.md"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "_TFMIGRATE_COMPLETE": f"{shell}_source"}
    code = "from tfmigrate.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert "_TFMIGRATE_COMPLETE" in done.stdout, done.stderr


STUBS = {
    "python": 'echo "$TF_USE_LEGACY_KERAS $TF_CONFIG" >> "$TOLD"',
    "ssh": 'exec sh -c "$2"',
    "scontrol": 'test "$*" = "show hostnames node[1-2]" && printf "node1\\nnode2\\n"',
    "srun": 'for i in 0 1; do SLURM_NODEID=$i "$@"; done',
}
"""What the recipes start, in small; each python tells what it was told."""
RANKS = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "JOB_COMPLETION_INDEX")


def recipes() -> list[tuple[str, str | None]]:
    """Each shell script of the page, and the variable in which its launcher would say which process it is."""
    ssh, slurm, launched, here = blocks(TEXTS["multi-worker.md"], "sh")
    job = yaml.safe_load(blocks(TEXTS["multi-worker.md"], "yaml")[0])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["sh", "-c"]
    (pod,) = container["args"]
    told = "".join(f"export {one['name']}={one['value']}\n" for one in container["env"])
    return [(ssh, None), (slurm, None), *((launched, rank) for rank in RANKS[:3]), (told + pod, RANKS[3]), (here, None)]


@pytest.mark.parametrize(("script", "rank"), recipes())
def test_a_recipe_tells_each_worker_which_it_is(script: str, rank: str | None, tmp_path: Path) -> None:
    for name, body in STUBS.items():
        stub = tmp_path / "bin" / name
        stub.parent.mkdir(exist_ok=True)
        stub.write_text(f"#!/bin/sh\n{body}\n")
        stub.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TOLD": str(tmp_path / "told")}
    environment["SLURM_JOB_NODELIST"] = "node[1-2]"
    shell = "bash" if script.startswith("#!/bin/bash") else "sh"
    for more in [{}] if rank is None else [{rank: "0"}, {rank: "1"}]:
        command = [shell, "-e", "-c", script.replace("/shared/project", str(tmp_path))]
        subprocess.run(command, cwd=tmp_path, env={**environment, **more}, check=True, timeout=60)
    lines = (tmp_path / "told").read_text().splitlines()
    configs = [json.loads(line.removeprefix("1 ")) for line in lines]
    assert sorted(config["task"]["index"] for config in configs) == [0, 1]
    assert {config["task"]["type"] for config in configs} == {"worker"}
    clusters = [config["cluster"]["worker"] for config in configs]
    assert clusters[0] == clusters[1]
    assert len(set(clusters[0])) == 2


def test_the_parts_of_make_gpu_that_pages_name_exist() -> None:
    """`GPU="..."` is handed to benchmarks/gpu.py as it is."""
    texts = [TEXTS["gpu.md"], (ROOT / "Makefile").read_text(encoding="utf-8")]
    asked = re.findall(r'GPU="([^"]+)"', "".join(texts))
    assert len(asked) > 1
    code = "import gpu, sys; print([*gpu.programs(gpu.parser().parse_args(sys.argv[1:]).only)])"
    for words in asked:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "benchmarks")])}
        command = [sys.executable, "-c", code, *words.split()]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert "before" in done.stdout, done.stderr


@pytest.mark.starts_processes
def test_the_recipe_for_many_repositories(tmp_path: Path) -> None:
    """Run as it is printed, but for the verification, and with a stand-in for `gh`."""
    python = f"PYTHONPATH={ROOT} exec {sys.executable}"
    verified = "mkdir -p verified/good; cp text.md verified/good/pull-request.md; exit"
    stubs = {
        "tfmigrate": f'[ "$1" = verify ] && {{ {verified}; }}\n{python} -m tfmigrate "$@"',
        "python3": f'{python} "$@"',
        "gh": f'echo "$PWD $*" >> {tmp_path}/told; cat >> {tmp_path}/told',
    }
    (tmp_path / "bin").mkdir()
    for name, body in stubs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    identity = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    def shell(script: str) -> str:
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.stderr == ""
        return done.stdout

    good = (ROOT / "fixtures/base_parallel/before/train.py").read_text(encoding="utf-8")
    (refused,) = blocks((ROOT / "rules/TFM104-made-elsewhere.md").read_text(encoding="utf-8"), "python refuse")
    for name, text in {"good": good, "odd": refused}.items():
        (tmp_path / "from" / name).mkdir(parents=True)
        (tmp_path / "from" / name / "train.py").write_text(text)
        shell(f"cd from/{name} && git init --quiet && git add . && git commit --quiet --message start")
    (tmp_path / "repositories.txt").write_text("from/good train.py --epochs 2\nfrom/odd train.py\n")

    migrate, pairs, publish, statistics, burn_down = blocks(TEXTS["fleet.md"], "bash")
    assert re.match(r"good: 1 file changed.*\nodd: something is left to do by hand\n$", shell(migrate))
    assert shell(migrate) == "odd: something is left to do by hand\n", "nothing is done twice"
    (tmp_path / "text.md").write_text("The verdict\n![curves](curves.png)\n")
    shell(pairs)
    (item,) = batch.read(tmp_path / "pairs.toml")
    assert item.old.read_text() == good
    assert "MirroredStrategy" in (item.new or item.old).read_text()
    assert item.options["arguments"] == "--epochs 2"
    shell(publish)
    told = (tmp_path / "told").read_text()
    assert told.startswith(f"{tmp_path}/repos/good pr create --head tfmigrate")
    assert told.endswith("\nThe verdict\n")
    assert "tfmigrate" in shell("git -C from/good branch --list tfmigrate")
    assert re.search(r"^1 +TFM104", shell(statistics), flags=re.M)
    shell(burn_down)
    header, *rows = (tmp_path / "burn-down.csv").read_text().splitlines()
    assert re.fullmatch(r"repository,\d{4}-\d\d-\d\d", header)
    assert rows == ["odd,1"]
