"""Files: written whole, never through a link, and read only as they were written."""

import errno
import math
import os
from pathlib import Path

import pytest

from admmbench.files import (
    BINARY,
    MARKUP,
    PDF,
    checksummed_json,
    is_whole,
    read_checksummed,
    replacing,
    with_checksum,
    write,
)


@pytest.mark.parametrize("target", ["file", "nothing"])
def test_a_link_is_followed_to_a_folder_alone(tmp_path, target):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(OSError, match="link is a symbolic link and not followed: name the file"):
        write(tmp_path / "link", "ε")
    assert (tmp_path / "file").read_text() == "mine"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "link"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "to folder").symlink_to("folder")
    write(tmp_path / "to folder/file", "ε")
    assert (tmp_path / "folder/file").read_text("utf-8") == "ε"


def test_a_file_and_its_name_are_on_the_disk_before_the_write_ends(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(
        os, "fsync", lambda number: done.append(os.readlink(f"/proc/self/fd/{number}"))
    )
    monkeypatch.setattr(Path, "replace", lambda *paths: done.append("renamed"))
    write(tmp_path / "x", "ε")
    assert done[0].startswith(f"{tmp_path}/.x.")
    assert done[1:] == ["renamed", str(tmp_path)]


@pytest.mark.parametrize("fault", [errno.EACCES, errno.EINVAL, errno.ENOTSUP])
@pytest.mark.parametrize("call", ["open", "fsync"])
def test_a_folder_that_cannot_be_read_or_synchronized_can_be_written_to(
    tmp_path, monkeypatch, fault, call
):
    """Unlike a file, of which this is an error."""
    true = getattr(os, call)

    def fail(what, *flags):
        name = os.readlink(f"/proc/self/fd/{what}") if call == "fsync" else what
        if Path(name).is_dir():
            raise OSError(fault, os.strerror(fault))
        return true(what, *flags)

    monkeypatch.setattr(os, call, fail)
    write(tmp_path / "x", "ε")
    assert (tmp_path / "x").read_text("utf-8") == "ε"


@pytest.mark.parametrize("fault", [errno.EACCES, errno.EIO, errno.ENOTSUP])
def test_a_file_that_is_not_on_the_disk_is_no_success(tmp_path, monkeypatch, fault):
    def fail(number):
        raise OSError(fault, os.strerror(fault))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=os.strerror(fault)):
        write(tmp_path / "x", "ε")
    assert not [*tmp_path.iterdir()]


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    path = tmp_path / "x"
    write(path, "former")
    with pytest.raises(OSError, match=r"No space left on device: '.*/x'$"), replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x", "former")]


CONTENT = {"ε": [1, 0.1, math.inf, None], "deep": {"b": True, "a": "x"}}


def test_what_is_checksummed_comes_back_in_any_style(tmp_path):
    path = tmp_path / "x.json"
    for style in ({}, {"indent": 2, "sort_keys": True, "ensure_ascii": False}):
        write(path, checksummed_json(CONTENT, **style))
        assert read_checksummed(path) == CONTENT
    write(path, checksummed_json({}))
    assert read_checksummed(path) == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "null",
        lambda text: "[]",
        lambda text: "{}",
        lambda text: text.replace("true", "1"),
        lambda text: text.replace("0.1", "0.2"),
        lambda text: text.replace('"a": "x"', '"c": "x"'),
        lambda text: text.replace("0.1, Infinity", "Infinity, 0.1"),
        lambda text: "[" * 100_000,
        lambda text: None,
    ],
)
def test_what_was_altered_is_refused_with_its_name_and_the_fix(tmp_path, damage):
    path = tmp_path / "x.json"
    if (text := damage(checksummed_json(CONTENT))) is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"x.json: .*; the command that made it, .* again$"):
        read_checksummed(path)


SEALED = {
    "a page": with_checksum(b"<html></html>", MARKUP),
    "a PDF": with_checksum(b"%PDF %%EOF\n", PDF),
    "a result": with_checksum(bytes(range(256)), BINARY),
    "a mapping": checksummed_json(CONTENT, indent=1).encode(),
}


@pytest.mark.parametrize("kind", SEALED)
def test_a_checksum_notices_each_bit_and_each_byte_that_is_missing(kind):
    content = SEALED[kind]
    assert is_whole(content)
    for place in range(len(content)):
        assert not is_whole(content[:place])
        assert not is_whole(content[:place] + bytes(len(content) - place))
        for bit in range(8):
            altered = bytearray(content)
            altered[place] ^= 1 << bit
            assert not is_whole(bytes(altered))
    assert is_whole(b"<html></html>") is None
