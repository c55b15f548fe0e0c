"""Small inputs that stand for much, in their own process: `python -m tests.service.amplified`.

Prints, for each, the processor time in seconds and what came of it; and the process's peak of memory.
"""

import json
import resource
import sys
import time
from contextlib import suppress
from pathlib import Path


def protobuf(n_fields):
    from service.formats.protobuf import ProtobufFile  # noqa: PLC0415 - an extra
    from tests.support.protobuf_schemas import compiled  # noqa: PLC0415 - as above

    fields = " ".join(f"double f{number} = {number};" for number in range(1, n_fields + 1))
    text = f'syntax = "proto3"; message L {{ {fields} }} message M {{ repeated L lines = 1; }}'
    read = ProtobufFile(compiled(text)).reader_of("M")
    return lambda: len(read(b"\x0a\x00" * 500_000)["lines"])


def avro():
    from tests.service.formats.avro_values import reader, record  # noqa: PLC0415

    nulls = record("Nulls", **{f"f{number}": "null" for number in range(40)})
    read = reader(record(many={"type": "array", "items": nulls}, rest="bytes"))
    count = b"\xc0\xee\x6d"  # 900,000
    return lambda: len(read(count + b"\x00" + count + bytes(900_000), 0)["many"])


def peak_bytes():
    """Return the peak of this process: `getrusage` has that of its parent too."""
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main():
    found = {}
    cases = {"avro": avro(), "protobuf 40": protobuf(40), "protobuf 1000": protobuf(1000)}
    for name, run in cases.items():
        began = time.process_time()
        try:
            said = run()
        except Exception as error:  # noqa: BLE001 - is printed
            said = str(error)
        found[name] = [time.process_time() - began, said]
    sys.stdout.write(json.dumps({"found": found, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
