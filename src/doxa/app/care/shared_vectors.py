"""The embedder of a replica: what another replica has embedded is fetched and not made again.

    key     blake2b of the model's name and the text
    data    the vector in half precision, little endian: what a file keeps of it

One replica embeds at a time, by a lease of the tenant; the others wait for its vectors, and go on
by themselves if none come. Each uses what the engine would keep, so that all replicas have the
same. An erasure deletes all vectors of the tenant at the engine, since it cannot tell whose text a
key is of; replicas keep theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from doxa.base.errors import DoxaError
from doxa.models.contract import Embedder
from doxa.replication.following import local_head
from doxa.replication.protocol import FleetLog
from doxa.replication.replica import Replica

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Half = NDArray[np.float16]

_LEASE = "vectors"
_LEASE_NS = 20_000_000_000
_WAIT_S = 20.0  # for one group of texts: as long as a lease outlives its holder
_LOOK_S = 0.5


class SharedEmbedder:
    """Embeds for one job; `end` lets other replicas go on. `stop` ends a wait."""

    def __init__(self, inner: Embedder, replica: Replica, *, stop: Callable[[], bool]) -> None:
        self.name, self.dimensions = inner.name, inner.dimensions
        self.tokens_max = inner.tokens_max
        self._inner, self._replica, self._stop = inner, replica, stop
        self._token = 0
        self._alone = False  # content was erased since the job began: it shares nothing more
        # texts are read from here on: what an erasure takes away later is not put back
        self._read_at = local_head(replica.store).tx

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implement `Embedder.embed`: float32 [len(texts), dimensions], of half precision. Raises
        UnreachableError too."""
        import numpy as np

        keys = [self._key(text) for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        found = self._fetched(by_key)
        missing = by_key.keys() - found.keys()
        if missing and not self._token and not self._alone:
            found |= self._waited(missing)
        left = {key: text for key, text in by_key.items() if key not in found}
        if left:
            found |= self._made(left)
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, key in zip(vectors, keys, strict=True):
            row[:] = found[key]
        return vectors

    def end(self) -> None:
        """Give the lease back. It ends by itself if that fails."""
        if self._token:
            with suppress(DoxaError):
                self._take(0)
            self._token = 0

    def _key(self, text: str) -> bytes:
        named = f"{self.name}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(named, digest_size=20).digest()

    def _waited(self, missing: Collection[bytes]) -> dict[bytes, Half]:
        """Wait until this replica is the one that embeds, or another has. Returns what another put
        there meanwhile."""
        until = time.monotonic() + _WAIT_S
        found: dict[bytes, Half] = {}
        while not self._stop() and time.monotonic() < until:
            self._token = self._take(_LEASE_NS)
            found |= self._fetched([key for key in missing if key not in found])
            if self._token or len(found) == len(missing):
                break
            time.sleep(_LOOK_S)
        return found

    def _take(self, ttl_ns: int) -> int:
        name = f"{_LEASE}/{self.name}"
        return self._replica.take_lease(name, held=self._token, ttl_ns=ttl_ns)

    def _fetched(self, keys: Iterable[bytes]) -> dict[bytes, Half]:
        """Return what the engine has, without what has another length or is not finite."""
        import numpy as np

        held = self._log.vectors(self._replica.tenant, list(keys))
        read = {
            key: np.frombuffer(data, dtype="<f2")
            for key, data in held.items()
            if len(data) == 2 * self.dimensions
        }
        return {key: vector for key, vector in read.items() if np.isfinite(vector).all()}

    def _made(self, texts: dict[bytes, str]) -> dict[bytes, Half]:
        """Embed, and let the other replicas have it."""
        if self._token:
            self._token = self._take(_LEASE_NS)
        vectors = self._inner.embed(list(texts.values())).astype("<f2")
        found = dict(zip(texts, vectors, strict=True))
        if not self._alone:
            given = {key: vector.tobytes() for key, vector in found.items()}
            if not self._log.put_vectors(self._replica.tenant, given, read_at=self._read_at):
                self._alone = True
                self.end()
        return found

    @property
    def _log(self) -> FleetLog:
        log = self._replica.log  # another one once the tenant has moved
        assert isinstance(log, FleetLog), "only these keep vectors"
        return log
