"""Models and samples as files that travel to another machine."""

from __future__ import annotations

import os
from typing import Mapping

from .._sources import Source


def files_of(path: str) -> dict[str, bytes]:
    """A file, or those of a folder, by their names in it."""
    paths = {os.path.basename(path): path}
    if not os.path.isfile(path):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
        paths = {os.path.relpath(each, path): each for each in sorted(found)}
    files = {}
    for name, each in paths.items():
        with open(each, "rb") as file:
            files[name] = file.read()
    return files


def write_files(folder: str, files: Mapping[str, bytes]) -> str:
    """The path of the only one, else the folder."""
    paths = [os.path.join(folder, name) for name in files]
    for path, content in zip(paths, files.values()):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    return paths[0] if len(paths) == 1 else folder


def model_content(source: Source) -> bytes | None:
    """None: an ONNX file with weights in others, which every machine has to have where this one has it."""
    content = bytes(source.read())
    # As such a file writes the key of an entry of TensorProto.external_data.
    return None if source.is_file and b"\x0a\x08location\x12" in content else content


def model_name(source: Source) -> str:
    """With its folder, where it is a file."""
    return os.path.abspath(source.name) if source.is_file else source.name


def write_model(folder: str, name: str, content: bytes | None) -> str:
    """The path of a model that was sent as its content, or lies here."""
    return name if content is None else write_files(folder, {os.path.basename(name) or "model": content})
