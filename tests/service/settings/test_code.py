import sys

import pytest

from service.errors import ConfigurationError
from service.settings.code import import_code, with_version


def test_a_file_is_imported_once(tmp_path):
    (tmp_path / "once.py").write_text("class Thing: pass\n")
    place = f"{tmp_path / 'once.py'}:Thing"
    assert import_code("model", place, "") is import_code("model", place, "")


def test_a_file_that_fails_leaves_no_module(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(ConfigurationError, match=r"model: cannot import .*ZeroDivisionError"):
        import_code("model", f"{tmp_path / 'broken.py'}:thing", "a hint")
    assert "perceptron_model_broken" not in sys.modules


def test_the_version_is_the_function_s_or_its_module_s(tmp_path):
    path = tmp_path / "versions.py"
    path.write_text("__version__ = 1\ndef a(_): pass\ndef b(_): pass\nb.__version__ = 2\n")
    assert [with_version(f"{path}:{name}") for name in "ab"] == [f"{path}:a 1", f"{path}:b 2"]
