"""Files: written whole, through links, and read only as they were written."""

import errno
import math

import pytest

from admmbench.files import read_sealed, replacing, sealed_json, write


def test_a_link_stays_one(tmp_path):
    (tmp_path / "link").symlink_to("file")
    write(tmp_path / "link", "ε")
    assert (tmp_path / "file").read_text("utf-8") == "ε"
    assert (tmp_path / "link").is_symlink()


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(tmp_path):
    path = tmp_path / "x"
    write(path, "former")
    with pytest.raises(OSError, match=r"No space left on device: '.*/x'$"), replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("x", "former")]


CONTENT = {"ε": [1, 0.1, math.inf, None], "deep": {"b": True, "a": "x"}}


def test_what_is_sealed_comes_back_in_any_style(tmp_path):
    path = tmp_path / "x.json"
    for style in ({}, {"indent": 2, "sort_keys": True, "ensure_ascii": False}):
        write(path, sealed_json(CONTENT, **style))
        assert read_sealed(path) == CONTENT


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
    if (text := damage(sealed_json(CONTENT))) is not None:
        path.write_text(text)
    with pytest.raises(ValueError, match=r"x.json: cannot be used: .*; delete .*x\.json and start"):
        read_sealed(path)
