"""The commands themselves: their options, help, exit codes and manners."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import typer
import yaml

from gia_science import catalog
from gia_science.cli.main import app
from gia_science.cli.output import use_threads
from gia_science.data.cards import load_card
from gia_science.training.recipe import Recipe

SURFACE = {
    "train": {
        "data", "--target", "-t", "--out", "-o", "--task", "--from", "--input", "--domain", "--kind", "--column",
        "--split", "--fold", "--bad-rows", "--duplicates", "--format", "--header", "--no-header", "--seed", "--set",
        "--members", "--time", "--blend", "--no-blend",
        "--baseline", "--no-baseline", "--device", "--devices", "--nodes", "--threads", "--overwrite",
    },
    "finetune": {
        "data", "--base", "--adapter", "--target", "-t", "--out", "-o", "--keep-base", "--task", "--input", "--domain",
        "--kind", "--column", "--split", "--fold", "--bad-rows", "--duplicates", "--format", "--header", "--no-header",
        "--seed", "--set", "--baseline", "--no-baseline", "--device", "--devices", "--nodes", "--threads",
        "--overwrite",
    },
    "validate": {
        "data", "--target", "-t", "--input", "--domain", "--kind", "--column", "--model", "--max-length", "--split",
        "--header", "--no-header", "--format", "--json",
    },
    "pretrain": {
        "data", "--out", "-o", "--objective", "--recipe", "--input", "--domain", "--split", "--fold", "--bad-rows",
        "--format", "--header", "--no-header", "--seed", "--set", "--device", "--devices",
        "--nodes", "--threads", "--overwrite",
    },
    "predict": {
        "model", "data", "--out", "-o", "--input", "--format", "--header", "--no-header", "--long", "--threads",
        "--resume", "--shard", "--engine", "--workers",
    },
    "merge": {"out", "files"},
    "embed": {
        "model", "data", "--out", "-o", "--input", "--format", "--header", "--no-header", "--pooling", "--layer",
        "--tokens", "--long", "--threads", "--resume", "--shard",
    },
    "evaluate": {
        "model", "data", "--out", "-o", "--input", "--format", "--header", "--no-header", "--baseline",
        "--no-baseline", "--by", "--against", "--threads",
    },
    "graph": {
        "model", "text", "--out", "-o", "--file", "--line", "--input", "--format", "--header", "--no-header",
        "--long", "--member", "--layer", "--head", "--threshold", "--overwrite", "--threads",
    },
    "benchmark attention": {"tasks", "--out", "-o", "--preset", "--jobs"},
    "benchmark adapters": {"tasks", "--base", "--out", "-o", "--preset", "--jobs"},
    "benchmark ablation": {"tasks", "--seeds", "--out", "-o", "--jobs"},
    "benchmark accuracy": {"tasks", "--all", "--seeds", "--out", "-o", "--set", "--jobs"},
    "datasets list": set(),
    "datasets show": {"name"},
    "datasets fetch": {"names", "--all"},
    "tasks list": set(),
    "tasks show": {"name"},
}  # fmt: skip
TABLE = "smiles,logS\n" + "".join(f"{'C' * i},{i}.5\n" for i in range(1, 13))


def commands(group: object, prefix: str = "") -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found |= commands(command, f"{prefix}{name} ")
        else:
            found[prefix + name] = {
                text
                for p in command.params
                for text in (*p.opts, *p.secondary_opts)
                if text != "--help" and not getattr(p, "hidden", False)
            }
    return found


def test_the_commands_and_their_options_are_these() -> None:
    """Scripts rest on them: a change here is a change of the interface, and stands in the change log."""
    assert commands(typer.main.get_command(app)) == SURFACE


@pytest.mark.parametrize("command", ["", *SURFACE, "benchmark", "datasets", "tasks"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(gia, command, flag, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = gia(*command.split(), flag)
    assert (done.code, done.err) == (0, "")
    assert f"Usage: gia {command}".strip() in done.out
    for word in SURFACE.get(command, ()):
        assert word in done.out


def test_without_a_command_there_is_help(gia) -> None:
    done = gia()
    assert done.code == 2
    assert "Usage: gia" in done.out + done.err
    assert "evaluate" in done.out + done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "did you mean 'train'"),
        (["train", "in.csv", "--tarets", "x"], "no such option: --tarets (possible options: --target"),
        (["predict", "model"], "missing argument 'data'"),
        (["predict", "model", "in.csv", "--engine", "rya"], "expected local or ray (did you mean 'ray'?)"),
        (["predict", "model", "in.csv", "--workers", "2"], "--workers goes with --engine ray"),
        (["predict", "model", "-", "--engine", "ray"], "--engine ray reads files, not pipes: got -"),
        (["predict", "a", "b", "c"], "unexpected extra argument"),
        (["train", "in.csv", "--fold", "x"], "invalid value for '--fold'"),
        (["train", "in.csv", "--threads", "0"], "invalid value for '--threads'"),
        (["train", "in.csv", "--threads", "1", "--seed"], "option '--seed' requires an argument"),
        (["train"], "nothing to train on (name a file and --target, or a --task"),
        (["train", "in.csv"], "which column is to be learnt? (say it with --target; there are: smiles, logS)"),
        (["train", "in.csv", "-t", "logs"], "no column 'logs' (did you mean 'logS'? there are: smiles, logS)"),
        (["train", "in.csv", "-t", "LOGS"], "did you mean 'logS'?"),
        (["train", "in.csv", "-t", "logS", "-t", "logS"], "a target is named twice"),
        (["train", "in.csv", "-t", "smiles"], "cannot be input and something else at once: got 'smiles'"),
        (["train", "in.csv", "-t", "logS", "--column", "logS"], "cannot be predicted and given at once"),
        (["train", "in.csv", "-t", "logS", "--input", "smile"], "did you mean 'smiles'?"),
        (["train", "in.csv", "-t", "logS", "--domain", "smile"], "did you mean 'smiles'?"),
        (["train", "in.csv", "-t", "logS", "--kind", "regresion"], "got 'regresion'"),
        (["train", "in.csv", "-t", "logS", "--bad-rows", "ignore"], "got 'ignore'"),
        (["train", "in.csv", "-t", "logS", "--duplicates", "average"], "got 'average'"),
        (["train", "in.csv", "-t", "logS", "--set", "tokens.stero=ignore"], "did you mean 'stereo'?"),
        (["train", "in.csv", "-t", "logS", "--set", "tokens.stereo=ignor"], "should be 'keep' or 'ignore'"),
        (["train", "in.csv", "-t", "logS", "--device", "tpu"], "--device is not valid: got 'tpu'"),
        (["train", "in.csv", "-t", "logS", "--split", "random", "--fold", "1"], "--fold goes with --split folds"),
        (["train", "in.csv", "-t", "logS", "--fold", "7"], "with 5 folds it is at most 4"),
        (["train", "in.csv", "-t", "logS", "--set", "training.epoch=3"], "did you mean 'epochs'?"),
        (["train", "in.csv", "-t", "logS", "--set", "epochs"], "a setting needs a value: got 'epochs'"),
        (["train", "in.csv", "-t", "logS", "--set", "=3"], "a setting needs a name: got '=3'"),
        (["train", "in.csv", "-t", "logS", "--set", "seed={a: "], "the value of a setting cannot be read"),
        (["train", "in.csv", "-t", "logS", "--set", "network.width=wide"], "network.width of the recipe"),
        (["train", "in.csv", "-t", "logS", "--set", "split.fractions=[0.8, 0.2]"], "split.fractions of the"),
        (["train", "in.csv", "-t", "logS", "--set", "split.fractions=[1, 0, 0]"], "no rows to judge the model"),
        (["train", "in.csv", "-t", "logS", "--set", "tokens.salts=1"], "unknown key in the smiles options"),
        (["train", "in.csv", "-t", "logS", "--set", "descriptors=[protparam]"], "not for smiles input"),
        (["train", "in.csv", "-t", "logS", "--set", "descriptors=[rdkit]"], "did you mean 'rdkit2d'?"),
        (["train", "--task", "nav18"], "did you mean 'nav17'?"),
        (["train", "--task", "none.yaml"], "none.yaml: cannot read the recipe: got No such file"),
        (["train", "--task", "odd.yaml"], "odd.yaml: unknown key in the recipe: got 'foo'"),
        (["train", "--task", "torn.yaml"], "torn.yaml: cannot read the recipe"),
        (["tasks", "show", "nav"], "did you mean 'nav17'?"),
        (["datasets", "show", "apm"], "did you mean 'amp'?"),
        (["datasets", "fetch", "apm"], "did you mean 'amp'?"),
        (["datasets", "fetch"], "which datasets? (name some, or say --all"),
        (["benchmark", "accuracy", "nav18"], "did you mean 'nav17'?"),
        (["benchmark", "ablation", "nav18"], "did you mean 'nav17'?"),
        (["benchmark", "accuracy", "nav17", "--all"], "name tasks or say --all, not both: got nav17"),
        (["benchmark", "accuracy", "--set", "split.method=random"], "the protocol of a task decides this setting"),
        (["benchmark", "accuracy", "--set", "training.epoch=1"], "did you mean 'epochs'?"),
        (["train", "--set", "data.dataset=esol"], "say it with --target; there are: log_solubility"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_says_what_to_do(gia, write, words, message, tmp_path) -> None:
    write(TABLE)
    write("target: {names: [y]}\nfoo: 1\n", "odd.yaml")
    write("a: [", "torn.yaml")
    bad = gia(*words, *(["-o", "new"] if words[0] == "train" and "-t" in words[:-1] else []))
    assert message.lower() in bad.error.lower()
    assert bad.out == ""
    assert not (tmp_path / "new").exists()


def test_a_choice_that_does_not_exist_is_refused_by_name(gia, molecules, write) -> None:
    bad = gia("predict", molecules, write("smiles\nC\n"), "--long", "trunc")
    assert (
        bad.error
        == "--long is not valid: got 'trunc', expected error, truncate or window (did you mean 'truncate'?)"
    )


def test_a_gpu_that_is_not_there_is_told_before_any_work(gia, write, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    bad = gia("train", write(TABLE), "-t", "logS", "--device", "gpu")
    assert bad.error.startswith("no GPU is found (--device cpu")
    assert len(bad.told) == 1


def test_training_prints_scores_and_where_everything_lies(gia, write, tiny, tmp_path) -> None:
    done = gia("train", write(TABLE), "--target", "logS", "-o", "runs/logS", *tiny)
    assert done.code == 0
    out = done.out.splitlines()
    assert out[0].split() == [
        "target",
        "metric",
        "model",
        "[95",
        "%",
        "interval]",
        "constant",
        "random",
        "forest",
    ]
    assert out[-2] == "model: runs/logS   report: runs/logS/README.md, runs/logS/report.png"
    assert out[-1] == "measured and predicted, row by row: runs/logS/predictions.csv"
    assert all(
        (tmp_path / place.strip(",")).exists() for place in "\n".join(out[-2:]).split() if "/" in place
    )
    assert done.told == [
        "input: column 'smiles', read as smiles (atoms)",
        "target: logS, numbers",
        "split: random split 0.8/0.1/0.1, seed 0; 12 distinct inputs in 12 rows; "
        "10 training, 1 validation, 1 test rows",
        *(f"network {number} of 5: 1 epoch, the best is 1" for number in range(1, 6)),
    ]


def test_settings_are_read_as_yaml_and_kept(gia, write, tiny, tmp_path) -> None:
    options = ["--set", "training.learning_rate=3e-4", "--set", "target.units=[log mol/l]", "--seed", "7"]
    gia("train", write(TABLE), "-t", "logS", "-o", "new", "--no-baseline", *tiny, *options)
    recipe = Recipe.load(tmp_path / "new" / "recipe.yaml")
    assert recipe.training.learning_rate == 3e-4
    assert recipe.target.units == ("log mol/l",)
    assert (recipe.seed, recipe.baselines, recipe.data.file) == (7, (), "in.csv")


def test_what_a_recipe_says_holds_unless_an_option_says_otherwise(gia, write, tmp_path) -> None:
    recipe = {
        "data": {"file": "in.csv", "bad_rows": "drop"},
        "target": {"names": ["logS"]},
        "split": {"method": "folds", "fold": 1},
        "descriptors": [],
        "network": {"width": 16, "layers": 1, "attention": {"kind": "gin", "heads": 2}},
        "training": {"epochs": 1, "min_steps": 1},
        "baselines": [],
        "seed": 5,
    }
    write(TABLE + "C1CC,1\n")
    write(yaml.safe_dump(recipe), "mine.yaml")
    done = gia("train", "--task", "mine.yaml", "-o", "new")
    assert done.code == 0
    assert any(line.startswith("dropped: line 14") for line in done.told)
    kept = Recipe.load(tmp_path / "new" / "recipe.yaml")
    assert (kept.baselines, kept.seed, kept.split.fold, kept.data.bad_rows) == ((), 5, 1, "drop")
    assert (
        "1 of 13 rows cannot be used"
        in gia("train", "--task", "mine.yaml", "-o", "x", "--bad-rows", "stop").error
    )
    gia("train", "--task", "mine.yaml", "-o", "new", "--overwrite", "--split", "random", "--seed", "1")
    assert Recipe.load(tmp_path / "new" / "recipe.yaml").split.method == "random"


@pytest.mark.parametrize("name", catalog.names("tasks"))
def test_every_shipped_task_is_sound_and_fits_its_card(gia, name) -> None:
    recipe = Recipe.load(catalog.find("tasks", name))
    assert recipe.name == name
    card = load_card(str(recipe.data.dataset))
    used = [str(recipe.data.input), *recipe.target.names]
    assert set(used) | ({recipe.split.column} - {None}) <= set(card.columns)
    assert recipe.data.domain == card.domain
    shown = gia("tasks", "show", name)
    assert Recipe.parse(yaml.safe_load(shown.out)) == recipe
    assert (shown.code, shown.err) == (0, "")


def test_lists_of_tasks_and_datasets_name_them_all(gia) -> None:
    for kind in ("tasks", "datasets"):
        done = gia(kind, "list")
        assert [line.split()[0] for line in done.out.splitlines()] == ["name", *catalog.names(kind)]


def test_threads_are_those_asked_for_or_the_cores_there_are() -> None:
    import torch

    before = torch.get_num_threads()
    try:
        assert use_threads(1) == torch.get_num_threads() == 1
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        assert use_threads(None) == cores
    finally:
        torch.set_num_threads(before)


def start(*words: object, **options: object) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "gia_science", *map(str, words)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, **options)


def test_a_new_process_gives_the_same_prediction_without_the_training_framework(
    gia, write, molecules, tmp_path
) -> None:
    here = gia("predict", molecules, write("smiles\nCCO\n"))
    code = (
        "import sys\nfrom gia_science.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n    assert 'torch' in sys.modules\n"
        "    assert not {'pytorch_lightning', 'matplotlib', 'sklearn'} & set(sys.modules)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    there = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, "predict", molecules, "in.csv", "--threads", "1"],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (there.returncode, there.stdout, there.stderr) == (0, here.out, here.err)


@pytest.mark.parametrize("command", ["predict", "embed"])
def test_threads_sleep_while_they_wait(command, molecules, write, tmp_path) -> None:
    """PyTorch reads the policy when it is imported, and never again."""
    write("smiles\nCCO\n")
    code = (
        "import os, sys\nfrom gia_science.cli import output\nfrom gia_science.cli.main import main\n"
        "set_policy, policies = output.leave_cores_to_others, []\n"
        "def watched():\n    assert 'torch' not in sys.modules\n    set_policy()\n"
        "    policies.append(os.environ['OMP_WAIT_POLICY'])\n"
        "output.leave_cores_to_others = watched\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n    assert policies == [os.environ.get('WANTED')]\n"
    )
    own = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
    own["PYTHONPATH"] = str(Path(__file__).parents[2])
    for asked, wanted in (({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")):
        done = subprocess.run(
            [sys.executable, "-c", code, command, molecules, "in.csv", "-o", f"{wanted}.csv"],
            env={**own, **asked, "WANTED": wanted}, cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr


def test_a_reader_that_leaves_early_is_no_error(write, molecules, tmp_path) -> None:
    write("smiles\n" + "CCO\n" * 20_000)
    process = start("predict", molecules, tmp_path / "in.csv", stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"smiles,pIC50_pred,pIC50_std,status,reason\n"
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stream:
        assert stream.read() == b""
    process.wait()


@pytest.mark.parametrize(
    ("members", "sign"), [("1", b"Epoch 1/"), ("3", b"2 at a time")], ids=["one network", "side by side"]
)
def test_ctrl_c_ends_with_one_line_and_leaves_nothing_behind(write, tmp_path, members, sign) -> None:
    """Also in the middle of training, where Lightning has an end of its own."""
    write(TABLE)
    options = ["-o", tmp_path / "new", "--set", "training.epochs=100000", "--set", "descriptors=[]"]
    leader, follower = pty.openpty()
    options += ["--members", members, "--threads", "2"]
    process = start("train", tmp_path / "in.csv", "-t", "logS", *options, stderr=follower)
    os.close(follower)
    told = b""
    try:
        while sign not in told:
            told += os.read(leader, 4096)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # what a terminal says when the other end is closed
            while piece := os.read(leader, 4096):
                told += piece
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        os.close(leader)
    assert process.returncode == 130
    assert told.decode().splitlines()[-1].endswith("error: interrupted")
    assert b"Traceback" not in told
    assert out == b"", "progress belongs on standard error"
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
