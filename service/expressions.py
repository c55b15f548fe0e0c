"""Compile expressions to functions of a record.

An expression is parsed by Python's parser and checked against a list of permitted nodes; no part of it is
ever run as Python. There are no loops, and integers and texts cannot grow without bound. Functions are
deterministic, have no I/O, and take time linear in the size of their arguments.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache, partial
from itertools import pairwise
from math import isfinite
from typing import Any, Final, NamedTuple, NoReturn

from perceptron_core.elementary import log, log1p
from service.messages.json_values import number_of_text
from service.messages.paths import EPOCH, Keys, event_time_ms, find_at

NUMBER, TEXT, TRUTH, ANY = "number", "text", "truth", "any"
"""Kinds of values; the kind of a field is known only when a record comes."""

_MAX_CROSS_LENGTH: Final = 1000
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000
_WEEKDAY_OF_EPOCH: Final = 3
_URL: Final = re.compile(
    r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//(?:[^/?#@]*@)?(\[[^\]/]*\]|[^/?#:]*)(?::\d*)?([^?#]*)"
)
_MAX_CACHED: Final = 4096
_MAX_CACHED_LENGTH: Final = 256
"""Number of cached texts and days; largest number of characters of a cached text."""


class NoValue(Exception):
    """A value that an expression needs is missing, so there is no feature."""


class Function(NamedTuple):
    """A function of expressions."""

    call: Callable[..., Any]
    takes: tuple[str, ...]
    """Kinds of its arguments; with `more`, further arguments have the kind of the last."""
    gives: str
    more: bool = False
    check: Callable[..., Any] = lambda *_: None
    """Raises as `call` does for arguments that are wrong for all records; unknown arguments are None."""


def _number(value: Any) -> float:  # noqa: ANN401 - any value
    try:
        number = number_of_text(value) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        raise NoValue from None
    if not isfinite(number):
        raise NoValue
    return number


def _log(value: float) -> float:
    if value <= 0:
        raise NoValue
    return log(value)


def _log1p(value: float) -> float:
    if value <= -1:
        raise NoValue
    return log1p(value)


def _day(value: Any) -> int:  # noqa: ANN401
    return _day_of_month(event_time_ms(value) // _DAY_MS)


@lru_cache(maxsize=_MAX_CACHED)
def _day_of_month(days: int) -> int:
    return (EPOCH + timedelta(days=days)).day


def _contains(value: Any, part: Any) -> bool:  # noqa: ANN401
    if isinstance(value, str) and not isinstance(part, str):
        raise TypeError(f"contains: expected a string in a string, got {type(part).__name__}")
    return part in value


def _remembering(find: Callable[[str], Any]) -> Callable[[str], Any]:
    """Cache the results for short texts: a look-up takes a third of the time."""
    remembered = lru_cache(maxsize=_MAX_CACHED)(find)
    return lambda text: (remembered if len(text) <= _MAX_CACHED_LENGTH else find)(text)


@_remembering
def _url(text: str) -> tuple[str, str]:
    match = _URL.match(text)
    return (match[1].lower(), match[2]) if match else ("", text.partition("?")[0].partition("#")[0])


def _host(text: str) -> str:
    host: str = _url(text)[0]
    if not host:
        raise NoValue
    return host


@_remembering
def _domain(text: str) -> str:
    """Return the part of a mail address after the @; of a URL, the last two labels of its host."""
    host = _url(text)[0]
    if not host and "@" in text:
        return text.rpartition("@")[2].rstrip("> ").lower()
    return ".".join((host or text.lower()).split(".")[-2:])


def _check_edges(_value: float | None, *edges: float | None) -> None:
    known = [edge for edge in edges if edge is not None]
    if known != sorted(known):
        raise ValueError("bucket: expected edges in ascending order")


@lru_cache(maxsize=256)
def _ranges(*edges: float) -> tuple[str, ...]:
    _check_edges(None, *edges)
    shown = [f"{edge:g}" for edge in edges]
    between = (f"{low}..{high}" for low, high in pairwise(shown))
    return (f"<{shown[0]}", *between, f">={shown[-1]}")


def _check_times(*values: Any) -> None:  # noqa: ANN401
    for value in values:
        if value is not None:
            event_time_ms(value)


def _cross(*values: Any) -> str:  # noqa: ANN401
    try:
        crossed = "×".join([value if isinstance(value, str) else f"{value:g}" for value in values])
    except TypeError:
        raise TypeError("cross: expected strings and numbers") from None
    if len(crossed) > _MAX_CROSS_LENGTH:
        raise ValueError(f"cross: expected at most {_MAX_CROSS_LENGTH:,} characters, got {len(crossed):,}")
    return crossed


FUNCTIONS: Final[Mapping[str, Function]] = {
    "number": Function(_number, (ANY,), NUMBER),
    "log": Function(_log, (NUMBER,), NUMBER),
    "log1p": Function(_log1p, (NUMBER,), NUMBER),
    "abs": Function(abs, (NUMBER,), NUMBER),
    "min": Function(min, (NUMBER, NUMBER), NUMBER, more=True),
    "max": Function(max, (NUMBER, NUMBER), NUMBER, more=True),
    "length": Function(len, (ANY,), NUMBER),
    "lower": Function(str.lower, (TEXT,), TEXT),
    "contains": Function(_contains, (ANY, ANY), TRUTH),
    "hour": Function(lambda at: event_time_ms(at) // _HOUR_MS % 24, (ANY,), NUMBER),
    "weekday": Function(lambda at: (event_time_ms(at) // _DAY_MS + _WEEKDAY_OF_EPOCH) % 7, (ANY,), NUMBER),
    "day": Function(_day, (ANY,), NUMBER),
    "seconds_between": Function(
        lambda start, end: (event_time_ms(end) - event_time_ms(start)) / 1000,
        *((ANY, ANY), NUMBER),
        check=_check_times,
    ),
    "domain": Function(_domain, (TEXT,), TEXT),
    "host": Function(_host, (TEXT,), TEXT),
    "path": Function(lambda text: _url(text)[1], (TEXT,), TEXT),
    "bucket": Function(
        lambda value, *edges: _ranges(*edges)[bisect_right(edges, value)],
        *((NUMBER, NUMBER), TEXT),
        more=True,
        check=_check_edges,
    ),
    "cross": Function(_cross, (ANY, ANY), TEXT, more=True),
}
"""By name. `default(x, y)` and `field('name')` are not here, as they are not functions of values."""


Evaluate = Callable[[Mapping[str, Any], object], Any]
"""Returns the value, given the features by name and the document. Raises `NoValue` and `ArithmeticError`
where there is no value, `TypeError` and `ValueError` for wrong arguments."""

_MAX_LENGTH: Final = 1000
_MAX_INTEGER: Final = 1 << 63
_ARITHMETIC: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: Final[Mapping[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_OPERATORS: Final = "+ - * / // %, comparisons, and, or, not"
_WORDS: Final = {"true": True, "false": False}


_Check = Callable[[Any], Any] | None


class ExpressionError(ValueError):
    """An invalid expression; the message marks the position."""


class Expression(NamedTuple):
    """A compiled expression."""

    evaluate: Evaluate
    uses: frozenset[Keys]
    """Paths of the document that it may read."""


class _Part(NamedTuple):
    evaluate: Evaluate
    kind: str


def compile_expression(
    text: str, earlier: Collection[str] = (), is_missing: Callable[[Any], bool] = lambda _: False
) -> Expression:
    """Compile an expression.

    >>> ratio = compile_expression("order.total / order.items")
    >>> ratio.evaluate({}, {"order": {"total": 9.0, "items": 2}}), sorted(ratio.uses)
    (4.5, [('order', 'items'), ('order', 'total')])

    Parameters
    ----------
    text
        The expression.
    earlier
        Names of features only, which are not fields of the document.
    is_missing
        Returns whether the value of a field means a missing value.

    Raises
    ------
    ExpressionError
        The expression is invalid.

    """
    text = text.replace("\n", " ").strip()
    if len(text) > _MAX_LENGTH:
        raise ExpressionError(f"longer than {_MAX_LENGTH:,} characters")
    compiler = _Compiler(text, earlier, is_missing)
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text, mode="eval")
        part = compiler.part(tree.body)
    except SyntaxError as error:
        at = error.offset - 1 if error.offset and error.offset > 1 else len(text)
        what = "not an expression (write an unusual name as field('name'))"
        raise ExpressionError(f"{what}, at character {at + 1} of {text!r}") from None
    except (MemoryError, RecursionError):
        raise ExpressionError("nested too deeply") from None
    return Expression(part.evaluate, frozenset(compiler.uses))


class _Compiler:
    def __init__(self, text: str, earlier: Collection[str], is_missing: Callable[[Any], bool]) -> None:
        self._text = text
        self._earlier = earlier
        self._is_missing = is_missing
        self.uses: set[Keys] = set()

    def part(self, node: ast.expr, wanted: str = ANY) -> _Part:
        """Compile a node, whose values must be of the wanted kind."""
        if (name := _dotted(node)) is not None and name not in _WORDS:
            return _Part(self._field(name, wanted), wanted)
        made = self._made(node)
        check = self._check(node, made.kind, wanted)
        return _Part(_checked(made.evaluate, check), wanted if check else made.kind)

    def _check(self, node: ast.expr, kind: str, wanted: str) -> Callable[[Any], Any] | None:
        """Return a check of values of `kind` where `wanted` is expected; None if they need no check."""
        if wanted not in {NUMBER, TEXT} or kind == wanted or (kind, wanted) == (TRUTH, NUMBER):
            return None
        if kind != ANY:
            hint = ": convert it with number(…)" if wanted == NUMBER else ""
            self._reject(node, f"expected a {wanted}{hint}")
        return partial(_as_number, name=_dotted(node) or "it") if wanted == NUMBER else _as_text

    def _made(self, node: ast.expr) -> _Part:
        makers: Mapping[type[ast.expr], Callable[[Any], _Part | None]] = {
            ast.Constant: self._constant,
            ast.Name: lambda word: _Part(lambda _found, _document: _WORDS[word.id], TRUTH),
            ast.UnaryOp: self._unary,
            ast.BinOp: self._arithmetic,
            ast.BoolOp: self._joint,
            ast.Compare: self._comparison,
            ast.Call: self._call,
        }
        make = makers.get(type(node))
        made = make(node) if make else None
        if made is None:
            self._reject(node, f"expected fields, numbers, texts, {_OPERATORS}, functions")
        return made

    def _constant(self, node: ast.Constant) -> _Part | None:
        kind = {int: NUMBER, float: NUMBER, str: TEXT}.get(type(node.value))
        return _Part(lambda _found, _document: node.value, kind) if kind else None

    def _unary(self, node: ast.UnaryOp) -> _Part | None:
        is_not = isinstance(node.op, ast.Not)
        if not is_not and not isinstance(node.op, ast.USub):
            return None
        inner = self.part(node.operand, ANY if is_not else NUMBER).evaluate
        operate = operator.not_ if is_not else operator.neg
        kind = TRUTH if is_not else NUMBER
        return _Part(lambda features, document: operate(inner(features, document)), kind)

    def _arithmetic(self, node: ast.BinOp) -> _Part | None:
        operate = _ARITHMETIC.get(type(node.op))
        if operate is None:
            return None
        sides = self.part(node.left, NUMBER).evaluate, self.part(node.right, NUMBER).evaluate
        return _Part(_applied(operate, *sides), NUMBER)

    def _joint(self, node: ast.BoolOp) -> _Part:
        parts = [self.part(value).evaluate for value in node.values]
        return _Part(_joined(parts, is_and=isinstance(node.op, ast.And)), TRUTH)

    def _comparison(self, node: ast.Compare) -> _Part:
        if len(node.ops) > 1:
            self._reject(node, "expected one comparison (`and` joins several)")
        sign, nodes = node.ops[0], (node.left, node.comparators[0])
        if type(sign) not in _COMPARISONS:
            self._reject(nodes[1], "expected ==, !=, <, <=, > or >= before it")
        parts = [self.part(each) for each in nodes]
        kinds = set() if isinstance(sign, (ast.Eq, ast.NotEq)) else {part.kind for part in parts}
        wanted = NUMBER if NUMBER in kinds else TEXT if TEXT in kinds else ANY
        sides = [  # compiled once, else nesting takes 2ⁿ times as long; except for single fields
            self.part(each, wanted).evaluate
            if _dotted(each)
            else _checked(part.evaluate, self._check(each, part.kind, wanted))
            for each, part in zip(nodes, parts, strict=True)
        ]
        return _Part(_applied(_COMPARISONS[type(sign)], *sides), TRUTH)

    def _call(self, node: ast.Call) -> _Part | None:
        if not isinstance(node.func, ast.Name) or node.keywords:
            return None
        name, args = node.func.id, node.args
        if name == "field" and len(args) == 1 and isinstance(args[0], ast.Constant):
            return _Part(self._field(str(args[0].value), ANY), ANY)
        if name == "default" and len(args) == 2:  # noqa: PLR2004 - a value, and what stands for it
            return _Part(_defaulting(*(self.part(arg).evaluate for arg in args)), ANY)
        function = FUNCTIONS.get(name)
        if function is None:
            self._reject(node, f"unknown function {name}; the functions are {', '.join(sorted(FUNCTIONS))}")
        count = len(function.takes)
        if len(args) != count and not (function.more and len(args) > count):
            self._reject(node, f"{name} expects {count} arguments{' or more' if function.more else ''}")
        kinds = [*function.takes, *function.takes[-1:] * (len(args) - count)]
        parts = [self.part(arg, kind).evaluate for arg, kind in zip(args, kinds, strict=True)]
        known = [part({}, None) if _is_constant(arg) else None for arg, part in zip(args, parts, strict=True)]
        try:
            (function.check if None in known else function.call)(*known)
        except (TypeError, ValueError) as error:
            self._reject(node, str(error))
        except (NoValue, ArithmeticError):
            pass
        return _Part(_called(function.call, parts), function.gives)

    def _field(self, name: str, wanted: str) -> Evaluate:
        """Return a function that finds a feature or, if there is none, a field of the document."""
        keys = tuple(name.split("."))
        find = find_at(keys)
        if name in self._earlier:
            find = lambda _: None  # noqa: E731
        else:
            self.uses.add(keys)
        is_missing = self._is_missing

        def get(features: Mapping[str, Any], document: object) -> Any:  # noqa: ANN401 - any value
            value = features.get(name)
            if value is None:
                value = find(document)
                if value is None or is_missing(value):
                    raise NoValue
            return value

        if wanted != NUMBER:
            return get if wanted == ANY else _checked(get, _as_text)

        def get_number(features: Mapping[str, Any], document: object) -> Any:  # noqa: ANN401
            value = features.get(name)
            return value if type(value) is float else _as_number(get(features, document), name)

        return get_number

    def _reject(self, node: ast.expr, why: str) -> NoReturn:
        """Reject a node; its columns are bytes of UTF-8."""
        line = self._text.encode()
        start, end = (len(line[:at].decode()) for at in (node.col_offset, node.end_col_offset or 0))
        raise ExpressionError(f"{why}, at character {start + 1}: {self._text[start:end]!r}")


def _dotted(node: ast.expr) -> str | None:
    """Return the dotted name of a field."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (outer := _dotted(node.value)) is not None:
        return f"{outer}.{node.attr}"
    return None


def _is_constant(node: ast.expr) -> bool:
    """Return whether a node is a number or a text."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _as_number(value: Any, name: str = "it") -> float:  # noqa: ANN401
    if isinstance(value, int):
        return value if -_MAX_INTEGER <= value < _MAX_INTEGER else float(value)
    if not isinstance(value, float):
        raise TypeError(f"{name} is not a number: convert it with number(…)")
    return value


def _as_text(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, str):
        raise TypeError("expected a string")
    return value


def _checked(evaluate: Evaluate, check: _Check) -> Evaluate:
    return (lambda features, document: check(evaluate(features, document))) if check else evaluate


def _applied(operate: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda features, document: operate(left(features, document), right(features, document))


def _joined(parts: Sequence[Evaluate], *, is_and: bool) -> Evaluate:
    first, *others = parts
    rest = _joined(others, is_and=is_and) if others else lambda _found, _document: is_and
    if is_and:
        return lambda features, document: bool(first(features, document) and rest(features, document))
    return lambda features, document: bool(first(features, document) or rest(features, document))


def _called(function: Callable[..., Any], parts: Sequence[Evaluate]) -> Evaluate:
    if len(parts) == 1:
        (only,) = parts
        return lambda features, document: function(only(features, document))
    return lambda features, document: function(*[part(features, document) for part in parts])


def _defaulting(evaluate: Evaluate, otherwise: Evaluate) -> Evaluate:
    def find(features: Mapping[str, Any], document: object) -> Any:  # noqa: ANN401
        try:
            return evaluate(features, document)
        except (NoValue, ArithmeticError):
            return otherwise(features, document)

    return find
