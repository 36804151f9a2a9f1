// A diff of two texts by words: the longest common subsequence.

import { html } from "./lib.js";

const WORDS_MAX = 600; // beyond that the whole text is shown as changed

/** Return [kind, text] pairs; kind is same, gone or new. */
export function wordDiff(before, after) {
  const old = before.split(/(\s+)/);
  const now = after.split(/(\s+)/);
  if (old.length > WORDS_MAX || now.length > WORDS_MAX)
    return [
      ["gone", before],
      ["new", after],
    ];
  const width = now.length + 1;
  const lengths = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      lengths[i * width + j] =
        old[i] === now[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const parts = [];
  const add = (kind, text) => {
    const last = parts.at(-1);
    if (last?.[0] === kind) last[1] += text;
    else parts.push([kind, text]);
  };
  let i = 0;
  let j = 0;
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      add("same", old[i]);
      i++;
      j++;
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) add("gone", old[i++]);
    else add("new", now[j++]);
  }
  while (i < old.length) add("gone", old[i++]);
  while (j < now.length) add("new", now[j++]);
  return joined(parts);
}

/** Join changes that only a space parts, so that a changed phrase reads as one. */
function joined(parts) {
  const found = [];
  let gone = "";
  let fresh = "";
  const flush = () => {
    if (gone) found.push(["gone", gone]);
    if (fresh) found.push(["new", fresh]);
    gone = fresh = "";
  };
  parts.forEach(([kind, text], at) => {
    const between = kind === "same" && !text.trim() && at > 0 && at < parts.length - 1;
    if (kind === "gone") gone += text;
    else if (kind === "new") fresh += text;
    else if (between) {
      gone += text;
      fresh += text;
    } else {
      flush();
      found.push([kind, text]);
    }
  });
  flush();
  return found;
}

export function WordDiff({ before, after }) {
  const parts = wordDiff(before, after).map(([kind, text]) => {
    if (kind === "gone") return html`<del>${text}</del>`;
    if (kind === "new") return html`<ins>${text}</ins>`;
    return html`<span>${text}</span>`;
  });
  return html`<p class="diff text">${parts}</p>`;
}
