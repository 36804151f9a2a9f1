// What the whole page knows: where it is, which time it shows, who is logged in, what was changed.

import { computed, signal } from "./lib.js";

export const session = signal(null); // {name, role, projects, databases, project}
export const connection = signal("open"); // open, lost (no answer) or over (no login)
export const epoch = signal(0); // counts reconnections and changes: views read again
export const receipts = signal([]); // changes made here, newest first
export const notices = signal([]); // what is said to the person for a while
export const helpOpen = signal(false);

// Where: #/view?name=value

export const route = signal(readRoute());

function readRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { view: path || "ask", params: Object.fromEntries(new URLSearchParams(query)) };
}

window.addEventListener("hashchange", () => (route.value = readRoute()));

export function address(view, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value != null);
  const query = new URLSearchParams(given).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export function go(view, params) {
  location.hash = address(view, params);
}

export function replaceRoute(view, params) {
  history.replaceState(null, "", address(view, params));
  route.value = readRoute();
}

// When: null is now

export const systemTime = signal(null);
export const validTime = signal(null);
export const isPast = computed(() => systemTime.value !== null || validTime.value !== null);

// What is shown to whom

export const project = signal(localStorage.getItem("doxa.project") ?? "");

export function chooseProject(name) {
  project.value = name;
  localStorage.setItem("doxa.project", name);
}

export const database = signal(sessionStorage.getItem("doxa.database") ?? ""); // "": the login's own

export function chooseDatabase(name) {
  database.value = name;
  sessionStorage.setItem("doxa.database", name);
  chooseProject("");
}

export const theme = signal(localStorage.getItem("doxa.theme") ?? "system");

export function chooseTheme(name) {
  theme.value = name;
  localStorage.setItem("doxa.theme", name);
  applyTheme();
}

export function applyTheme() {
  const root = document.documentElement;
  if (theme.value === "system") root.removeAttribute("data-theme");
  else root.setAttribute("data-theme", theme.value);
}

// What was typed and not yet sent outlives a reload, a lost server and an expired session.

export function draft(name, initial = "") {
  return localStorage.getItem(`doxa.draft.${name}`) ?? initial;
}

export function keepDraft(name, text) {
  if (text) localStorage.setItem(`doxa.draft.${name}`, text);
  else localStorage.removeItem(`doxa.draft.${name}`);
}

let noticeNumber = 0;

export function say(text, { kind = "info", seconds = 8, action = null } = {}) {
  const id = ++noticeNumber;
  notices.value = [...notices.value, { id, text, kind, action }].slice(-4);
  if (seconds) setTimeout(() => dismiss(id), seconds * 1000);
  return id;
}

export function dismiss(id) {
  notices.value = notices.value.filter((one) => one.id !== id);
}
