// A list of any length of which only the rows in sight are in the document.

import { html, useEffect, useRef, useState } from "./lib.js";

export const ROW_PX = 66;
const AROUND = 8;

/** `more()` is called when the end comes near; `total` is the number of entries that there are. */
export function VirtualList({ items, total, label, row, more }) {
  const box = useRef(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const measure = () => setHeight(box.current?.clientHeight || 600);
    measure();
    window.addEventListener("resize", measure);
    return () => window.removeEventListener("resize", measure);
  }, []);
  const count = Math.max(items.length, more ? total : 0); // the box has the size of all of them
  const sight = Math.ceil((top + height) / ROW_PX) + AROUND;
  const first = Math.max(0, Math.min(Math.floor(top / ROW_PX) - AROUND, items.length));
  const last = Math.min(items.length, sight);
  useEffect(() => {
    if (more && items.length < total && sight > items.length - 40) more();
  }, [sight, items.length, total]);
  const keys = (event) => {
    if (event.key === "End") box.current.scrollTop = count * ROW_PX;
    if (event.key === "Home") box.current.scrollTop = 0;
  };
  return html`<div class="virtual" ref=${box} tabindex="0" role="region" aria-label=${label} onKeyDown=${keys}
      onScroll=${(event) => setTop(event.currentTarget.scrollTop)} style=${{ height: `min(${Math.max(1, count) * ROW_PX + 2}px, 68vh)` }}>
    ${sight > items.length + AROUND && items.length < count && html`<p class="reading small" role="status">Reading …</p>`}
    <div style=${{ height: `${first * ROW_PX}px` }}></div>
    <ul class="rows" aria-label=${label}>${items.slice(first, last).map((one) => row(one))}</ul>
    <div style=${{ height: `${(count - last) * ROW_PX}px` }}></div>
  </div>`;
}
