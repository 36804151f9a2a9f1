"""Starting the export of spans and metrics, for a server, where the setting asks for it."""

from __future__ import annotations

from collections.abc import Callable

from doxa.base.errors import InputError
from doxa.servers.telemetry.calls import TELEMETRY


def begin_export(version: str, name: str, said: str) -> Callable[[], None]:
    """Export spans and metrics if the setting `name` says `on`; return what ends that, and sends
    what waits. Raises InputError if it says something else, or the extra is not installed."""
    if said in ("", "off"):
        return lambda: None
    if said != "on":
        raise InputError(
            f"{name} is on or off; this is {said[:40]!r}.",
            next_step="Set it to one of them, or not at all.",
            field=name,
        )
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        from doxa.servers.telemetry.otel import OtelSpans
    except ImportError:
        raise InputError(
            "Traces need the extra otel.",
            next_step="Install it where doxa is: pip install 'doxa-memory[otel]'",
            extra="otel",
        ) from None
    resource = Resource.create({"service.name": "doxa", "service.version": version})
    tracers = TracerProvider(resource=resource)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    meters = MeterProvider(resource=resource, metric_readers=[reader])
    TELEMETRY.spans = OtelSpans(tracers, meters)

    def end() -> None:
        TELEMETRY.spans = None
        tracers.shutdown()
        meters.shutdown()

    return end
