"""A change of the only quantity of a belief, in a sentence of another form."""

import pytest

from doxa.language.comparison.coverage import changed_quantity


@pytest.mark.parametrize(
    ("held", "new", "old", "value"),
    [
        ("I take 5 mg of ramipril.", "my ramipril is 10 mg now", "5 mg", "10 mg"),
        ("The night crew has nine people.", "night crew is down to 7 people", "nine", "7"),
        ("The shop opens at 9 am.", "opening changed, the shop opens at 10 am", "9 am", "10 am"),
        ("The beta banner is on in staging.", "turned the beta banner off in staging", "on", "off"),
        (
            "The archive is on the second floor.",
            "The archive moved to the fourth floor",
            "sec",
            "fo",
        ),
    ],
)
def test_a_changed_quantity_is_found(held: str, new: str, old: str, value: str) -> None:
    found = changed_quantity(new, held)
    assert found is not None
    assert found.old.startswith(old)
    assert found.new.startswith(value)


@pytest.mark.parametrize(
    ("held", "new"),
    [
        ("The app launches on May 1.", "the beta of the app launches May 15 now"),
        ("I take 5 mg of ramipril.", "Ana takes 10 mg of ramipril now"),
        ("I take 5 mg of ramipril.", "I take 10 mg of bisoprolol now"),
        ("I take 5 mg of ramipril.", "her ramipril is 10 mg now"),
        ("The shop opens at 9 am.", "the shop opens at 10 am"),  # reports no change
        ("The shop opens at 9 am.", "the shop opens at 10 am on Sundays now"),
        ("The crew has nine people.", "the crew now has nine people"),
        ("The crew has nine people.", "the crew now has 9 people"),
        ("The crew has nine people.", "the crew was down to 7 people"),
        ("The crew has nine people.", "the crew now has 7 vans"),
        ("The crew has nine people.", "the crew does not have 7 people now"),
        ("The crew has nine people.", "the crew also has 7 people now"),
        ("Der Laden hat 9 Leute.", "Der Laden hat jetzt 7 Leute"),
    ],
)
def test_another_subject_scope_or_unit_is_not(held: str, new: str) -> None:
    assert changed_quantity(new, held) is None
