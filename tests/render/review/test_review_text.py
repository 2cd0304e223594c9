"""Reviews in Markdown and HTML: their size, and texts that cannot break out. A GitHub-flavoured renderer reads them."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import pytest
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from render.review.documents import attribute, cause, change, document, document_of_text

from planner.render.alike import numbered
from planner.render.review.markdown import markdown
from planner.render.review.page import page

HOSTILE = [
    *("`", "``", "```", "|", "\\", "\\|", "*", "_", "~~", "<", ">", "&", '"', "'", "$", "#1", "!2", "[", "]", "(", ")"),
    *("\n", "\n\n", "\r", "\t", "\x00", "\x1b[31m", "\u202e", "\u2028", "\u200d", "\ud800", "é", " "),
    *("</details>", "</code>", "</summary>", "</pre>", "</td>", "<details>", "<script>", "<!--", "-->", "<b>", "<a "),
    *("@team", "@org/team", "a@b.co", "&#64;team", "&lt;b&gt;", "mailto:a@b.co", "GH-12"),
    *("https://evil.test", "www.evil.test", "<https://evil.test>", "[x](javascript:alert(1))", "](https://evil.test)"),
    *(
        "![i](https://evil.test/x.png)",
        "\n# h",
        "\n- x",
        "\n    x",
        "\n---\n",
        "\n| a | b |\n",
        "[x]: https://evil.test",
    ),
    *("javascript:alert(1)", "${x}", "x"),
]
TEXTS = st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=6).map("".join)
TAGS = frozenset(
    ("h3", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "br", "details", "summary", "pre", "sub")
)
MENTION = re.compile(r"[@#!%$~]\w|\w@\w|https?://|www\.")


class Seen(HTMLParser):
    """The tags, and the texts outside of code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "style", "title"} & set(self.open):
            self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def rendered(text: str) -> Seen:
    return Seen(github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))


@cache
def plain() -> Seen:
    return rendered(markdown(document_of_text("x")))


@given(TEXTS)
def test_no_text_breaks_out_of_markdown(text: str) -> None:
    shown = rendered(markdown(document_of_text(text)))
    assert not shown.open
    assert shown.tags.keys() <= TAGS
    assert shown.attributes == []
    for tag in ("details", "summary", "table", "tr", "td", "h3"):
        assert shown.tags[tag] == plain().tags[tag], tag
    assert [text for text in shown.texts if MENTION.search(text)] == []


@given(TEXTS)
def test_no_text_breaks_out_of_the_page(text: str) -> None:
    shown, known = Seen(page(document_of_text(text))), Seen(page(document_of_text("x")))
    assert shown.open == known.open == []
    assert shown.tags.keys() == known.tags.keys()
    assert Counter(name for name, _ in shown.attributes) == Counter(name for name, _ in known.attributes)


def test_links_are_ours() -> None:
    one = document_of_text("x") | {"page": "https://ci.test/a b)<x>"}
    one["causes"][0]["link"] = "https://host.test/x.tf#L2"
    links = [value for name, value in rendered(markdown(one)).attributes if name == "href"]
    assert links == ["https://host.test/x.tf#L2", "https://ci.test/a%20b%29%3Cx%3E"]


@pytest.mark.parametrize("number", [0, 1, 30, 3_000, 20_000])
def test_comments_fit(number: int) -> None:
    changes = [
        change(f'aws_instance.n{at}["{"k" * 40}"]', "replace", attributes=[attribute("a", '"x"' * 200, f'"{at}"')])
        for at in range(number)
    ]
    causes = [cause(f"var.v{at}", [one], at + 1) for at, one in enumerate(changes)]
    decisions = [{"kind": "replaces", "text": "replaced", "objects": [one["address"] for one in changes]}]
    text = markdown(document(changes=changes, causes=causes, decisions=decisions if changes else []))
    assert len(text) <= 65_536
    shown = len(re.findall("<details>", text)), len(re.findall(r"\| \[\d+\] ", text))
    hidden = [int(n.replace(",", "")) for n in re.findall(r"\*\*([\d,]+) more (?:causes|changes)\*\*", text)]
    assert sum(shown) + sum(hidden) == 2 * number
    assert (f"{number:,} replaced" in text) == bool(number)


def test_a_million_characters_are_cut_around_the_difference() -> None:
    from planner.render.review.attributes import shortened

    before, after = shortened("x" * 1_000_000 + "1" + "y" * 1_000_000, "x" * 1_000_000 + "2" + "y" * 1_000_000)
    assert (before[:10], after[:10], len(before)) == ("...xxxxxxx", "...xxxxxxx", 1_006)
    assert "x1y" in before
    assert "x2y" in after


def test_alike_changes_share_a_fold() -> None:
    changes = [change(f'a.b["{key}"]', attributes=[attribute("port", key, f"{key}1")]) for key in ("a", "b", "c", "d")]
    text = markdown(document(changes=[*changes, change("a.b"), change("a.c", "create")]))
    assert text.count("<details>") == 3
    assert "(4) updated" in text
    assert "| `port` | `a`, `b`, `c` and 1 more | `a1`, `b1`, `c1` and 1 more |" in text


def test_elements_that_a_list_gained_or_lost() -> None:
    row = cause("var.zones", [change("a.b")], before='"a"', after='"d", "e"', elements=True)
    assert '`var.zones`: added `"d", "e"`, removed `"a"`' in markdown(document(causes=[row]))
    assert "elements removed and added" in page(document(causes=[row]))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["live/u02", "live/u03", "live/u04", "live/u09"], ["live/u02..u04", "live/u09"]),
        (["u1: a.b", "u2: a.b", "u3: a.b", "u2: a.c"], ["u1..u3: a.b", "u2: a.c"]),
        (["a.b", "a.b[1]"], ["a.b", "a.b[1]"]),
    ],
)
def test_numbered_names_are_ranges(names: list[str], expected: list[str]) -> None:
    assert [one.text for one in numbered(names)] == expected


def test_the_colour_of_a_cause_is_its_worst_effect_policies_included() -> None:
    one = document(
        causes=[cause("var.a", [change("a.b")])],
        policies={"judged": ["Policies checked: c."], "findings": [finding("deny"), finding("undecided", "a.c")]},
    )
    text = markdown(one)
    assert "| \N{LARGE RED CIRCLE} | [1] `var.a`" in text and "Policies checked: c." in text
    assert "`c` (`p.dl:3`) `a.b`: m" in text and "`a.c`: denied if this turns out to be true: m" in text


def finding(kind: str, address: str = "a.b") -> dict[str, object]:
    known = {"code": "c", "message": "m", "reason": "", "rule": {"file": "p.dl", "line": 3}}
    return {"kind": kind, "address": address, **known, **({"would": "deny"} if kind == "undecided" else {})}


def test_moves_and_imports_have_a_line_each() -> None:
    changes = [change("a.n", "no-op", previous_address="a.o", attributes=[]), change("a.i", "no-op", imported=True)]
    text = markdown(document(changes=changes))
    assert "imported: `a.i`  \nmoved: `a.o` → `a.n`  " in text and "No attribute changes." in text


def test_hops_that_repeat_the_changes_are_left_out() -> None:
    row = cause("var.a", [change('a.b["x"]'), change('a.b["y"]')])
    shown = [
        markdown(document(causes=[{**row, "hops": [hop]}])) for hop in ('-> a.b["x", "y"] added (m)', "-> local.z")
    ]
    assert ["How the causes reach" in text for text in shown] == [False, True]
