"""Extract the metric names of a PromQL expression, with the labels matched on each."""

import re

_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\{([^}]*)\}")
_NAME = re.compile(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()")
_KEYWORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "bool"}


def metric_names(expression):
    """Name every metric; whatever is neither function, keyword nor label is one."""
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]', "", expression)
    bare = _GROUPING.sub("", re.sub(r"\{[^}]*\}", "", bare))
    return set(_NAME.findall(bare)) - _KEYWORDS


def matched_labels(expression):
    """Yield (metric, label) for each label that a selector matches."""
    for metric, matchers in _SELECTOR.findall(expression):
        for label in re.findall(r"(\w+)\s*[=!]", re.sub(r'"[^"]*"', "", matchers)):
            yield metric, label
