"""Avro schemas and values of them, drawn by Hypothesis."""

import io
import itertools
import json

import fastavro
from hypothesis import strategies as st

from service.formats.avro import avro_reader

longs = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=5)
PRIMITIVES = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": longs,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": texts,
}


@st.composite
def schemas(draw, depth=3):
    """Draw a schema and a strategy for values of it."""
    names = itertools.count()

    def any_of(depth):  # noqa: PLR0911
        kind = draw(
            st.sampled_from([*PRIMITIVES, "enum", *(["record", "array", "map", "optional"] * (depth > 0))])
        )
        if kind in PRIMITIVES:
            return kind, PRIMITIVES[kind]
        if kind == "enum":
            symbols = draw(st.lists(st.sampled_from("ABCDE"), min_size=1, unique=True))
            return {"type": "enum", "name": f"N{next(names)}", "symbols": symbols}, st.sampled_from(symbols)
        if kind == "record":
            fields = draw(st.lists(st.sampled_from(["a", "b", "naïve", "d"]), unique=True))
            found = {name.replace("ï", "i"): any_of(depth - 1) for name in fields}
            schema = {
                "type": "record",
                "name": f"N{next(names)}",
                "fields": [{"name": name, "type": each} for name, (each, _) in found.items()],
            }
            return schema, st.fixed_dictionaries({name: values for name, (_, values) in found.items()})
        schema, values = any_of(depth - 1)
        if kind == "array":
            return {"type": "array", "items": schema}, st.lists(values, max_size=3)
        if kind == "map":
            return {"type": "map", "values": schema}, st.dictionaries(texts, values, max_size=3)
        if schema == "null":
            return schema, values
        return ["null", schema] if not isinstance(schema, list) else schema, st.none() | values

    return any_of(depth)


def written(schema, value):
    """Return a value as fastavro writes it."""
    data = io.BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(schema), value)
    return data.getvalue()


def reader(*schemas):
    """Return what reads values of the last schema."""
    return avro_reader([json.dumps(schema).encode() for schema in schemas])


def record(name="Event", **fields):
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": schema} for field, schema in fields.items()],
    }
