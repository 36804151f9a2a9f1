"""Spans and metrics for OpenTelemetry: the extra `otel`, off unless the setting `telemetry.otel` is
on. Where they go is said by OpenTelemetry's own variables (OTEL_EXPORTER_OTLP_ENDPOINT, ...).

A span has the interface, the verb, the role, the outcome, the error code and the numbers of the
changes: no text, address or login. The names of the GenAI conventions, which may still change, are
added only if OTEL_SEMCONV_STABILITY_OPT_IN has `gen_ai_latest_experimental`.

Sources: OpenTelemetry specification 1.x; semantic conventions of generative AI (development).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opentelemetry import trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
)

from doxa.servers.telemetry.calls import CallRecord

SCOPE = "doxa"
_GENAI = "gen_ai_latest_experimental"
_OPERATIONS = {  # of a verb in the GenAI conventions
    "recall": "search_memory",
    "memory_recall": "search_memory",
    "remember": "create_memory",
    "memory_remember": "create_memory",
    "tell": "upsert_memory",
    "revise": "update_memory",
    "supersede": "update_memory",
    "forget": "delete_memory",
    "erase": "delete_memory",
}


class OtelSpan:
    """The span of one call."""

    def __init__(self, span: trace.Span, seconds: Any, genai: bool) -> None:
        self._span, self._seconds, self._genai = span, seconds, genai

    @property
    def trace_id(self) -> str:
        return trace.format_trace_id(self._span.get_span_context().trace_id)

    def current(self) -> Any:
        return trace.use_span(self._span, end_on_exit=False, record_exception=False)

    def end(self, record: CallRecord) -> None:
        said: dict[str, Any] = {
            "doxa.interface": record.interface,
            "doxa.verb": record.verb,
            "doxa.outcome": record.outcome,
            "doxa.role": record.role,
            "doxa.changes": tuple(record.changes),
        }
        if record.code:
            said["error.type"] = record.code
        operation = _OPERATIONS.get(record.verb)
        if self._genai and operation:
            said["gen_ai.operation.name"] = operation
        self._span.set_attributes(said)
        if record.outcome == "failed":  # a refusal is the client's error, not the server's
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()
        self._seconds.record(
            record.milliseconds / 1000,
            {name: said[name] for name in ("doxa.interface", "doxa.verb", "doxa.outcome")},
        )


class OtelSpans:
    """Makes the spans of calls with the providers that are given."""

    def __init__(
        self,
        tracers: trace.TracerProvider,
        meters: MeterProvider,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        said = os.environ if environ is None else environ
        self._genai = _GENAI in said.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",")
        self._tracer = tracers.get_tracer(SCOPE)
        self._seconds = meters.get_meter(SCOPE).create_histogram(
            "doxa.request.duration", unit="s", description="how long requests took"
        )

    def begin(self, record: CallRecord) -> OtelSpan:
        span = self._tracer.start_span(
            f"doxa {record.verb}", context=_parent(record), kind=SpanKind.SERVER
        )
        return OtelSpan(span, self._seconds, self._genai)


def _parent(record: CallRecord) -> Any:
    """The client's span, by its trace context."""
    parent = record.parent
    if parent is None:
        return None
    context = SpanContext(
        int(parent.trace_id, 16),
        int(parent.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if parent.sampled else 0),
        trace_state=TraceState.from_header([record.state]) if record.state else TraceState(),
    )
    return trace.set_span_in_context(NonRecordingSpan(context))
