"""The simulated engine without faults keeps the contract that the real ones keep."""

from __future__ import annotations

import pytest

from doxa.replication.protocol import SharedLog
from tests.replication.conftest import OpenLog
from tests.replication.simulated import Scheduler, SimulatedEngine, SimulatedLog
from tests.replication.test_contract import (  # noqa: F401
    test_a_closed_log_says_so,
    test_a_hold_is_given_back_from_another_thread_and_leaves_nothing,
    test_a_lease_has_one_holder,
    test_a_new_tenant_is_empty,
    test_a_snapshot_is_of_a_transaction_of_the_log,
    test_an_append_that_does_not_continue_the_head_is_refused,
    test_erased_payloads_are_gone_and_the_chain_holds,
    test_names_that_are_none_are_refused,
    test_one_writer_holds_a_tenant_at_a_time,
    test_several_transactions_are_appended_as_one,
    test_tenants_never_meet,
    test_what_is_appended_is_read_by_others_byte_for_byte,
)


@pytest.fixture
def open_log() -> OpenLog:
    engine = SimulatedEngine(Scheduler(0))

    def again() -> SharedLog:
        return SimulatedLog(engine)

    return again
