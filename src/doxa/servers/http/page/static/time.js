// The time of everything that is shown: what memory believed at a time (system), and what holds at a
// time (valid). Both are now unless the person moves them.

import { read } from "./api.js";
import { html, signal, useEffect, useState } from "./lib.js";
import { formatTime } from "./parts.js";
import { isPast, systemTime, validTime } from "./state.js";

export const timeOpen = signal(false);
const STEPS = 720;
const YEAR_MS = 365 * 86_400_000;
const WAIT_MS = 120;

async function firstTime() {
  const { items } = await read("log", { limit: 1, newest_first: false });
  return items[0] ? new Date(items[0].time).valueOf() : Date.now() - 86_400_000;
}

export function TimeBar() {
  const [first, setFirst] = useState(null);
  const shown = timeOpen.value || isPast.value;
  useEffect(() => {
    if (shown && first === null) firstTime().then(setFirst, () => setFirst(Date.now() - 30 * 86_400_000));
  }, [shown]);
  if (!shown) return null;
  const now = Date.now();
  const start = first ?? now - 86_400_000;
  const back = () => {
    systemTime.value = null;
    validTime.value = null;
    timeOpen.value = false;
  };
  return html`<section class="timebar ${isPast.value ? "in-past" : ""}" aria-label="Time">
    <${Slider} name="system" label="Believed at" target=${systemTime} from=${start} to=${now} />
    <${Slider} name="valid" label="Valid at" target=${validTime} from=${start - YEAR_MS / 12} to=${now + YEAR_MS / 12} />
    <p class="timebar-text" role="status">
      ${isPast.value ? html`You look at the past: ${sentence()}. Changes are made from now alone.` : "Everything as of now."}</p>
    <button type="button" onClick=${back}>${isPast.value ? "Back to now" : "Close"}</button>
  </section>`;
}

function sentence() {
  const parts = [];
  if (systemTime.value) parts.push(`what was believed ${formatTime(systemTime.value)}`);
  if (validTime.value) parts.push(`what holds ${formatTime(validTime.value)}`);
  return parts.join(", ");
}

function Slider({ name, label, target, from, to }) {
  const at = target.value ? new Date(target.value).valueOf() : null;
  const here = name === "system" ? to : Math.min(Date.now(), to);
  const position = Math.round((((at ?? here) - from) / (to - from)) * STEPS);
  const [waiting] = useState({ timer: 0 });
  const move = (event) => {
    const step = Number(event.target.value);
    clearTimeout(waiting.timer);
    waiting.timer = setTimeout(() => {
      const isNow = name === "system" && step >= STEPS;
      target.value = isNow ? null : new Date(from + ((to - from) * step) / STEPS).toISOString();
    }, WAIT_MS);
  };
  const pick = (event) => {
    const day = event.target.value;
    target.value = day ? new Date(`${day}T23:59:59`).toISOString() : null;
  };
  const text = target.value ? formatTime(target.value) : "now";
  return html`<div class="slider">
    <label for="time-${name}">${label} <strong>${text}</strong></label>
    <input id="time-${name}" type="range" min="0" max=${STEPS} value=${position} aria-valuetext=${text} onInput=${move} />
    <input type="date" aria-label="${label}: day" value=${target.value ? localDay(target.value) : ""} onChange=${pick} />
  </div>`;
}

function localDay(text) {
  const at = new Date(text);
  return `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
}
