"""Turn .proto texts, or descriptors in base64, into serialized descriptors.

A registry that knows `format=serialized` sends descriptors. The text that others send is compiled by protoc,
in a process of its own: the one that `grpcio-tools` carries, or else the machine's.
"""

from __future__ import annotations

import base64
import binascii
import errno
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from shutil import which
from tempfile import TemporaryDirectory
from typing import Final

from service.settings.code import need

_MAIN: Final = "online_perceptron_schema.proto"
_SECONDS: Final = 20.0
"""For protoc, which takes a fraction of one."""
_LONGEST_COMPLAINT: Final = 1000
_OF_NAMES: Final = frozenset(
    {errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EINVAL, errno.ELOOP}
)
"""Errors of a file's name; any other is an error of this machine: the schema may be tried again."""

_KNOWN: Final[Mapping[str, str]] = {
    "confluent/meta.proto": """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
""",
}
"""Files that every registry has, and does not name among the references of a schema."""


class UnusableSchema(Exception):
    """A schema that cannot be read, or means nothing to this release."""


def descriptors(files: Sequence[tuple[str, str]]) -> tuple[bytes, ...]:
    """Return the serialized `FileDescriptorProto` of each file, those that others import first.

    Parameters
    ----------
    files
        Names, as the files import one another, and texts or descriptors in base64; the last is the schema.

    Raises
    ------
    UnusableSchema
        protoc refuses it.
    ConfigurationError
        A package is missing.

    """
    found = [_decoded(name, text) for name, text in files]
    return tuple(each for each in found if each) if all(found) else _compile(dict(files))


def compile_file(path: Path) -> tuple[bytes, ...]:
    """Compile a .proto file, whose imports lie beside it or below; read any other as a descriptor set."""
    if path.suffix != ".proto":
        return _files_of(path.read_bytes())
    return _protoc(path.parent, path.name)


def _decoded(name: str, text: str) -> bytes | None:
    """Return a descriptor that was sent in base64, under the name that others import it by."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415 - an extra
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, DecodeError):
        return None
    file.name = name or file.name or _MAIN
    return bytes(file.SerializeToString())


def _compile(files: Mapping[str, str]) -> tuple[bytes, ...]:
    with TemporaryDirectory(prefix="perceptron-") as folder:
        for name, text in {**_KNOWN, **files}.items():
            inside = PurePosixPath(name or _MAIN)
            if inside.is_absolute() or ".." in inside.parts:
                raise UnusableSchema(f"it imports {name!r:.200}")
            try:
                _write(Path(folder, inside), text)
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and error.errno not in _OF_NAMES:
                    raise
                raise UnusableSchema(
                    f"it imports {name!r:.200}, which cannot be the name of a file"
                ) from None
        return _protoc(Path(folder), _MAIN)


def _write(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def _protoc(folder: Path, name: str) -> tuple[bytes, ...]:
    """Compile a file and what it imports."""
    with TemporaryDirectory(prefix="perceptron-") as results:
        result = Path(results, "descriptors")
        options = [f"--proto_path={folder}", "--include_imports", f"--descriptor_set_out={result}", name]
        try:
            run = subprocess.run(  # noqa: S603 - no shell; the name is our own or the settings'
                [*_compiler(), *options], check=False, capture_output=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            raise UnusableSchema(f"protoc has not compiled it within {_SECONDS:g} s") from None
        if run.returncode:
            said = run.stderr.decode(errors="replace").strip()
            raise UnusableSchema(f"protoc: {said[:_LONGEST_COMPLAINT]}")
        return _files_of(result.read_bytes())


def _compiler() -> list[str]:
    """Return the command of a protoc, with where it finds Google's own files."""
    carried, installed = find_spec("grpc_tools"), which("protoc")
    if carried is None and installed:
        return [installed]
    need("grpc_tools", "a Protobuf schema in the form of text (where the machine has no protoc)", "protoc")
    assert carried is not None
    assert carried.origin is not None
    google = Path(carried.origin).with_name("_proto")
    return [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={google}"]


def _files_of(descriptor_set: bytes) -> tuple[bytes, ...]:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    try:
        files = FileDescriptorSet.FromString(descriptor_set).file
    except DecodeError as error:
        raise UnusableSchema(f"this is no FileDescriptorSet: {error}") from None
    return tuple(file.SerializeToString() for file in files)
