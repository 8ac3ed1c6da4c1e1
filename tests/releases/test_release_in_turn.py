"""deps/release_in_turn.py: each commit compiles for one further release, and none is left out."""

from __future__ import annotations

import fetch_torch
import pytest
import release_in_turn


@pytest.fixture
def others() -> list[str]:
    return [one for one in fetch_torch.releases() if one != release_in_turn.own_release()]


def said(monkeypatch, capsys, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["release_in_turn.py", *words])
    status = release_in_turn.main()
    output = capsys.readouterr()
    return status, output.out.strip(), output.err.strip()


def with_history(monkeypatch, commits: int) -> None:
    answers = {"--is-shallow-repository": "false", "HEAD": str(commits)}
    monkeypatch.setattr(release_in_turn, "git", lambda *words: answers[words[-1]])


def test_commits_in_a_row_have_all_releases(monkeypatch, capsys, others):
    chosen = []
    for commits in range(1000, 1000 + len(others)):
        with_history(monkeypatch, commits)
        status, release, why = said(monkeypatch, capsys)
        assert status == 0 and f"of {commits} commits by {len(others)}" in why
        assert (status, release, why) == said(monkeypatch, capsys)
        chosen.append(release)
    assert sorted(chosen) == sorted(others)


def test_the_day_counts_where_git_has_not_the_whole_history(monkeypatch, capsys, others):
    monkeypatch.setattr(release_in_turn, "git", lambda *words: "")
    chosen = set()
    for day in range(len(others)):
        monkeypatch.setattr(release_in_turn.time, "time", lambda day=day: 86400.0 * day)
        _, release, why = said(monkeypatch, capsys)
        assert f"day {day}, because git has not the whole history" in why
        chosen.add(release)
    assert chosen == set(others)


def test_a_release_is_chosen(monkeypatch, capsys, others):
    assert said(monkeypatch, capsys, others[0])[:2] == (0, others[0])
    own = release_in_turn.own_release()
    assert said(monkeypatch, capsys, own)[:2] == (0, own)
    status, release, why = said(monkeypatch, capsys, "1.0.0")
    assert (status, release) == (1, "") and "1.0.0 is not among" in why
