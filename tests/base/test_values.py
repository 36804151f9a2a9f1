"""Property values: one canonical form, and an InputError for everything else."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    LIST_ITEMS_MAX,
    PROPERTIES_BYTES_MAX,
    PROPERTY_NAME_CHARS_MAX,
    TEXT_BYTES_MAX,
)
from doxa.base.temporal import Date
from doxa.base.values import (
    canonical,
    check_properties,
    check_text,
    decode,
    decode_properties,
    encode_properties,
    float_text,
    same_value,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
PROPERTIES = st.dictionaries(
    TEXT.filter(bool), st.none() | SCALARS | st.lists(SCALARS, max_size=4), max_size=5
)


def test_canonical_form_is_sorted_dense_utf8() -> None:
    assert (
        canonical({"b": [1, True, None, 1.5], "a": "é\n"})
        == '{"a":"é\\n","b":[1,true,null,1.5]}'.encode()
    )


@given(PROPERTIES)
def test_what_passes_the_check_survives_its_canonical_form(values: dict[str, Any]) -> None:
    clean = check_properties(values, owner="x")
    assert clean == {name: value for name, value in values.items() if value is not None}
    data = encode_properties(clean, owner="x")
    assert same_value(decode(data), clean)
    assert json.loads(data) == clean
    assert canonical(decode(data)) == data


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        ("a", "a", True),
        ([1], [True], False),
        ({"a": 1}, {"a": 1}, True),
        (math.nan, float("nan"), True),
        ([math.nan], [-math.nan], True),
        (math.inf, -math.inf, False),
        (1, "1", False),
        ({"a": math.nan, "b": 1}, {"b": 1, "a": float("nan")}, True),
        (b"a", b"a", True),
        (b"a", "YQ==", False),
        (Date(3), Date(3), True),
        (Date(3), 3, False),
        (Date(3), Date(4), False),
    ],
)
def test_same_value_knows_types(one: object, other: object, same: bool) -> None:
    assert same_value(one, other) is same


@pytest.mark.parametrize("value", [b"bytes", math.nan, math.inf, -math.inf, [math.nan, 1], Date(3)])
def test_what_json_cannot_say_passes_and_survives(value: object) -> None:
    clean = check_properties({"p": value}, owner="Thing")
    assert same_value(decode_properties(encode_properties(clean, owner="Thing").decode()), clean)


def test_tuples_become_lists_and_nulls_go() -> None:
    assert check_properties({"a": ("x", 1), "b": None}, owner="x") == {"a": ["x", 1]}


@pytest.mark.parametrize(
    "value", [{"a": 1}, {1}, object(), 2**63, -(2**63) - 1, [["nested"]], [None], 1j]
)
def test_unusable_values_are_refused_by_name(value: object) -> None:
    with pytest.raises(InputError) as caught:
        check_properties({"p": value}, owner="Thing")
    assert caught.value.fields["field"] == "Thing.p"
    assert "Thing.p" in caught.value.message


@pytest.mark.parametrize("name", ["", "x" * (PROPERTY_NAME_CHARS_MAX + 1), 5, None])
def test_unusable_names_are_refused(name: Any) -> None:
    with pytest.raises(InputError, match="without a usable name"):
        check_properties({name: 1}, owner="Thing")


@pytest.mark.parametrize("values", [{"a": "x\ud800"}, {"x\ud800": "a"}, {"a": ["ok", "x\ud800"]}])
def test_lone_surrogates_are_refused_with_their_position(values: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        check_properties(values, owner="Thing")
    assert caught.value.fields["position"] == 1


@pytest.mark.parametrize("char", ["a", "é", "漢", "🍵"])
def test_the_text_limit_counts_bytes_and_is_exact(char: str) -> None:
    most = char * (TEXT_BYTES_MAX // len(char.encode()))
    assert check_text(most, field="f") is most
    with pytest.raises(LimitError) as caught:
        check_text(most + char, field="f")
    assert caught.value.fields["limit_bytes"] == TEXT_BYTES_MAX
    assert caught.value.fields["size_bytes"] == len((most + char).encode())


def test_list_and_property_limits() -> None:
    assert len(check_properties({"a": [1] * LIST_ITEMS_MAX}, owner="x")["a"]) == LIST_ITEMS_MAX  # type: ignore[arg-type]
    with pytest.raises(LimitError) as caught:
        check_properties({"a": [1] * (LIST_ITEMS_MAX + 1)}, owner="x")
    assert caught.value.fields["items"] == LIST_ITEMS_MAX + 1
    part = "x" * TEXT_BYTES_MAX
    with pytest.raises(LimitError) as caught:
        encode_properties({f"p{i}": part for i in range(4)}, owner="x")
    assert caught.value.fields["limit_bytes"] == PROPERTIES_BYTES_MAX


@given(st.floats())
def test_the_text_of_a_float_reads_as_the_same_float(value: float) -> None:
    text = float_text(value)
    assert float(text) == value or (math.isnan(value) and text == "NaN")
    assert not math.isinf(value) or text in ("Infinity", "-Infinity")


@given(PROPERTIES, PROPERTIES, st.floats() | st.just(math.nan))
def test_same_value_is_the_comparison_of_canonical_forms(
    one: dict[str, Any], other: dict[str, Any], number: float
) -> None:
    one, other = (check_properties(values, owner="x") for values in (one, other))
    copy = decode_properties(encode_properties(one | {"n": number}, owner="x").decode())
    pairs = [(one, other), (one | {"n": number}, copy), (one | {"n": number}, one | {"n": 1})]
    for first, second in pairs:
        forms = [encode_properties(values, owner="x") for values in (first, second)]
        assert same_value(first, second) is (forms[0] == forms[1])


def test_what_was_checked_before_is_not_checked_again() -> None:
    text = "é" * 10
    before = check_properties({"a": text, "b": 1}, owner="x")
    held = before["a"]
    after = check_properties({"a": held, "b": True, "c": None}, owner="x", before=before)
    assert after["a"] is held
    assert after == {"a": text, "b": True}
    with pytest.raises(InputError):
        check_properties({"a": object()}, owner="x", before=before)
