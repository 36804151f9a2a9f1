// The curve of a decay profile as SVG, with its threshold and the day on which it hides.

import { html } from "./lib.js";

const WIDTH = 320;
const HEIGHT = 110;
const DAY_S = 86_400;

/** The score at an age in seconds, for each of the four functions. */
export function scoreAt(profile, age) {
  const half = profile.HalfLifeSeconds;
  let score = 1;
  if (profile.Function === "exponential" && half > 0) score = 2 ** (-age / half);
  else if (profile.Function === "linear" && half > 0) score = Math.max(0, 1 - age / (2 * half));
  else if (profile.Function === "step" && half > 0) score = age < half ? 1 : 0;
  return Math.max(score, profile.ScoreFloor ?? 0);
}

/** Days until the score falls below the threshold; null if it never does. */
export function hidesAfterDays(profile) {
  const { HalfLifeSeconds: half, VisibilityThreshold: limit, ScoreFloor: floor } = profile;
  if (!(half > 0) || !limit || floor >= limit) return null;
  if (profile.Function === "exponential") return (half * Math.log2(1 / limit)) / DAY_S;
  if (profile.Function === "linear") return (2 * half * (1 - limit)) / DAY_S;
  return profile.Function === "step" ? half / DAY_S : null;
}

export function Curve({ profile }) {
  const hides = hidesAfterDays(profile);
  const days = Math.max(7, Math.ceil((hides ?? (profile.HalfLifeSeconds / DAY_S) * 3) * 1.3));
  const y = (score) => HEIGHT - 18 - score * (HEIGHT - 26);
  const points = Array.from({ length: 61 }, (_, step) => {
    const age = (days * step) / 60;
    return `${8 + (age / days) * (WIDTH - 16)},${y(scoreAt(profile, age * DAY_S))}`;
  });
  const words =
    hides === null
      ? `never hidden, half-life ${round(profile.HalfLifeSeconds / DAY_S)} days`
      : `hidden after ${round(hides)} days without use`;
  const at = hides === null ? 0 : 8 + (hides / days) * (WIDTH - 16);
  return html`<figure class="curve">
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Score of ${profile.Name} over ${days} days: ${words}">
      <line class="axis" x1="8" x2=${WIDTH - 8} y1=${y(0)} y2=${y(0)} />
      <line class="threshold" x1="8" x2=${WIDTH - 8} y1=${y(profile.VisibilityThreshold)} y2=${y(profile.VisibilityThreshold)} />
      <polyline points=${points.join(" ")} />
      ${hides !== null && html`<line class="hides" x1=${at} x2=${at} y1=${y(1)} y2=${y(0)} />`}
      <text x="8" y=${HEIGHT - 4}>0</text><text x=${WIDTH - 8} y=${HEIGHT - 4} text-anchor="end">${days} days</text>
    </svg><figcaption><strong>${profile.Name}</strong>: ${profile.Function}, ${words}</figcaption></figure>`;
}

export function round(value) {
  return value >= 10 ? Math.round(value) : Math.round(value * 10) / 10;
}
