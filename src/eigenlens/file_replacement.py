"""Files that are written whole or not at all: in a folder beside their place, from which they are then renamed.

Every file that the package leaves is written so: models, reports, tables. The folder is locked for as long as its
process lives, so that the next save beside it can tell, and remove, what a killed process has left.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

HAS_LOCKS = importlib.util.find_spec("fcntl") is not None
"""Whether folders can be locked. Not on Windows, where a file that is open cannot be removed, so that none is lost."""

FOLDER_PREFIX, FOLDER_SUFFIX = ".eigenlens-", ".part"
"""How the names of temporary folders begin and end."""


def replace_file(target: Path, data: bytes) -> None:
    """Write bytes to a file, whole or not at all. A symbolic link stays one, and an old file's permissions are kept."""
    place = Path(os.path.realpath(target))
    with temporary_folder(place.parent) as folder:
        (folder / place.name).write_bytes(data)
        move_into_place(folder / place.name, place)


def move_into_place(temporary: Path, target: Path) -> None:
    """Rename a file that is complete, over an old one whose permissions, and owner where allowed, it takes."""
    with open(temporary, "rb+") as handle:
        os.fsync(handle.fileno())
    with contextlib.suppress(FileNotFoundError):
        _take_permissions(temporary, target.stat())
    os.replace(temporary, target)
    with contextlib.suppress(OSError):  # the rename itself survives a power cut where folders can be synced
        _sync_folder(target.parent)


def _take_permissions(path: Path, old: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(path, old.st_uid, old.st_gid)
    path.chmod(stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---- temporary folders ------------------------------------------------------------------------------------


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Provide an empty folder in `parent` that only its owner may enter; first remove those of killed processes."""
    _remove_leftovers(parent)
    folder, lock = _make_locked_folder(parent)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _make_locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Return a new folder and its lock; another process may take it for a leftover before it is locked."""
    while True:
        folder = parent / f"{FOLDER_PREFIX}{secrets.token_hex(8)}{FOLDER_SUFFIX}"
        folder.mkdir(mode=0o700)
        lock = _lock(folder, wait=True)
        if folder.exists():
            return folder, lock
        if lock is not None:
            os.close(lock)


def _lock(folder: Path, *, wait: bool) -> int | None:
    """Return the handle of a folder that is locked until it is closed; None where it cannot be locked.

    It cannot where it is locked already, unless one waits for that, was removed, or the file system has no locks.
    """
    if not HAS_LOCKS:
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders that no living process has locked."""
    for folder in parent.glob(f"{FOLDER_PREFIX}*{FOLDER_SUFFIX}"):
        lock = _lock(folder, wait=False)
        if lock is not None or not HAS_LOCKS:
            shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)
