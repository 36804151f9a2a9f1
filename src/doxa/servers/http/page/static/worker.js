// The service worker: the files of the page are there without the server. Nothing of the memory is
// kept: requests to the API are not touched. The server puts VERSION and FILES before this line.

const CACHE = `doxa-${VERSION}`;

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches
      .open(CACHE)
      .then((cache) => cache.addAll(["./", ...FILES].map((path) => new Request(path, { cache: "reload" }))))
      .then(() => self.skipWaiting()),
  );
});

self.addEventListener("activate", (event) => {
  event.waitUntil(
    caches
      .keys()
      .then((names) => Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name))))
      .then(() => self.clients.claim()),
  );
});

// The server first, so that a new version is seen at once; the cache when it does not answer.
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin || !url.pathname.startsWith("/ui/")) return;
  event.respondWith(
    fetch(event.request).catch(async () => {
      const found = await caches.match(event.request, { ignoreSearch: true });
      return found ?? Response.error();
    }),
  );
});
