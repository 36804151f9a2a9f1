"""The page for people: static files that a browser runs against the API. It has no rights of its
own, and no other way to the memory than `/v1`."""

from doxa.servers.http.page.files import HOME, StaticFiles

__all__ = ["HOME", "StaticFiles"]
