"""A model file is written whole, for its owner alone, or with the rights of the one it replaces."""

import os
import stat

import pytest

from perceptron_core import AROW, SCW, Mixture
from service.models.model_file import ModelKind, write_atomically


@pytest.fixture
def path(tmp_path):
    before = os.umask(0o022)
    yield tmp_path / "model.bin"
    os.umask(before)


def test_mixtures_of_equal_experts_are_of_one_kind():
    one, same, other = (ModelKind.of(Mixture([AROW(r), SCW()])) for r in (1.0, 1.0, 2.0))
    assert one.difference(same) == ""
    assert one.difference(other) == "experts=('AROW', 'SCW'), not experts=('AROW(r=2.0)', 'SCW')"


def test_a_new_file_is_for_its_owner_alone(path):
    write_atomically(path, b"a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_exists_keeps_its_rights(path, mode):
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["model.bin"]


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_a_file_that_exists_keeps_its_owner(path):
    path.write_bytes(b"old")
    os.chown(path, 1234, 1234)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1234)
