"""The log as a stream of events, with filters and durable named cursors. Nothing is written for an
event: it is derived from a log entry when it is read."""

from doxa.events.event import NAMES, Event
from doxa.events.filters import EventFilter
from doxa.events.stream import AsyncEventStream, EventStream

__all__ = ["NAMES", "AsyncEventStream", "Event", "EventFilter", "EventStream"]
