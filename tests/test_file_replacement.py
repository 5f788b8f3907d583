"""Files are written whole or not at all, keep their permissions, and leave nothing beside them."""

from __future__ import annotations

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from eigenlens import checks
from eigenlens.errors import DataError, OptionError
from eigenlens.file_replacement import HAS_LOCKS, move_into_place, replace_file, temporary_folder

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and signals as POSIX has them")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o664, 0o604])
def test_a_replaced_file_keeps_its_mode(tmp_path: Path, bits: int) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")
    target.chmod(bits)
    replace_file(target, b"new")
    assert (target.read_bytes(), mode(target)) == (b"new", bits)
    assert os.listdir(tmp_path) == ["model"]


@posix
def test_nobody_else_can_read_a_file_on_its_way(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        assert mode(folder) == 0o700
    assert os.listdir(tmp_path) == []


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_a_replaced_file_keeps_its_owner(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")
    os.chown(target, 12345, 54321)
    replace_file(target, b"new")
    assert (target.stat().st_uid, target.stat().st_gid) == (12345, 54321)


@posix
def test_a_file_that_cannot_be_given_away_is_replaced_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> None:
        raise PermissionError

    target = tmp_path / "model"
    target.write_bytes(b"old")
    target.chmod(0o600)
    monkeypatch.setattr(os, "chown", reject)
    replace_file(target, b"new")
    assert (target.read_bytes(), mode(target)) == (b"new", 0o600)


@posix
def test_links_stay_links_also_to_other_folders(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "far" / "model")  # of a file that does not exist yet
    replace_file(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "far" / "model").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["far", "link"]


@posix
def test_a_link_into_an_absent_folder_is_an_error(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "nowhere" / "model")
    with pytest.raises(OptionError, match=r"nowhere, which does not exist; create it first: mkdir -p '.*nowhere'"):
        checks.target_file(link)


@posix
def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", tmp_path / "pipe"):
        with pytest.raises(OptionError, match="is a device or a pipe"):
            checks.target_file(path)


def test_a_read_only_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda path, kind: Path(path) != target)  # root may write everything
    with pytest.raises(DataError, match="is read-only"):
        checks.target_file(target)


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.write_bytes(b"old")

    def write_half() -> None:
        with temporary_folder(tmp_path) as folder:
            (folder / "model").write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.skipif(not HAS_LOCKS, reason="folders cannot be locked here")
def test_folders_of_processes_that_live_are_left_alone(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as first:
        (first / "model").write_bytes(b"one")
        replace_file(tmp_path / "other", b"two")
        assert (first / "model").read_bytes() == b"one"
        move_into_place(first / "model", tmp_path / "model")
    assert sorted(os.listdir(tmp_path)) == ["model", "other"]


@pytest.mark.skipif(not HAS_LOCKS or not hasattr(os, "fork"), reason="folders cannot be locked here")
def test_the_next_save_removes_what_a_killed_process_left(tmp_path: Path) -> None:
    ready, tell = os.pipe()
    child = os.fork()
    if not child:  # the process that dies while it writes
        with temporary_folder(tmp_path) as folder:
            (folder / "model").write_bytes(b"half")
            os.write(tell, b"x")
            signal.pause()
        sys.exit()
    os.read(ready, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(os.listdir(tmp_path)) == 1
    replace_file(tmp_path / "other", b"new")
    assert os.listdir(tmp_path) == ["other"]


def test_files_of_the_user_are_never_taken_for_leftovers(tmp_path: Path) -> None:
    names = [".eigenlens-notes", "eigenlens-1.part", ".eigenlens-0.part.txt"]
    for name in names:
        (tmp_path / name).write_text("mine")
    replace_file(tmp_path / "model", b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "model"])
