"""Of HTML the text is read, in time that is linear in its length whatever it is."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.texts import text_of_html


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("no tags at all", "no tags at all"),
        ("1 < 2 &lt; 3 &#8364;", "1 < 2 < 3 €"),
        ("<STYLE>p {}</Style><td>a</td><td>b</td>", "a b"),
        ("a<!-- <b> -->b<!DOCTYPE html>", "a b"),
        ("a<script>never", "a"),
        ("a<b", "a"),
        ("<a href='x'>up</a>date", "update"),
    ],
)
def test_tags_comments_and_scripts_are_no_text(html, text):
    assert text_of_html(html) == text


@given(st.text("<>!-/ ab&;"))
def test_any_text_is_read(html):
    assert "  " not in text_of_html(html)


@pytest.mark.parametrize("piece", ["<", "<a", "<!--", "<script>", "</script", "&", "<b>"])
def test_the_time_is_linear(piece):
    began = process_time()
    text_of_html(piece * (400_000 // len(piece)))
    assert process_time() - began < 5
