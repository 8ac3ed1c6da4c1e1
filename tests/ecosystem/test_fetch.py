"""fetch.py unpacks archives of strangers: what it must refuse, and what it must leave out."""

import importlib.util
import io
import re
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

_spec = importlib.util.spec_from_file_location("fetch", Path(__file__).with_name("fetch.py"))
fetch = importlib.util.module_from_spec(_spec)
sys.modules["fetch"] = fetch
_spec.loader.exec_module(fetch)


def make_tar(path, *infos_and_data):
    with tarfile.open(path, "w:gz") as archive:
        for info, data in infos_and_data:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def regular(name, data=b"x = 1\n"):
    return tarfile.TarInfo(name), data


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/evil.py", "a/../../evil.py", "a\\..\\evil.py", "C:/evil.py", ""]
)
def test_a_member_that_leaves_the_folder_is_refused(tmp_path, name):
    assert fetch.safe_path(name) is None
    if not name:
        return
    out = tmp_path / "out"
    out.mkdir()
    archives = [make_tar(tmp_path / "a.tar.gz", regular(name))]
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), "x = 1\n")
    archives.append(tmp_path / "a.whl")
    for archive in archives:
        with pytest.raises(fetch.FetchError, match="elsewhere"):
            fetch.unpack(archive, out)
    assert sorted(p.name for p in tmp_path.rglob("*.py")) == []


def test_links_and_devices_are_left_out(tmp_path):
    archive = make_tar(
        tmp_path / "a.tar.gz",
        special("p/link.py", tarfile.SYMTYPE, "/etc/passwd"),
        special("p/hard.py", tarfile.LNKTYPE, "p/ok.py"),
        special("p/pipe.py", tarfile.FIFOTYPE),
        regular("p/ok.py"),
    )
    assert fetch.unpack(archive, tmp_path / "out") == (1, 6)
    assert [p.name for p in (tmp_path / "out").rglob("*.py")] == ["ok.py"]


def test_a_member_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_FILE_BYTES", 5)
    with pytest.raises(fetch.FetchError, match="too large"):
        fetch.unpack(make_tar(tmp_path / "a.tar.gz", regular("p/ok.py")), tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("p/model.py", True),
        ("p/demo.ipynb", True),
        ("setup.cfg", True),
        ("docker/Dockerfile.gpu", True),
        ("requirements-dev.txt", True),
        ("csrc/CMakeLists.txt", True),
        ("environment.yml", True),
        ("p/weights.pth", False),
        ("README.md", False),
        ("p/ops.so", False),
    ],
)
def test_what_torchport_reads_is_unpacked(name, wanted):
    assert fetch.is_wanted(PurePosixPath(name)) is wanted


class FakeIndex:
    def __init__(self, archive, fail=False):
        self.archive, self.fail, self.calls = archive, fail, 0

    def __call__(self):
        return self

    def download(self, package, target):
        self.calls += 1
        if self.fail:
            raise fetch.FetchError("SHA-256 differs")
        target.write_bytes(self.archive.read_bytes())


def test_a_second_run_fetches_nothing_and_a_failed_one_leaves_nothing(tmp_path, monkeypatch):
    archive = make_tar(tmp_path / "a.tar.gz", regular("a-1/a.py"))
    package = fetch.Package("a", "1", "a-1.tar.gz", "0" * 64, ("small",))
    into = tmp_path / "into"

    broken = FakeIndex(archive, fail=True)
    monkeypatch.setattr(fetch, "Index", broken)
    with pytest.raises(fetch.FetchError):
        fetch.fetch([package], into, log=lambda _: None)
    assert [p.name for p in into.iterdir()] == [".fetched"]

    index = FakeIndex(archive)
    monkeypatch.setattr(fetch, "Index", index)
    first = fetch.fetch([package], into, log=lambda _: None)
    assert fetch.fetch([package], into, log=lambda _: None) == first
    assert index.calls == 1
    assert (into / "a-1/a-1/a.py").is_file()


def test_the_manifest_pins_every_package():
    packages = fetch.load_manifest()
    assert len({p.folder for p in packages}) == len(packages)
    assert len(fetch.select(packages, "research")) >= 18
    assert len(fetch.select(packages, "small")) >= 3
    for package in packages:
        assert re.fullmatch(r"[0-9a-f]{64}", package.sha256), package.name
        assert set(package.sets) <= {"small", "research", "bench", *fetch.DRAWN}, package.name
        assert package.version in package.file
