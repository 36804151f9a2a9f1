"""Which model fills which role: arguments and settings become specs, and specs become models
when they are first needed.

Opening a memory loads nothing and asks nobody; a wrong spec, URL or cap is an error at once all the
same. A model that cannot be had is None, and its error says why; where an endpoint was out of
reach, it is tried again after a while. Keys are read from the environment when an endpoint is first
needed, and go nowhere but into its requests.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from doxa.base.errors import DoxaError, InputError, LimitError, ModelError
from doxa.base.limits import MODEL_OUTAGE_MS
from doxa.models.cache import CachedEmbedder
from doxa.models.meter import Meter, Price, Spend, used_for
from doxa.models.minilm import NAME as MINILM
from doxa.models.spec import ENDPOINTS, ModelRole, Spec, parse_spec
from doxa.models.spending import SpendLedger
from doxa.settings import Configuration, configuration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from doxa.maintenance.doctor import HealthCheck
    from doxa.models.address import Address, Secret
    from doxa.models.contract import Completer, Embedder, Reranker
    from doxa.models.http import HttpEndpoint

_Model = TypeVar("_Model")

# What every opened memory of this process spends together; DOXA_MODEL_TOKENS_MAX and
# DOXA_MODEL_CALLS_MAX are its caps.
PROCESS = Meter()

_OFF = "Meaning search is off"
_VERBS: Mapping[ModelRole, str] = {"embedder": "embed", "model": "complete", "reranker": "score"}


class ModelOptions(msgspec.Struct, frozen=True):
    """The arguments of `doxa.open` that are about models, as they were given."""

    embedder: Embedder | str | None = "auto"
    model: Completer | str | None = "auto"
    reranker: Reranker | str | None = "auto"
    urls: Mapping[str, str] | None = None
    prices: Mapping[str, Sequence[float]] | None = None
    calls_max: int | None = None
    tokens_max: int | None = None
    folder: Path | None = None


def default_model_folder() -> Path:
    """Return the setting `models.folder` (DOXA_MODELS), else doxa in the user's cache folder
    (XDG_CACHE_HOME, or ~/.cache): where the local model is searched for when its package is not
    installed."""
    named = configuration().text("models.folder")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "doxa"


def load_model_ahead() -> None:
    """Begin to load the local embedding model, where the settings name no other: the memory that is
    opened next takes it. Settings that are wrong are reported then."""
    from doxa.models.minilm import load_ahead

    with suppress(InputError):
        if configuration().text("models.embedder") in (None, "", "auto", "minilm"):
            load_ahead(default_model_folder())


class Models:
    """The models of one opened memory, each made at first need, and what they spent. Safe to share
    between threads."""

    def __init__(self, options: ModelOptions) -> None:
        """Raises InputError for a spec, URL, price or cap that cannot be used."""
        said = configuration()
        self._folder = options.folder
        self.specs: dict[ModelRole, Spec | None] = {}
        given: dict[ModelRole, Any] = {}
        for role, value in (
            ("embedder", options.embedder),
            ("model", options.model),
            ("reranker", options.reranker),
        ):
            self.specs[role], given[role] = _configured(value, role, said)  # type: ignore[arg-type, index]  # the tuple's words are the roles
        if (
            _is(self.specs["reranker"], "model")
            and given["model"] is None
            and self.specs["model"] is None
        ):
            raise InputError(
                "The reranker is the model, and no model is configured.",
                next_step="Name one: model or DOXA_MODEL.",
                field="reranker",
            )
        self._urls = _addresses(options.urls or {}, said)
        prices = _prices(options.prices or {})
        reload_caps(said)
        PROCESS.add_prices(prices)
        self._meter = Meter(
            calls_max=options.calls_max,
            tokens_max=options.tokens_max,
            prices=prices,
            parent=PROCESS,
        )
        self._endpoints: dict[str, HttpEndpoint] = {}
        self._lock = threading.Lock()
        self._embedder: _Lazy[CachedEmbedder] = _Lazy(
            self._build_embedder, _cached(given["embedder"])
        )
        self._is_local = self._embedder.made is None and getattr(
            self.specs["embedder"], "provider", ""
        ) in ("auto", "minilm")
        self._former: _Lazy[CachedEmbedder] = _Lazy(self._build_local, None)
        self._own: Completer | None = given["model"]
        self._model: _Lazy[Completer] = _Lazy(self._build_model, given["model"])
        self._reranker: _Lazy[Reranker] = _Lazy(self._build_reranker, given["reranker"])

    @property
    def embeds(self) -> bool:
        """Whether there is to be an embedder, whether or not it can be had."""
        return self.specs["embedder"] is not None or self._embedder.made is not None

    @property
    def embedder(self) -> CachedEmbedder | None:
        return self._embedder.get()

    @property
    def embedder_error(self) -> ModelError | None:
        return self._embedder.error

    @property
    def embedder_unasked(self) -> str:
        """The spec of an embedder behind an endpoint that was not called yet, else nothing."""
        spec = self.specs["embedder"]
        return str(spec) if spec is not None and spec.remote and not self._embedder.tried else ""

    @property
    def model(self) -> Completer | None:
        return self._model.get()

    @property
    def model_error(self) -> ModelError | None:
        return self._model.error

    @property
    def reranker(self) -> Reranker | None:
        return self._reranker.get()

    @property
    def reranker_error(self) -> ModelError | None:
        return self._reranker.error

    def completer(self, purpose: str) -> Completer | None:
        """Return the language model for one of the purposes by which calls are counted and capped
        (spending.PURPOSES); None as for `model`."""
        model = self.model
        return None if model is None else self.counted(model, purpose)

    def counted(self, model: Completer, purpose: str) -> Completer:
        """Return a completer whose calls count for a purpose."""
        from doxa.models.purposes import PurposeCompleter

        return PurposeCompleter(self._metered(model), purpose)

    def _metered(self, model: Completer) -> Completer:
        """Return a completer that counts its calls. What the caller made does not by itself."""
        from doxa.models.purposes import MeteredCompleter

        return MeteredCompleter(model, self._meter) if model is self._own else model

    def reranker_for(self, purpose: str) -> Reranker | None:
        """Return the reranker for a purpose; None as for `reranker`."""
        reranker = self.reranker
        if reranker is None:
            return None
        from doxa.models.purposes import PurposeReranker

        return PurposeReranker(reranker, purpose)

    def record_in(self, ledger: SpendLedger) -> None:
        """Record calls by day and purpose, and hold the caps of the memory file."""
        self._meter.ledger = ledger

    def former(self, name: str) -> CachedEmbedder | None:
        """Return the local model, if it has this name and is installed, though another embedder is
        configured."""
        if name != MINILM or not self.embeds or self._is_local:
            return None
        return self._former.get()

    def asking(self, held: str | None, coming: str | None) -> tuple[Embedder | None, str]:
        """Return the embedder as recall needs it, for questions and with no error but ModelError,
        and a warning about it. `held` names the model of the vectors in use, `coming` that of a set
        which will take their place."""
        if not self.embeds:
            return None, f"{_OFF}: no embedding model is configured; this answer is by words alone."
        own = self.embedder
        if own is not None and held in (None, own.name):
            return _Asking(own), ""
        former = self.former(held) if held is not None else None
        if former is not None:
            # doctor says why there is no other; a rebuild in progress needs no reminder
            waiting = own is None or coming is not None
            return (
                _Asking(former),
                (
                    ""
                    if waiting
                    else (
                        f"Questions are embedded by {held}, the vectors' model; see `doxa embed"
                        " --anew`."
                    )
                ),
            )
        if own is None:
            error = self.embedder_error
            why = (
                f"{error.message} {error.next_step}"
                if error is not None
                else "there is no embedding model."
            )
            return None, why if why.startswith(
                _OFF
            ) else f"{_OFF}, this answer is by words alone: {why}"
        if coming is not None:
            rest = (
                "`doxa embed` continues it"
                if coming == own.name
                else f"this process has {own.name}"
            )
            return (
                None,
                (
                    f"{_OFF} until the vectors of this file, which are of {held}, are rebuilt"
                    f" with {coming}; {rest}."
                ),
            )
        return (
            None,
            (
                f"{_OFF}: the vectors of this file are of {held}, not of {own.name}; see `doxa"
                " embed --anew`."
            ),
        )

    def spend(self, *, process: bool) -> Spend:
        return (PROCESS if process else self._meter).spend()

    def findings(self, *, ask: bool) -> list[HealthCheck]:
        """Return what doctor says about the language model and the reranker, and with `ask` about a
        call to each of the three."""
        tries: tuple[tuple[ModelRole, Callable[[], str]], ...] = (
            ("embedder", self._try_embedder),
            ("model", self._try_model),
            ("reranker", self._try_reranker),
        )
        return [
            self._finding(role, attempt, ask=ask)
            for role, attempt in tries
            if ask or role != "embedder"
        ]

    # Making them

    def _build_embedder(self) -> CachedEmbedder | None:
        spec = self.specs["embedder"]
        if spec is None:
            return None
        if spec.provider in ("auto", "minilm"):
            return self._build_local()
        if spec.provider == "onnx":
            from doxa.models.onnx_folder import load_onnx_embedder

            return CachedEmbedder(load_onnx_embedder(Path(spec.model)))
        from doxa.models import ollama, openai
        from doxa.models.address import parse_url
        from doxa.models.remote import place_mark

        module = openai if spec.provider == "openai" else ollama
        endpoint, address = self._endpoint("embedder", spec, usual=module.URL)
        place = place_mark(address.id, parse_url(module.URL, field="url").id)
        return CachedEmbedder(
            module.open_embedder(
                endpoint, spec.model, self._meter, place=place, dimensions=spec.dimensions
            )
        )

    def _build_local(self) -> CachedEmbedder:
        from doxa.models import load_minilm

        return CachedEmbedder(load_minilm(Path(self._folder or default_model_folder())))

    def _build_model(self) -> Completer | None:
        spec = self.specs["model"]
        if spec is None:
            return None
        if spec.runs_program:
            return self.command(spec.model, speaks_json=spec.provider == "command-json")
        from doxa.models import anthropic, ollama, openai

        if spec.provider == "anthropic":
            return anthropic.AnthropicCompleter(
                self._endpoint("model", spec, usual=anthropic.URL)[0], spec.model, self._meter
            )
        if spec.provider == "ollama":
            return ollama.OllamaCompleter(
                self._endpoint("model", spec, usual=ollama.URL)[0], spec.model, self._meter
            )
        return openai.OpenAiCompleter(
            self._endpoint("model", spec, usual=openai.URL)[0], spec.model, self._meter
        )

    def command(self, line: str, *, speaks_json: bool = False) -> Completer:
        """Return a completer over a program of the person's, with a part of the environment of
        doxa. Raises InputError for a line that names none."""
        from doxa.models.command import CommandCompleter

        return CommandCompleter(line, self._meter, environment=os.environ, speaks_json=speaks_json)

    @property
    def meter(self) -> Meter:
        """What counts the calls of this opening, and refuses those beyond its caps."""
        return self._meter

    def _build_reranker(self) -> Reranker | None:
        spec = self.specs["reranker"]
        if spec is None:
            return None
        if spec.provider == "onnx":
            from doxa.models.onnx_folder import load_onnx_reranker

            return load_onnx_reranker(Path(spec.model))
        if spec.provider == "model":
            from doxa.models.listwise import ListwiseReranker

            model = self.model
            if model is None:
                raise self.model_error or ModelError(
                    "The reranker has no model.", next_step="Configure one."
                )
            return ListwiseReranker(self._metered(model))
        from doxa.models import openai

        return openai.EndpointReranker(
            self._endpoint("reranker", spec, usual=openai.URL)[0], spec.model, self._meter
        )

    def _endpoint(self, role: ModelRole, spec: Spec, *, usual: str) -> tuple[HttpEndpoint, Address]:
        """The endpoint of a role: its own URL, else its provider's, else the usual one. One object
        for each place, since an outage is the place's."""
        from doxa.models.address import parse_url
        from doxa.models.anthropic import VERSION
        from doxa.models.http import HttpEndpoint

        address: Address = (
            self._urls.get(role) or self._urls.get(spec.provider) or parse_url(usual, field="url")
        )
        key, source = _key(spec.provider, needed=address.text == usual)
        with self._lock:
            found = self._endpoints.get(f"{spec.provider} {address.text}")
            if found is None:
                if spec.provider == "anthropic":
                    found = HttpEndpoint(
                        address,
                        headers={"anthropic-version": VERSION},
                        key=key,
                        key_header=("x-api-key", ""),
                        key_source=source,
                    )
                else:
                    found = HttpEndpoint(address, key=key, key_source=source)
                self._endpoints[f"{spec.provider} {address.text}"] = found
        return found, address

    # Trying them

    def _finding(self, role: ModelRole, attempt: Callable[[], str], *, ask: bool) -> HealthCheck:
        from doxa.maintenance.doctor import HealthCheck

        roles: dict[ModelRole, _Lazy[Any]] = {
            "embedder": self._embedder,
            "model": self._model,
            "reranker": self._reranker,
        }
        lazy, spec = roles[role], self.specs[role]
        name = f"{role} asked" if role == "embedder" else role
        if spec is None and lazy.made is None:
            return HealthCheck(name, True, "none is configured")
        label = (
            str(spec)
            if spec is not None
            else str(getattr(lazy.made, "name", "an object of the caller's"))
        )
        if not ask:
            return HealthCheck(name, True, f"{label}, not asked", "`doxa doctor --models` asks it.")
        try:
            return HealthCheck(name, True, f"{label}: {attempt()}")
        except DoxaError as error:
            return HealthCheck(name, False, f"{label}: {error.message}", error.next_step)

    def _try_embedder(self) -> str:
        embedder = self.embedder
        if embedder is None:
            raise self.embedder_error or ModelError("There is none.", next_step="Configure one.")
        with used_for("doctor"):
            vectors = CachedEmbedder(embedder.inner).embed_queries(["Does this model work?"])
        return f"it answered with {vectors.shape[1]} dimensions"

    def _try_model(self) -> str:
        from doxa.models.contract import Message

        model = self.completer("doctor")
        if model is None:
            raise self.model_error or ModelError("There is none.", next_step="Configure one.")
        usage = model.complete(
            [Message("user", "Say the word yes, and nothing else.")], tokens_max=256
        ).usage
        return f"it answered ({usage.tokens_in} tokens in, {usage.tokens_out} out)"

    def _try_reranker(self) -> str:
        reranker = self.reranker_for("doctor")
        if reranker is None:
            raise self.reranker_error or ModelError("There is none.", next_step="Configure one.")
        scores = reranker.score(
            "When do we deploy?", ["We deploy on Thursdays.", "The cat sat on the mat."]
        )
        return (
            "it put an answer above an unrelated text"
            if scores[0] > scores[1]
            else "it answered, with an unrelated text above an answer"
        )


class _Lazy(Generic[_Model]):
    """A model that is made when it is first asked for, once; after an outage again, though not at
    once."""

    def __init__(self, build: Callable[[], _Model | None], given: _Model | None) -> None:
        self._build = build
        self.made = given
        self.tried = given is not None
        self.error: ModelError | None = None
        self._again = math.inf
        self._lock = threading.Lock()

    def get(self) -> _Model | None:
        with self._lock:
            if not self.tried or (self.made is None and time.monotonic() >= self._again):
                self.tried, self.error, self._again = True, None, math.inf
                try:
                    self.made = self._build()
                except (ModelError, InputError) as error:
                    self.error = (
                        error
                        if isinstance(error, ModelError)
                        else ModelError(error.message, next_step=error.next_step)
                    )
                    if "outage" in error.fields:
                        self._again = time.monotonic() + MODEL_OUTAGE_MS / 1_000
            return self.made


class _Asking:
    """An embedder for questions. A cap that is reached is one more way for a model to fail: recall
    answers by words and says so."""

    def __init__(self, embedder: CachedEmbedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.tokens_max = embedder.tokens_max
        self.local = embedder.local

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of questions."""
        try:
            with used_for("recall"):
                return self._embedder.embed_queries(texts)
        except LimitError as error:
            raise ModelError(error.message, next_step=error.next_step, model=self.name) from error

    def embed_memories(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of what is compared with questions."""
        try:
            with used_for("recall"):
                return self._embedder.embed(texts)
        except LimitError as error:
            raise ModelError(error.message, next_step=error.next_step, model=self.name) from error


class Interrupted(Exception):
    """Embedding cannot go on now, and no text is to blame; `Job.error` says why. Never leaves this
    package."""


class Job:
    """An embedder for the embedding job. A text that fails counts as tried; an outage or a cap is
    not the text's fault and stops the job instead, which keeps what it has made."""

    def __init__(self, embedder: CachedEmbedder, progress: Callable[[int], None] | None) -> None:
        self._embedder = embedder
        self._progress = progress
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.tokens_max = embedder.tokens_max
        self.done = 0
        self.error: ModelError | LimitError | None = None

    def written(self, count: int) -> None:
        """Count the memories whose vectors were written."""
        self.done += count
        if self._progress:
            self._progress(count)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed like `Embedder.embed`. Raises Interrupted for what no text is to blame for."""
        try:
            with used_for("embed"):
                return self._embedder.embed(texts)
        except (ModelError, LimitError) as error:
            if isinstance(error, LimitError) or "outage" in error.fields:
                self.error = error
                raise Interrupted from error
            raise


def _configured(value: object, role: ModelRole, said: Configuration) -> tuple[Spec | None, Any]:
    """What fills a role: a spec, or an object of the caller's, or neither."""
    if value is None:
        return None, None
    if isinstance(value, str):
        field = str(role)
        named = said.get(f"models.{role}") if value == "auto" else None
        if named is not None:
            value, field = named.text, named.name
        spec = parse_spec(value, role, field=field)
        nothing = spec.provider == "none" or (spec.provider == "auto" and role != "embedder")
        return None if nothing else spec, None
    if not hasattr(value, _VERBS[role]):
        raise InputError(
            f"{value!r:.80} is not a valid {role}.",
            next_step=f'Give "auto", None, provider:model or an object with `{_VERBS[role]}`.',
            field=role,
        )
    return None, value


def _is(spec: Spec | None, provider: str) -> bool:
    return spec is not None and spec.provider == provider


def _cached(embedder: Embedder | None) -> CachedEmbedder | None:
    return (
        embedder
        if embedder is None or isinstance(embedder, CachedEmbedder)
        else CachedEmbedder(embedder)
    )


def _addresses(urls: object, said: Configuration) -> dict[str, Address]:
    """Where endpoints are, by role and by provider; an argument goes before what is
    configured."""
    known = (*_VERBS, *ENDPOINTS)
    if not isinstance(urls, Mapping) or not set(urls) <= set(known):
        raise InputError(
            "model_urls maps roles and providers to URLs.",
            next_step=f"Use the names {', '.join(known)}.",
            field="model_urls",
        )
    set_for = {name: said.get(f"models.{name}_url") for name in known}
    given = {name: (one.text, one.name) for name, one in set_for.items() if one is not None}
    given |= {name: (url, f"model_urls[{name!r}]") for name, url in urls.items()}
    if not given:
        return {}  # and the network's modules stay unread
    from doxa.models.address import parse_url

    return {name: parse_url(url, field=field) for name, (url, field) in given.items()}


def _prices(prices: object) -> dict[str, Price]:
    found: dict[str, Price] = {}
    for name, pair in prices.items() if isinstance(prices, Mapping) else [(None, None)]:
        numbers = tuple(pair) if isinstance(pair, (tuple, list)) else ()
        fits = len(numbers) == 2 and all(
            type(n) in (int, float) and math.isfinite(n) and n >= 0 for n in numbers
        )
        if not isinstance(name, str) or not fits:
            raise InputError(
                "model_prices maps provider:model to what a million tokens cost, read and written.",
                next_step='Give {"openai:NAME": (0.5, 1.5)}.',
                field="model_prices",
            )
        found[name] = Price(float(numbers[0]), float(numbers[1]))
    return found


_OF_PROCESSES: list[int] = [1, 1]  # which one this is, of how many that share the caps


def share_caps(number: int, processes: int) -> None:
    """Divide the caps among so many processes, of which this one is `number`, from 1. The first
    gets what cannot be divided."""
    _OF_PROCESSES[:] = number, processes


def reload_caps(said: Configuration) -> None:
    """Set what this process may send to endpoints to what is configured, or its part of it."""
    PROCESS.tokens_max, PROCESS.calls_max = (
        _part(_cap(said, "models.tokens_max")),
        _part(_cap(said, "models.calls_max")),
    )


def _part(cap: int | None) -> int | None:
    number, processes = _OF_PROCESSES
    if cap is None:
        return None
    return cap // processes + (cap % processes if number == 1 else 0)


def _cap(said: Configuration, key: str) -> int | None:
    found = said.get(key)
    if found is None:
        return None
    if not (found.text.isascii() and found.text.isdigit() and len(found.text) < 19):
        raise InputError(
            f"{found.name} is a whole number; this is {found.text[:40]!r}.",
            next_step="Give such a number, or unset it.",
            field=found.name,
        )
    return int(found.text)


def _key(provider: str, *, needed: bool) -> tuple[Secret | None, str]:
    """The key of a provider and the variable it comes from. Raises ModelError where the provider's
    own endpoint needs one and there is none."""
    from doxa.models.address import Secret

    if provider == "ollama":
        return None, ""
    value = (
        os.environ.get("ANTHROPIC_API_KEY")
        if provider == "anthropic"
        else os.environ.get("OPENAI_API_KEY")
    )
    source = "ANTHROPIC_API_KEY" if provider == "anthropic" else "OPENAI_API_KEY"
    if not value:
        if needed:
            step = (
                "Set it, or give the URL of a server that needs none"
                f" (DOXA_{provider.upper()}_URL)."
            )
            raise ModelError(
                f"{source} is not set, and {provider}'s own endpoint asks for a key.",
                next_step=step,
                model=provider,
            )
        return None, source
    return Secret(value, source=source), source
