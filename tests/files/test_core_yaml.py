"""YAML 1.2 with its core schema, wherever it comes from."""

import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from admmbench.files.core_yaml import (
    ReadError,
    dump_yaml,
    inline_yaml,
    parse_words,
    parse_yaml,
    read_yaml,
)
from admmbench.study.config import Config, ConfigError, report_name
from admmbench.watch.configfiles import reread, resolve


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("010", 10), ("08", 8), ("+1", 1), ("0o10", 8), ("0x1F", 31), ("-0", 0)),
        *(("1e-3", 1e-3), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("-.Inf", -math.inf)),
        *(("1:30", "1:30"), ("1:30:00", "1:30:00"), ("1_000", "1_000"), ("0b1", "0b1")),
        *(("yes", "yes"), ("off", "off"), ("2001-01-01", "2001-01-01"), ("=", "=")),
        *(("True", True), ("~", None), ("Null", None), ("", None), ("# only", None)),
        *(("'010'", "010"), ("!!str 010", "010"), ("!!float 1", 1.0)),
        ("a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("<<: [{a: 1}, {a: 2, b: 3}]", {"a": 1, "b": 3}),
        ("{'<<': 5}", {"<<": 5}),
        ("[" * 90 + "]" * 90, eval("[" * 90 + "]" * 90)),
    ],
)
def test_core_schema(text, value):
    found = parse_yaml(text, "key")
    assert found == value
    assert type(found) is type(value)


BILLION = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: 1\nb:\n  c: 1\n  'c': 2",
            "line 4 has the key 'c' a second time, after line 3; ",
        ),
        ("a: 1\nb: 1\na: 2", "line 3 has the key 'a' a second time, after line 1; remove one"),
        ("{1: a, 01.0: b}", r"the key 1\.0 a second time"),
        ("e\u0301: 1\n\u00e9: 2", "a second time"),
        ("<<: {a: 1}\n<<: {b: 1}", "the key '<<' a second time"),
        ("<<: {a: 1, a: 2}", "the key 'a' a second time"),
        ("<<: 5", "expected a mapping or list of mappings for merging"),
        ("a: 1\n---\nb: 1", "line 2 is no YAML: expected a single document in the stream"),
        ("a: &a [*a]", "line 1 is no YAML: found unconstructable recursive node"),
        ("a: *b", "line 1 is no YAML: found undefined alias 'b'"),
        (BILLION, "aliases for more than 1,000,000 values"),
        ("[" * 50_000, "nested deeper than 100 levels"),
        ("? [a]\n: 1", "a list or a mapping as a key"),
        ("~: 1", "None as a key"),
        ("on: 1\ntrue: 1", "line 2 has True as a key"),
        ("a: !!python/name:os.system x", "the tag !!python/name:os.system"),
        ("a: !!binary aGk=", "the tag !!binary"),
        ("a: !!int x", "the tag !!int"),
        ("a: !!int [1]", "line 1 is no YAML: expected a scalar node, but found sequence"),
        ("a: !!set {b}", "the tag !!set"),
        ("a: 1e400", "1e400, which is too large"),
        ("a: " + "9" * 5000, r"9\.\.\. \(5,000 characters\), which is too large"),
        (
            "a:\n\tb: 1",
            "line 2 is no YAML: while scanning .*, found character that cannot start any token",
        ),
        ("a: 1\nb: \0", "line 2 has the character 0x0000"),
        (r'a: "\x07"', "line 1 has the character 0x0007, which is not printed"),
        ("title: [", "line 1 is no YAML|line 2 is no YAML"),
    ],
)
def test_faults_name_file_and_line(text, message, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(ReadError, match=f"x.yaml: cannot be read: .*{message}"):
        read_yaml(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-32"])
def test_files_in_another_encoding_and_missing_ones_are_named(encoding, tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes("title: x\n# étude".encode(encoding))
    with pytest.raises(ReadError, match=r"x\.yaml: cannot be read: line [12] is not in UTF-8"):
        read_yaml(path)
    path.write_bytes("title: étude".encode("utf-8-sig"))
    assert read_yaml(path) == {"title": "étude"}
    path.unlink()
    with pytest.raises(ReadError, match=r"x\.yaml: cannot be read: No such file or directory$"):
        read_yaml(path)


def test_words():
    assert parse_words(["a=010", "b={c: 1e-3}", "d=", "e=x=y"]) == {
        **{"a": 10, "b": {"c": 1e-3}, "d": None, "e": "x=y"}
    }
    for words, message in (
        (["a"], "'a': expected KEY=VALUE"),
        (["=1"], "'=1': expected KEY=VALUE"),
        (["a=1", "a=2"], "a: is given twice"),
        (["a={b: 1, b: 2}"], "^a: '{b: 1, b: 2}' has the key 'b' a second time"),
    ):
        with pytest.raises(ReadError, match=message):
            parse_words(words)


TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])) | st.sampled_from(
    ["010", "1e3", "1e-3", "0o7", "~", "", "null", "<<", "yes", ".inf", "08", "a: b", "é🎉", "- "]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_written_is_read(value):
    assert parse_yaml(dump_yaml(value), "key") == value
    finite = "Infinity" not in inline_yaml(value)
    assert not finite or parse_yaml(inline_yaml(value), "key") == value


def snakemake_reads(overlays, words=()):
    """The configuration that Snakemake reads from YAML 1.1, over that of the folder, and what it knows of files."""
    from snakemake.cli import parse_config
    from snakemake.common.configfile import load_configfile
    from snakemake.settings.types import ConfigSettings
    from snakemake.utils import update_config

    settings = ConfigSettings(parse_config(words), overlays, words)
    config = load_configfile("config.yaml")
    update_config(config, settings.overwrite_config)
    files = [*settings.configfiles, Path("config.yaml")]
    return config, SimpleNamespace(config_settings=settings, configfiles=files)


def test_what_snakemake_read_is_read_again(tmp_path, monkeypatch):
    """Values that a Snakefile changed stay; a file that Snakemake read and that is no YAML here is named."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("threads: 010\nresults: a\ndata: {cache: 010}", "utf-8")
    Path("overlay.yaml").write_text("results: yes\ncheckpoint_minutes: 1e-3", "utf-8")
    words = ["experiments=[010, null]", "overrides={a: {audit: null, rounds: 010}}"]
    config, workflow = snakemake_reads([Path("overlay.yaml")], words)
    assert config["threads"] == 8
    expected = {
        "threads": 10,
        "results": "yes",
        "data": {"cache": 10},
        "checkpoint_minutes": 1e-3,
        "experiments": [10, None],
        "overrides": {"a": {"audit": None, "rounds": 10}},
        "files": ["config.yaml", "overlay.yaml"],
    }
    assert reread(config, workflow) == expected
    config["results"], config["data"]["mirror"] = "mine", "there"
    changed = {"results": "mine", "data": {"cache": 10, "mirror": "there"}}
    assert reread(config, workflow) == expected | changed
    Path("overlay.yaml").write_text("threads: 1\nthreads: 2", "utf-8")
    with pytest.raises(ConfigError, match=r"overlay\.yaml: cannot be read: line 2 has the key"):
        reread(config, workflow)


def test_overlays_are_resolved_to_one_file_that_is_read_as_they_are(tmp_path, monkeypatch):
    """Their names stay in their order, and keys that are numbers stay numbers."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text("overrides: {a: {tuned: {x: {1: 0}}, audit: {}}}", "utf-8")
    Path("c+a.yaml").write_text("results: yes\noverrides: {a: {audit: null, seeds: 010}}", "utf-8")
    Path("b ä.yaml").write_text("overrides: {a: {tuned: {x: {1: 2, 1e-3: '1'}}}}", "utf-8")
    overlays, words = [Path("c+a.yaml"), Path("b ä.yaml")], ["threads=010", "overrides={b: .inf}"]
    config = reread(*snakemake_reads([resolve(overlays, parse_words(words), tmp_path)]))
    assert config == reread(*snakemake_reads(overlays, words))
    a = {"tuned": {"x": {1: 2, 1e-3: "1"}}, "audit": None, "seeds": 10}
    assert config == {
        "results": "yes",
        "overrides": {"a": a, "b": math.inf},
        "threads": 10,
        "files": ["config.yaml", "c+a.yaml", "b ä.yaml"],
    }
    assert report_name(Config(experiments=["a"], files=config["files"]).overlays) == "c+a+b ä"


def test_floats_are_written_as_yaml_of_both_versions():
    assert yaml.safe_load(dump_yaml({1e-6: 1e300})) == {1e-6: 1e300}
