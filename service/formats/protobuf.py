"""Read Protobuf messages as dictionaries, lists and scalars; convert schemas to the descriptors for that.

A registry sends descriptors for `format=serialized`; schemas as text are not supported.

A field with presence that is not set is left out; a field without presence has its default. Enums become
names, a timestamp milliseconds since 1970, a decimal a number, bytes None (missing).
Values are counted before a message is parsed: a nested message takes two bytes, but each of its fields has a
value, so parsing could take thousands of times the memory of the bytes.
"""

from __future__ import annotations

import base64
import binascii
import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from service.formats.plain_values import TooManyValues, max_values, scaled, varint
from service.messages.rejection import Reason, Rejection
from service.settings.code import need

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import Message


_MAIN: Final = "online_perceptron_schema.proto"
_AS_TEXT: Final = "is text: the Schema Registry must support format=serialized with a descriptor"


class UnusableSchema(Exception):
    """A schema that cannot be read, or that this release does not support."""


def descriptors(files: Sequence[tuple[str, str]]) -> tuple[bytes, ...]:
    """Return the serialized `FileDescriptorProto` of each file, imported files first.

    Parameters
    ----------
    files
        Names, as they are imported, and descriptors in base64; the last file is the schema.

    Raises
    ------
    UnusableSchema
        A descriptor is invalid.

    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415 - an extra
    from google.protobuf.message import DecodeError  # noqa: PLC0415

    serialized = []
    for name, text in files:
        try:
            file = FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError, DecodeError):
            raise UnusableSchema(f"{name or 'it'!s:.200} {_AS_TEXT}") from None
        file.name = name or file.name or _MAIN
        serialized.append(bytes(file.SerializeToString()))
    return tuple(serialized)


_MIN_MESSAGE_BYTES: Final = 2
"""Fewest bytes of a nested message."""
_VARINT, _FIXED64, _BYTES, _BEGIN, _END, _FIXED32 = range(6)
"""Types of a field on the wire: the lowest three bits of its tag."""


class _Kind:
    """A type of message: the number of its fields, and the types of its nested messages by field number."""

    def __init__(self) -> None:
        self.n_fields = 0
        self.messages: dict[int, _Kind] = {}


_UNKNOWN: Final = _Kind()


class ValueCounter:
    """Counts the values of messages.

    Parameters
    ----------
    descriptor
        Type of the messages.
    pool
        The pool of the descriptor.

    """

    def __init__(self, descriptor: Descriptor, pool: DescriptorPool) -> None:
        kinds: dict[str, _Kind] = {}
        to_do: list[Descriptor] = []

        def kind_of(descriptor: Descriptor) -> _Kind:
            if descriptor.full_name not in kinds:
                kinds[descriptor.full_name] = _Kind()
                to_do.append(descriptor)
            return kinds[descriptor.full_name]

        self._kind = kind_of(descriptor)
        while to_do:
            each = to_do.pop()
            if each.GetOptions().message_set_wire_format:
                raise UnusableSchema(f"{each.full_name} is a message set")
            fields = [*each.fields, *(pool.FindAllExtensions(each) if each.is_extendable else ())]
            kind = kinds[each.full_name]
            kind.n_fields = len(fields)
            kind.messages = {f.number: kind_of(f.message_type) for f in fields if f.message_type is not None}
        inner = [message for kind in kinds.values() for message in kind.messages.values()]
        self._max_fields = max((kind.n_fields for kind in inner), default=0)

    def check(self, data: bytes) -> None:
        """Raise `TooManyValues` for a message that holds more than `max_values`."""
        n_bytes = len(data)
        most = max_values(n_bytes)
        if self._kind.n_fields + self._max_fields * (n_bytes // _MIN_MESSAGE_BYTES) <= most:
            return  # the usual case
        try:
            count = self._count(data, most)
        except IndexError:
            return  # not a message, which the parser reports
        if count > most:
            raise TooManyValues(n_bytes)

    def _count(self, data: bytes, most: int) -> int:
        """Return the number of fields of all messages, or `most` + 1 if there are more; IndexError if cut."""
        at, end, kind, count = 0, len(data), self._kind, self._kind.n_fields
        around: list[tuple[int, _Kind]] = []
        """The enclosing messages, and their ends."""
        while count <= most:
            if at >= end:
                if not around:
                    break
                end, kind = around.pop()
                continue
            tag, at = varint(data, at)
            follows, inner = tag & 7, kind.messages.get(tag >> 3, _UNKNOWN)
            if follows == _BYTES:
                size, at = varint(data, at)
                if inner is _UNKNOWN:
                    at += size
                    continue
                around.append((end, kind))
                end, kind, count = at + size, inner, count + inner.n_fields
            elif follows == _BEGIN:
                around.append((end, kind))
                kind, count = inner, count + inner.n_fields
            elif follows == _END and around:
                end, kind = around.pop()
            elif follows == _VARINT:
                _, at = varint(data, at)
            else:
                at += 8 if follows == _FIXED64 else 4
        return count


_PACKAGED: Final = re.compile(r"(google/(?:\w{1,60}/){0,8}\w{1,60})\.proto", re.ASCII)
"""Files that are part of Protobuf, or of googleapis-common-protos if that is installed."""
_DECIMAL: Final = "confluent/type/decimal.proto"
_MAX_WORD_LENGTH: Final = 256
"""Longest name of an enum value, or default, in characters: a message has at most one byte for it."""
_MAX_DEPTH: Final = 200
Read = Callable[[bytes], object]
_Convert = Callable[[Any], object]
_FieldReader = tuple[str, "Callable[[Message], bool] | None", _Convert]


class ProtobufFile:
    """The messages of one file and of its imports.

    Parameters
    ----------
    parts
        Serialized `FileDescriptorProto`s, imported files first; the last is the file.

    """

    def __init__(self, parts: Sequence[bytes]) -> None:
        need("google.protobuf", "a Protobuf schema")
        from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415 - an extra
        from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415

        self._pool = DescriptorPool()
        self._converters: dict[str, _Convert] = {}
        self._to_do: list[tuple[Descriptor, list[_FieldReader]]] = []
        """Messages whose fields have no converters yet."""
        for name in _STANDING_FOR_VALUES:  # a schema cannot have its own messages of their names
            _has(self._pool, name)
        try:
            names = [_add(self._pool, part) for part in parts]
        except TypeError as error:
            raise UnusableSchema(f"its descriptors contradict each other: {error}") from None
        self._file = FileDescriptorProto()
        self._pool.FindFileByName(names[-1]).CopyToProto(self._file)

    def reader_at(self, indexes: Sequence[int]) -> Read:
        """Return a reader of the message at these indexes: in the file, then in the message around it."""
        file = self._file
        names, messages = [file.package] if file.package else [], file.message_type
        for index in indexes:
            if not 0 <= index < len(messages):
                raise Rejection(Reason.INVALID_DATA, f"the schema has no message at {list(indexes)}")
            names.append(messages[index].name)
            messages = messages[index].nested_type
        return self.reader_of(".".join(names))

    def reader_of(self, name: str) -> Read:
        """Return a reader of the message of this name.

        Raises
        ------
        UnusableSchema
            There is no such message.

        """
        from google.protobuf.message import DecodeError  # noqa: PLC0415
        from google.protobuf.message_factory import GetMessageClass  # noqa: PLC0415

        try:
            descriptor = self._pool.FindMessageTypeByName(name)
        except KeyError:
            raise UnusableSchema(f"it has no message {name!r:.200}") from None
        _check_depth(descriptor)
        self._converters, self._to_do = {}, []
        parse, convert = GetMessageClass(descriptor).FromString, self._converter(descriptor)
        while self._to_do:
            each, fields = self._to_do.pop()
            fields.extend((f.name, _presence(f), self._field(f)) for f in each.fields)
        check = ValueCounter(descriptor, self._pool).check

        def read(data: bytes) -> object:
            check(data)
            try:
                return convert(parse(data))
            except DecodeError:
                raise Rejection(Reason.INVALID_DATA, f"expected a message {name}, got other bytes") from None

        return read

    def _converter(self, descriptor: Descriptor) -> _Convert:
        """Return a function that converts such a message, which may contain itself, to plain values."""
        name = descriptor.full_name
        if (special := _SPECIAL.get(name)) is not None:
            return special
        if name not in self._converters:
            fields: list[_FieldReader] = []
            self._converters[name] = _converter_of(fields)
            self._to_do.append((descriptor, fields))
        return self._converters[name]

    def _field(self, field: FieldDescriptor) -> _Convert:
        name = field.name
        if not field.is_repeated:
            return self._scalar(field, lambda message: getattr(message, name))
        inner = field.message_type
        if inner is not None and inner.GetOptions().map_entry:
            convert = self._scalar(inner.fields_by_name["value"], lambda value: value)
            return lambda message: {str(k): convert(v) for k, v in getattr(message, name).items()}
        convert = self._scalar(field, lambda value: value)
        return lambda message: [convert(value) for value in getattr(message, name)]

    def _scalar(self, field: FieldDescriptor, get: _Convert) -> _Convert:
        """Return a function that converts one value of a field, found by `get`, to a plain value."""
        if field.message_type is not None:
            convert = self._converter(field.message_type)
            return lambda holder: convert(get(holder))
        if field.has_default_value and isinstance(field.default_value, str):
            _check_word(field.default_value, f"the default of {field.full_name}")
        if field.enum_type is not None:
            names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
            _check_word(max(names.values(), key=len), f"a name in {field.enum_type.full_name}")
            return lambda holder: names.get(number := get(holder), number)
        if field.type == field.TYPE_BYTES:
            return lambda _: None
        return get


def _check_depth(descriptor: Descriptor) -> None:
    """Reject message types so deep that Protobuf, which makes a class of each, would overflow the stack."""
    seen, around = {descriptor.full_name}, [iter(descriptor.fields)]
    while around:
        field = next(around[-1], None)
        if field is None:
            around.pop()
        elif (inner := field.message_type) is not None and inner.full_name not in seen:
            seen.add(inner.full_name)
            around.append(iter(inner.fields))
            if len(around) > _MAX_DEPTH:
                raise UnusableSchema(f"its messages refer to each other more than {_MAX_DEPTH} deep")


def _check_word(word: str, what: str) -> None:
    if len(word) > _MAX_WORD_LENGTH:
        raise UnusableSchema(f"{what:.200} has {len(word)} characters, more than {_MAX_WORD_LENGTH}")


def _converter_of(fields: Iterable[_FieldReader]) -> _Convert:
    return lambda message: {
        name: convert(message) for name, is_set, convert in fields if is_set is None or is_set(message)
    }


def _presence(field: FieldDescriptor) -> Callable[[Message], bool] | None:
    """Return a function that returns whether a field is set; None for a field without presence."""
    name = field.name
    return (lambda message: bool(message.HasField(name))) if field.has_presence else None


def _add(pool: DescriptorPool, part: bytes) -> str:
    """Add a file; a missing import is assumed to contain only options, which are not needed."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415

    file = FileDescriptorProto.FromString(part)
    known = [name for name in file.dependency if _has(pool, name)]
    if len(known) < len(file.dependency):
        file.dependency[:] = known
        del file.public_dependency[:], file.weak_dependency[:]
    if not _is_in(pool, file.name):
        pool.AddSerializedFile(file.SerializeToString())
    return str(file.name)


def _has(pool: DescriptorPool, name: str) -> bool:
    """Return whether a file is in the pool; first add it if it is one that registries leave out."""
    if _is_in(pool, name):
        return True
    if name == _DECIMAL:
        pool.AddSerializedFile(_decimal_file())
        return True
    packaged = _PACKAGED.fullmatch(name)
    if packaged is None:
        return False
    try:
        module = importlib.import_module(f"{packaged[1].replace('/', '.')}_pb2")
    except ImportError:
        return False
    _add(pool, module.DESCRIPTOR.serialized_pb)
    return True


def _decimal_file() -> bytes:
    """Return the descriptor of Confluent's decimal, which its serializers never register."""
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto  # noqa: PLC0415

    file = FileDescriptorProto(name=_DECIMAL, package="confluent.type", syntax="proto3")
    types = {"value": "TYPE_BYTES", "precision": "TYPE_UINT32", "scale": "TYPE_INT32"}
    fields = file.message_type.add(name="Decimal").field
    for number, (name, kind) in enumerate(types.items(), start=1):
        fields.add(name=name, number=number, type=FieldDescriptorProto.Type.Value(kind), label=1)
    return bytes(file.SerializeToString())


def _is_in(pool: DescriptorPool, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


_STANDING_FOR_VALUES: Final = (_DECIMAL, "google/protobuf/timestamp.proto")
_SPECIAL: Final[dict[str, _Convert]] = {
    "google.protobuf.Timestamp": lambda each: int(each.seconds) * 1000 + int(each.nanos) // 1_000_000,
    "confluent.type.Decimal": lambda each: scaled(each.value, each.scale),
}
"""Messages that are read as a plain value."""
