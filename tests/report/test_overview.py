"""The page that leads to all reports."""

from admmbench.report import overview


def report(folder, name, description):
    path = folder / name / "index.html"
    path.parent.mkdir(parents=True)
    meta = f'<meta name="description" content="{description}">' if description else ""
    path.write_text(f"<html><head><title>T</title>{meta}</head><body>&</body></html>")


def test_every_configuration_has_a_link_and_says_what_it_is_about(tmp_path):
    report(tmp_path, "quick", "Digits: a &lt;look&gt;; more")
    report(tmp_path, "my study+tiny", "")
    (tmp_path / "left over").mkdir()
    overview.write(tmp_path, tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text()
    assert (
        '<a href="quick/index.html">quick</a> <small>Digits: a &lt;look&gt;; more</small>' in page
    )
    assert '<a href="my%20study%2Btiny/index.html">my study+tiny</a>' in page
    assert page.index("my study") < page.index("quick")
    assert "left over" not in page
    # Another one is added, and the page itself is none.
    report(tmp_path, "adult", "Adult")
    overview.write(tmp_path, tmp_path / "index.html")
    assert (tmp_path / "index.html").read_text().count("<li>") == 3
