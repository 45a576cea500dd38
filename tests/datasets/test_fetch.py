"""Fetching: where a file is looked for, and that a wrong one is named and never kept."""

import contextlib
import lzma
import multiprocessing
import shutil
import socket
import subprocess
from dataclasses import replace

import pytest

from admmbench.datasets import DatasetError, RemoteFile, _fetch
from admmbench.datasets._fetch import checksum, fetch, find_absent, is_served, read_bytes

CONTENT = b"some content " * 500


def remote(*urls, content=CONTENT, algorithm="sha256"):
    return RemoteFile("a.bin", urls, "set/a.bin", checksum(content, algorithm), len(content))


def kept(cache):
    """List every file below the cache, temporary ones included."""
    return [path for path in cache.rglob("*") if path.is_file()]


def put(folder, content, name="a.bin"):
    path = folder / "set" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def mirror(tmp_path):
    return tmp_path / "mirror"


def fetch_one(file, **options):
    return fetch([file], progress=False, **options)[file.name]


def test_downloads_once_then_uses_the_cache(server, cache, capsys):
    file = remote(server.url + "/missing", server.serve("/a", CONTENT))
    path = fetch([file], cache=cache)["a.bin"]
    # A line for each address, as there is no terminal.
    lines = [f"Downloading {url}" for url in file.urls]
    assert capsys.readouterr().err.splitlines() == lines
    assert path.read_bytes() == CONTENT
    assert kept(cache) == [path]
    beside = put(cache, b"")
    assert path.stat().st_mode == beside.stat().st_mode  # others may share the cache
    assert fetch_one(file, cache=cache) == path
    assert server.requests["/a"] == 1


def test_mirror_goes_before_the_network_and_is_used_in_place(server, cache, mirror):
    file = remote(server.serve("/a", CONTENT))
    expected = put(mirror, CONTENT)
    assert fetch_one(file, cache=cache, mirror=mirror) == expected
    assert not server.requests
    assert kept(cache) == []


def test_environment_names_mirror_and_cache(server, monkeypatch, tmp_path, mirror):
    monkeypatch.setenv("ADMMBENCH_CACHE", str(tmp_path / "env-cache"))
    file = remote(server.serve("/a", CONTENT))
    assert fetch_one(file).is_relative_to(tmp_path / "env-cache")
    shutil.rmtree(tmp_path / "env-cache")
    monkeypatch.setenv("ADMMBENCH_MIRROR", str(mirror))
    assert fetch_one(file, mirror=None) != put(mirror, CONTENT)  # it was empty: downloaded
    shutil.rmtree(tmp_path / "env-cache")
    assert fetch_one(file) == mirror / "set/a.bin"


@pytest.mark.parametrize("algorithm", ["sha256", "git-blob-sha1"])
def test_xz_in_the_mirror_is_checked_inside(cache, mirror, algorithm):
    path = put(mirror, lzma.compress(CONTENT), "a.bin.xz")
    file = remote(algorithm=algorithm)
    assert fetch_one(file, cache=cache, mirror=mirror) == path
    assert read_bytes(path) == CONTENT


def test_files_are_absent_that_neither_cache_nor_mirror_has_whatever_is_in_them(cache, mirror):
    file = remote()
    assert find_absent([file], cache=cache, mirror=mirror) == [file]
    put(mirror, b"other", "a.bin.xz")
    assert find_absent([file], cache=cache) == [file]
    assert find_absent([file], cache=cache, mirror=mirror) == []


def test_a_file_is_served_if_any_address_answers(server):
    gone, there = server.url + "/gone", server.serve("/a", CONTENT)
    assert is_served(remote(gone, there))
    assert not is_served(remote(gone))
    assert not is_served(remote("http://127.0.0.1:9/a"))
    assert not is_served(remote())


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_no_more_is_unpacked_than_there_should_be(size, cache, mirror, monkeypatch):
    """A small file may unpack to more than there is memory."""
    monkeypatch.setattr(_fetch, "MOST", len(CONTENT))
    put(mirror, lzma.compress(bytes(100 * len(CONTENT))), "a.bin.xz")
    file = replace(remote(), size=size)
    with pytest.raises(DatasetError, match=f"wrong content, more than {len(CONTENT):,} bytes"):
        fetch_one(file, cache=cache, mirror=mirror)


def test_no_more_is_downloaded_than_there_should_be(server, cache):
    sent = 0

    def answer(handler):
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):  # until nobody listens
            while sent < 2**28:
                sent += handler.wfile.write(bytes(2**16))

    server.answers["/a"] = answer
    with pytest.raises(DatasetError, match=f"/a: wrong content, more than {len(CONTENT):,} bytes"):
        fetch_one(remote(server.url + "/a"), cache=cache)
    assert sent < 2**27
    assert server.requests["/a"] == 1
    assert kept(cache) == []


@pytest.mark.parametrize("answer", ["cut short", "cut in transfer", "none"])
def test_what_cannot_be_downloaded_is_named_and_never_kept(server, cache, answer):
    if answer == "none":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{free.getsockname()[1]}/a"
    else:
        announced = len(CONTENT) if answer == "cut in transfer" else None
        url = server.serve("/a", CONTENT[:100], announced=announced)
    with pytest.raises(
        DatasetError, match=rf"{url}: [^$]*ADMMBENCH_MIRROR \(config key data\.mirror"
    ):
        fetch_one(remote(url), cache=cache)
    assert kept(cache) == []


def test_wrong_mirror_file_warns_and_the_network_is_tried(server, cache, mirror, caplog):
    path = put(mirror, b"altered")
    file = remote(server.serve("/a", CONTENT))
    assert fetch_one(file, cache=cache, mirror=mirror).read_bytes() == CONTENT
    assert str(path) in caplog.text
    assert "wrong content" in caplog.text


def test_error_lists_every_place_what_was_expected_and_the_ways_out(server, cache, mirror):
    wrong = put(mirror, b"altered")
    file = remote(server.serve("/a", b"other"), server.url + "/missing")
    with pytest.raises(DatasetError) as error:
        fetch_one(file, cache=cache, mirror=mirror)
    message = str(error.value)
    for part in (
        "a.bin",
        file.checksum,
        f"{len(CONTENT):,} bytes",
        f"cache {cache / 'files/set/a.bin'}: not there",
        f"mirror {wrong}: wrong content, {checksum(b'altered', 'sha256')}, 7 bytes",
        f"{server.url}/a: wrong content",
        f"{server.url}/missing: 404 Client Error",
        "check the network",
        "put the right file at",
    ):
        assert part in message
    assert kept(cache) == []
    assert server.requests["/a"] == 1  # another content is not asked for again


@pytest.mark.parametrize("failure", ["dropped", "busy"])
def test_retries_after_a_passing_failure(server, cache, failure):
    url = server.serve("/a", CONTENT)
    answer = server.answers["/a"]

    def fail_first(handler):
        if server.requests["/a"] > 1:
            answer(handler)
        elif failure == "busy":
            handler.send_error(503)
        else:
            handler.connection.close()

    server.answers["/a"] = fail_first
    assert fetch_one(remote(url), cache=cache).read_bytes() == CONTENT
    assert server.requests["/a"] == 2


def test_damaged_cached_file_is_replaced_or_removed(server, cache, mirror):
    path = put(cache / "files", CONTENT[:-1])
    assert fetch_one(remote(server.serve("/a", CONTENT)), cache=cache) == path
    assert path.read_bytes() == CONTENT
    path.write_bytes(b"altered")
    put(mirror, lzma.compress(CONTENT)[:-20], "a.bin.xz")
    with pytest.raises(DatasetError, match=f"cache {path}: wrong content") as error:
        fetch_one(remote(), cache=cache, mirror=mirror)
    assert f"{mirror}/set/a.bin.xz: unreadable" in str(error.value)
    assert kept(cache) == []


def test_error_names_the_other_missing_files(cache):
    files = [RemoteFile(n, (), f"set/{n}", checksum(CONTENT, "sha256")) for n in "abcdefgh"]
    with pytest.raises(DatasetError, match="cannot get a\n") as error:
        fetch(files, cache=cache)
    assert "also not in cache or mirror: b, c, d, e and 3 more" in str(error.value)


def test_unusable_cache_is_one_message(server, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DatasetError, match="ADMMBENCH_CACHE"):
        fetch_one(remote(server.serve("/a", CONTENT)), cache=tmp_path / "file")


def test_processes_may_fetch_the_same_file_at_once(server, cache):
    file = remote(server.serve("/a", CONTENT))
    with multiprocessing.get_context("fork").Pool(4) as pool:
        options = [{"files": [file], "cache": cache, "progress": False}] * 8
        paths = [pool.apply_async(fetch, kwds=kwds) for kwds in options]
        assert {path.get(timeout=10)["a.bin"] for path in paths} == {cache / "files/set/a.bin"}
    assert [path.read_bytes() for path in kept(cache)] == [CONTENT]


def test_checksums_are_those_of_git_and_sha256(tmp_path):
    (tmp_path / "a").write_bytes(CONTENT)
    command = ["git", "hash-object", "--no-filters", str(tmp_path / "a")]
    blob = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert checksum(CONTENT, "git-blob-sha1") == f"git-blob-sha1:{blob}"
    assert checksum(b"", "sha256").startswith("sha256:e3b0c44298fc1c14")
    with pytest.raises(ValueError, match="unknown checksum algorithm 'md5'; known: sha256, git-"):
        checksum(b"", "md5")
