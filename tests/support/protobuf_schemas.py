"""Compile Protobuf schemas for tests, as a registry does."""

from pathlib import Path
from tempfile import TemporaryDirectory

import grpc_tools
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

MAIN = "schema.proto"
KNOWN = Path(__file__).with_name("protobuf")
"""The folder of files that every registry has."""


def compiled(text, files=()):
    """Return the serialized descriptors of a schema and of the files it imports; it is the last one."""
    with TemporaryDirectory() as folder:
        for name, source in {**dict(files), MAIN: text}.items():
            place = Path(folder, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(source, encoding="utf-8")
        google, result = Path(grpc_tools.__file__).with_name("_proto"), Path(folder, "result")
        paths = [f"-I{each}" for each in (folder, KNOWN, google)]
        options = [*paths, "--include_imports", f"--descriptor_set_out={result}"]
        assert protoc.main(["protoc", *options, MAIN]) == 0, text
        found = FileDescriptorSet.FromString(result.read_bytes())
    return tuple(file.SerializeToString() for file in found.file)
