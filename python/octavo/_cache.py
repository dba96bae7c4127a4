"""Compiled models that are kept, so that the same model with the same options on the same machine is compiled once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Iterable, Sequence

from . import _core
from ._errors import OctavoError
from ._sources import Source
from ._words import PathLike

if TYPE_CHECKING:
    import hashlib

#: Where compiled models are kept; None: nowhere. The environment's OCTAVO_CACHE_DIR where that is set.
directory: PathLike | None = os.environ.get("OCTAVO_CACHE_DIR") or None
#: The most bytes that they take together; the ones that were not used for longest leave.
most_bytes: int = 4 << 30

def default_directory() -> str:
    """Where drop-ins keep theirs: `directory`, else a folder of the user's cache."""
    return os.fspath(directory or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "octavo"))


_PATH_OPTIONS = ("--calibrate=", "--scales=", "--tuning-log=")


def _hash_file(path: str, digest: "hashlib._Hash") -> None:
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)


def _stat(path: str) -> bytes:
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}".encode()


def _files_below(path: str) -> Iterable[str]:
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            yield os.path.join(folder, name)


def _add_path(path: str, digest: "hashlib._Hash", is_temporary: bool) -> None:
    """By content; of a folder by the names, sizes and times of its files, unless it is a temporary one."""
    if os.path.isdir(path):
        for each in _files_below(path):
            if is_temporary:
                _hash_file(each, digest)
            else:
                digest.update(_stat(each))
    elif os.path.exists(path):
        _hash_file(path, digest)


def _add_model(source: Source, digest: "hashlib._Hash") -> None:
    content = source.read()
    digest.update(content)
    # ONNX files name others that hold their weights by this word.
    if source.is_file and b"location" in bytes(content):
        folder = os.path.dirname(os.path.abspath(source.name))
        for entry in sorted(os.listdir(folder)):
            if os.path.isfile(os.path.join(folder, entry)):
                digest.update(_stat(os.path.join(folder, entry)))


def key_of(source: Source, words: Sequence[str], samples_are_temporary: bool = False) -> str:
    """Of the model's and the samples' content, the options, this machine and this release."""
    import hashlib

    digest = hashlib.sha256()
    for text in (_core.version(), _core.machine(), os.path.basename(source.name)):
        digest.update(text.encode() + b"\0")
    for word in words:
        option = next((option for option in _PATH_OPTIONS if word.startswith(option)), None)
        digest.update((option or word).encode() + b"\0")
        if option is not None:
            path = word[len(option) :]
            digest.update(b"random" if path == "random" else b"")
            _add_path(path, digest, samples_are_temporary and option == "--calibrate=")
    _add_model(source, digest)
    return digest.hexdigest()


def _make_room(folder: str) -> None:
    """Other processes may do the same at the same time, and may use what is removed: a mapped file lasts until they close it."""
    entries = []
    for entry in os.scandir(folder):
        if not entry.name.endswith(".octv"):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:
            continue
        entries.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries)[:-1]:
        if total <= most_bytes:
            return
        try:
            os.remove(path)
        except FileNotFoundError:
            pass
        total -= size


def _opened(path: str) -> _core.CompiledModel | None:
    try:
        found = _core.open(path, None)
        os.utime(path)
    except (OctavoError, OSError):
        return None  # absent, removed meanwhile, damaged: made anew
    return found


def found_or_made(source: Source, words: Sequence[str], cache_dir: PathLike | None, make: Callable[[], _core.CompiledModel], samples_are_temporary: bool = False) -> _core.CompiledModel:
    """The compiled model of the cache, else what `make` gives, which is kept. `cache_dir`: None is `directory`, "" nowhere.
    Processes may do this at the same time: a file takes its name when it is whole."""
    folder = cache_dir if cache_dir is not None else directory
    if not folder or (source.is_file and not os.path.isfile(source.name)):
        return make()
    folder = os.path.expanduser(os.fspath(folder))
    path = os.path.join(folder, key_of(source, words, samples_are_temporary) + ".octv")
    found = _opened(path)
    if found is not None:
        return found
    made = make()
    try:
        os.makedirs(folder, exist_ok=True)
        made.save(path)
        _make_room(folder)
    except OSError:
        pass  # a full or read-only disk costs the next call its time, and nothing else
    return made
