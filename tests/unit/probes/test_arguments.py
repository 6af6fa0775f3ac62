"""Arguments in queries, patterns and paths are matched literally or rejected."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from uuid import UUID

import boto3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymongo import MongoClient
from redis import Redis
from sqlalchemy import bindparam, column, create_engine, select, table, text

from deltaspan import unchanged, window
from deltaspan._templates import fields_of, fill
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import files, git, http, mongodb, prometheus, redis, s3, sql
from deltaspan.probes._base.patterns import is_literal_place, is_literal_place_in_glob
from deltaspan.probes._mongodb._values import fill_filter
from deltaspan.probes._prometheus._promql import fill_query, query_fields

HOSTILE = [
    ".*",
    "a|b",
    "[a-z]",
    "a{2}",
    "^a$",
    "(?i)A",
    r"\d",
    r"\E.*",
    "a\nb",
    'a"b',
    "a'b",
    "$t",
    "-",
    "%",
    "*",
]


def re2(text):
    """Return what PromQL reads between quotes: the regular expression."""
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


# PromQL ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("operator", ["=~", "!~", "=~ "])
def test_a_regular_expression_of_promql_matches_only_the_argument(operator, value):
    query = fill_query(f'sum(jobs{{tenant{operator}"$tenant"}})', {"tenant": value})
    pattern = re2(re.search(r'"(.*)"', query, re.DOTALL)[1])

    assert re.fullmatch(pattern, value)
    assert not any(re.fullmatch(pattern, other) for other in [*HOSTILE, "acme", "A"] if other != value)


def test_a_text_of_promql_is_compared_literally():
    assert fill_query('x{a="$t",b!="$t"}', {"t": ".*"}) == 'x{a=".*",b!=".*"}'


def test_an_argument_that_is_repeated_in_a_regular_expression_is_repeated_whole():
    assert fill_query('x{a=~"$t+"}', {"t": "ab"}) == 'x{a=~"(?:ab)+"}'


@pytest.mark.parametrize(
    "query",
    [
        'x{a=~"[$t]"}',
        'x{a=~"[^$t]*"}',
        r'x{a=~"\\$t"}',
        'x{a=~"b{$t}"}',
        'x{a=~"b{1,$t}"}',
        'x{a=~"(?$t)b"}',
        'x{a=~"(?P<$t>b)"}',
        r'x{a=~"\\Q$t\\E"}',
        r'x{a=~"\\p{$t}"}',
        'x{"$t"="b"}',
        '{"$t"}',
        'label_replace(x, "$t", "$$1", "b", "(.*)")',
        'label_replace(x, "a", "$$1", "b", "$t")',
        'count_values("$t", x)',
        "x{a=~`$t`}",
        "sum by ($t) (x)",
        "x[$t]",
        "$t",
    ],
)
def test_a_place_of_promql_that_cannot_quote_an_argument_is_rejected(query):
    with pytest.raises(DefinitionValueError):
        prometheus.value("http://localhost:9090", query)


@pytest.mark.parametrize("query", [r'x{a=~"[a-z]+\\.$t"}', 'x{a=~"(?:b|$t)"}', 'x{a=~"(?P<n>$t)"}'])
def test_other_places_of_a_regular_expression_take_one(query):
    assert query_fields(query) == ("t",)


@pytest.mark.parametrize(
    ("before", "is_literal"),
    [
        ("", True),
        ("a[b]", True),
        ("[[:alpha:]]", True),
        (r"\[", True),
        ("[", False),
        (r"\\\ ".strip(), False),
    ],
)
def test_a_literal_place_depends_on_the_text_before_it(before, is_literal):
    assert is_literal_place(before) is is_literal


# Redis, MongoDB, S3 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["cart:[{t}]", r"cart:\{t}", "cart:{t}*", "*{t}", "[^{t}]:*"])
def test_a_place_of_a_pattern_of_redis_that_cannot_quote_an_argument_is_rejected(pattern):
    for read in (redis.count, redis.keys, redis.values):
        with pytest.raises(DefinitionValueError, match=r"\{t\}"):
            read(Redis(), pattern)


def test_other_places_of_a_pattern_of_redis_take_one():
    assert "cart:{t}:*" in repr(redis.count(Redis(), "cart:{t}:*"))
    assert is_literal_place_in_glob("cart:[ab]")


@pytest.mark.parametrize(
    "given",
    [
        {"a": {"$regex": "[{t}]"}},
        {"a": {"$regex": r"\{t}"}},
        {"a": {"$regex": "b", "$options": "{t}"}},
        {"$where": "this.a == '{t}'"},
        {"$expr": {"$eq": ["$a", "{t}"]}},
        {"$text": {"$search": "{t}"}},
        {"a": {"$type": "{t}"}},
        {"{t}": 1},
        {"a": re.compile("{t}")},
    ],
)
def test_a_place_of_a_filter_of_mongodb_that_cannot_quote_an_argument_is_rejected(given):
    with pytest.raises(DefinitionValueError):
        mongodb.count(MongoClient(connect=False)["shop"]["orders"], given)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_regular_expression_of_mongodb_matches_only_the_argument(value):
    pattern = fill_filter({"a": {"$regex": "^{t}$"}}, {"t": value})["a"]["$regex"]

    assert re.fullmatch(pattern, value)
    assert not any(re.fullmatch(pattern, other) for other in HOSTILE if other != value)


@pytest.mark.parametrize("value", [{"$gt": ""}, {"$ne": None}, {}, ["acme"], re.compile(".*")])
@pytest.mark.parametrize("given", [{"a": "{t}"}, {"a": {"$in": ["{t}"]}}, {"a": {"$not": {"$eq": "{t}"}}}])
def test_an_argument_never_brings_an_operator_into_a_filter(given, value):
    with pytest.raises(TypeError, match="takes a plain value to compare with"):
        fill_filter(given, {"t": value})


@pytest.mark.parametrize("prefix", ["{tenant}", "reports/{tenant}", "{a}/{b}"])
def test_a_prefix_that_ends_with_an_argument_is_rejected(prefix):
    client = boto3.client("s3", region_name="eu-central-1")
    for read in (s3.count, s3.objects):
        with pytest.raises(DefinitionValueError, match="would also select 'acme2'"):
            read(client, "bucket", prefix)


def test_a_causal_tag_may_end_a_prefix_as_none_begins_another():
    client = boto3.client("s3", region_name="eu-central-1")

    assert "{causal_tag}" in repr(s3.count(client, "bucket", "{tenant}/{causal_tag}"))
    assert "{causal_tag}" in repr(redis.count(Redis(), "*{causal_tag}*"))
    assert "{causal_tag}" in repr(files.count(".", glob="*{causal_tag}*"))


def test_a_key_may_end_with_an_argument():
    client = boto3.client("s3", region_name="eu-central-1")

    assert "{tenant}" in repr(s3.head(client, "bucket", "reports/{tenant}"))


# Paths ----------------------------------------------------------------------------------------------------


@pytest.fixture
def lake(tmp_path):
    (tmp_path / "lake" / "acme").mkdir(parents=True)
    (tmp_path / "lake" / "acme" / "a.csv").touch()
    (tmp_path / "lake" / "*").mkdir()
    (tmp_path / "other").mkdir()
    return tmp_path / "lake"


@pytest.mark.parametrize("tenant", ["..", "../other", "acme/../../other", "/etc", ".", "", "acme/..", "a\0b"])
def test_an_argument_does_not_lead_out_of_the_folder_that_is_written(lake, tenant):
    for read in (files.count, files.tree, files.text):
        with pytest.raises(ProbeError):
            read(f"{lake}/{{tenant}}")(tenant=tenant)


def test_an_argument_that_is_part_of_a_name_does_not_lead_out_either(lake):
    with pytest.raises(ProbeError, match="would lead the path to another place"):
        files.count(f"{lake}/a-{{tenant}}")(tenant="x/../../other")


@pytest.mark.parametrize(("tenant", "found"), [("acme", 1), (Path("acme"), 1), ("*", 0)])
def test_an_argument_is_the_name_that_it_is(lake, tenant, found):
    assert files.count(f"{lake}/{{tenant}}")(tenant=tenant) == found


def test_an_argument_that_begins_the_path_may_be_any_path(lake):
    assert files.count("{root}/acme")(root=str(lake)) == 1


@pytest.mark.parametrize(("tenant", "found"), [("acme", 1), ("*", 0), ("a?me", 0), ("[a]cme", 0), ("**", 0)])
def test_an_argument_in_a_pattern_of_paths_is_matched_literally(lake, tenant, found):
    assert files.count(lake, glob="{tenant}/*.csv")(tenant=tenant) == found
    assert files.count(lake, ignore="{tenant}")(tenant=tenant) == 1 - found


@pytest.mark.parametrize("tenant", ["..", "../other", "/etc", "", "acme/../.."])
def test_an_argument_in_a_pattern_of_paths_does_not_lead_out_of_the_folder(lake, tenant):
    with pytest.raises(ProbeError, match=r"a larger place|to another place"):
        files.tree(lake, glob="{tenant}/*")(tenant=tenant)


@pytest.mark.parametrize("pattern", ["[{tenant}]", "{tenant}*", "*{tenant}", "**{tenant}"])
def test_a_place_of_a_pattern_of_paths_where_an_argument_would_match_more_is_rejected(lake, pattern):
    with pytest.raises(DefinitionValueError, match="in brackets or next to"):
        files.tree(lake, glob=pattern)


def test_an_argument_of_a_pattern_scopes_the_check(lake):
    with window(
        "act", unchanged("x", files.count(lake, glob="{tenant}/*.csv")), args={"tenant": "acme"}
    ) as w:
        pass

    assert (w.report["x"].outcome, w.report["x"].attribution) == ("pass", "scoped")


def test_a_name_with_a_brace_can_be_written_in_a_pattern(tmp_path):
    (tmp_path / "{tenant}").touch()

    assert files.count(tmp_path, glob="{{tenant}}")() == 1


@pytest.mark.parametrize(
    "ref",
    [
        "main..main",
        "--all",
        "^main",
        "main~1",
        "main^{/x}",
        "@{-1}",
        ":/fix",
        "a b",
        "HEAD:src",
        "*",
        "@",
        "",
    ],
)
def test_an_argument_is_a_name_in_git_and_never_a_range_or_an_option(tmp_path, ref):
    for read in (git.commits, git.history, git.log, git.files):
        with pytest.raises(ProbeError, match=r"is not the name of a branch|is empty"):
            read(tmp_path, "{ref}")(ref=ref)


@pytest.mark.parametrize("folder", ["../secret", "/src", "..", "."])
def test_a_folder_of_a_commit_does_not_lead_elsewhere(tmp_path, folder):
    with pytest.raises(ProbeError, match="would lead the path to another place"):
        git.files(tmp_path, "HEAD:src/{folder}")(folder=folder)


# SQL ------------------------------------------------------------------------------------------------------


@pytest.fixture
def engine(tmp_path):
    made = create_engine(f"sqlite:///{tmp_path / 'a.sqlite'}")
    with made.begin() as connection:
        connection.execute(text("CREATE TABLE flows (id INTEGER PRIMARY KEY, tenant TEXT)"))
        connection.execute(text("INSERT INTO flows (tenant) VALUES ('acme'), ('globex'), ('%')"))
    yield made
    made.dispose()


@pytest.mark.parametrize(
    "where",
    [
        "tenant LIKE :t",
        "tenant NOT LIKE '%' || :t || '%' ESCAPE '!'",
        "tenant ilike concat(:t, '%')",
        "tenant SIMILAR TO :t",
        "tenant ~ :t",
        "tenant !~* :t",
        "tenant GLOB :t || '*'",
        "tenant REGEXP :t",
        "regexp_like(tenant, :t)",
        "flows MATCH :t",
        "doc @@ to_tsquery(:t)",
        "jsonb_path_exists(doc, :t)",
        "json_extract(doc, :t) = 1",
        "MATCH (tenant) AGAINST (:t IN BOOLEAN MODE)",
        "x = 1 AND (a = 2 OR (tenant LIKE lower(:t)))",
        "tenant LIKE '%{t}%'",
        "tenant LIKE '%:t%'",
        "tenant GLOB '*{t}*'",
    ],
)
def test_an_argument_is_never_a_pattern_of_sql(engine, where):
    with pytest.raises(DefinitionValueError, match=r"would be a pattern|is literal text"):
        sql.rows(engine, "flows", where=where)


@pytest.mark.parametrize(
    "where",
    [
        "tenant LIKE 'a%' AND id = :t",
        "id = :t AND tenant LIKE 'a%' OR tenant GLOB 'b*' AND id < :t",
        "(tenant LIKE 'a%') AND id = :t",
        "tenant = 'LIKE ' || :t",
        "substr(tenant, 1, length(:t)) = :t",
        "json_extract('{}', '$.a') = :t",
    ],
)
def test_an_argument_beside_a_pattern_is_compared(engine, where):
    sql.rows(engine, "flows", where=where)(t="1")


def test_a_pattern_of_the_author_is_one(engine):
    assert sql.rows(engine, "flows", where="tenant LIKE :p", params={"p": "%"})() == 3


def test_a_select_takes_no_argument_for_a_pattern(engine):
    tenant = column("tenant")
    asked = select(tenant).select_from(table("flows"))

    with pytest.raises(DefinitionValueError, match="would be a pattern behind LIKE"):
        sql.query(engine, asked.where(tenant.like(bindparam("t"))))
    assert len(sql.query(engine, asked.where(tenant.like("%")))()) == 3
    assert len(sql.query(engine, asked.where(tenant == bindparam("t")))(t="%")) == 1


@pytest.mark.parametrize("value", [*HOSTILE, "' OR '1'='1", "acme'; DROP TABLE flows; --", ":t", "{t}"])
def test_an_argument_of_sql_is_a_value(engine, value):
    found = 1 if value == "%" else 0

    assert sql.rows(engine, "flows", where="tenant = :t")(t=value) == found
    assert sql.rows(engine, "flows")() == 3


def test_a_rejected_value_makes_the_check_inconclusive(lake):
    with window("act", unchanged("x", files.tree(f"{lake}/{{tenant}}")), args={"tenant": "../other"}) as w:
        pass

    assert (w.report["x"].outcome, w.report["x"].reason) == ("inconclusive", "baseline_failed")


# Templates --------------------------------------------------------------------------------------------------


def test_the_names_of_all_texts_are_returned_once_and_in_order():
    assert fields_of("{root}/{tenant}", "{tenant}-{day}", "plain") == ("root", "tenant", "day")


def test_fields_are_filled_with_text_numbers_identifiers_and_paths():
    values = {"a": "x", "b": 3, "c": UUID(int=1), "d": Path("/srv")}

    assert fill("{a}/{b}/{c}{d}", values) == f"x/3/{UUID(int=1)}/srv"


def test_a_brace_is_written_twice():
    assert (fields_of("HEAD@{{1}}"), fill("HEAD@{{1}}", {})) == ((), "HEAD@{1}")


def test_a_path_is_meant_as_it_is_written():
    assert (fields_of(Path("{a}")), fill(Path("{a}"), {})) == ((), "{a}")


def test_a_value_is_not_read_for_fields_again():
    assert fill("{a}", {"a": "{b}", "b": "secret"}) == "{b}"


@pytest.mark.parametrize("value", ["", type("Empty", (str,), {})()])
def test_an_empty_value_is_rejected_as_it_would_name_a_larger_place(value):
    with pytest.raises(ValueError, match=r"the field \{tenant\} is empty"):
        fill("lake/{tenant}", {"tenant": value})


@given(st.text(min_size=1))
def test_a_value_replaces_its_field_literally(value):
    assert fill("<{a}>", {"a": value}) == f"<{value}>"


@pytest.mark.parametrize("text", ["{}", "{0}", "{a.b}", "{a[0]}", "{a!r}", "{a:>9}", "{a", "a}", "{a b}"])
def test_a_field_that_is_not_a_plain_name_is_rejected(text):
    with pytest.raises(DefinitionValueError, match="to write a brace, double it"):
        fields_of(text)


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["a"]])
def test_a_template_that_is_not_a_string_or_path_is_rejected(text):
    with pytest.raises(DefinitionTypeError, match="a template is a str or a path"):
        fields_of(text)


@pytest.mark.parametrize("value", [None, True, 1.5, b"x", ["a"], object()])
def test_a_value_that_has_no_plain_text_is_rejected(value):
    with pytest.raises(TypeError, match=r"the field \{a\} takes text, a number or a path, not a "):
        fill("{a}", {"a": value})


class Tenant(str, Enum):  # its str() is another text, that of a StrEnum is not
    ACME = "acme"


class Level(int, Enum):
    HIGH = 3


@pytest.mark.parametrize(
    ("value", "own", "text"), [(Tenant.ACME, "acme", "Tenant.ACME"), (Level.HIGH, 3, "Level.HIGH")]
)
def test_a_member_of_an_enum_that_is_two_texts_is_rejected(value, own, text):
    with pytest.raises(TypeError, match=rf"may be written as '{own}' or as '{text}'; pass its value"):
        fill("cart:{a}", {"a": value})


@pytest.mark.parametrize(
    "make",
    [
        lambda: files.text("{class}/notes"),
        lambda: http.json("https://host/{class}"),
        lambda: prometheus.value("http://host", 'up{job="$class"}'),
    ],
)
def test_a_field_that_cannot_name_an_argument_is_rejected(make):
    with pytest.raises(DefinitionValueError, match="'class' cannot be the name of an argument"):
        make()
