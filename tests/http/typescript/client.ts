// One round trip with types of the description: api.d.ts is generated next to it by
// tests/http/test_api_suite.py.
import type { paths, components } from "./api";

declare const process: { argv: string[] };

type Answer<P extends keyof paths, M extends "get" | "post"> =
  paths[P] extends { [K in M]: { responses: { 200: { content: { "application/json": infer R } } } } }
    ? R : never;
type Body<P extends keyof paths> =
  paths[P] extends { post: { requestBody: { content: { "application/json": infer B } } } } ? B : never;
type Query<P extends keyof paths> =
  paths[P] extends { get: { parameters: { query?: infer Q } } } ? Q : never;
type Problem = components["schemas"]["Problem"];

const [base, token] = process.argv.slice(2);
const login = { Authorization: `Bearer ${token}` };

async function answer<R>(reply: Response): Promise<R> {
  if (!reply.ok) {
    const problem = (await reply.json()) as Problem;
    throw new Error(`${problem.code}: ${problem.detail}`);
  }
  return (await reply.json()) as R;
}
async function get<P extends keyof paths>(path: P, query: Query<P>): Promise<Answer<P, "get">> {
  const asked = new URLSearchParams(query as Record<string, string>);
  return answer(await fetch(`${base}${path}?${asked}`, { headers: login }));
}
async function post<P extends keyof paths>(path: P, body: Body<P>): Promise<Answer<P, "post">> {
  const headers = { ...login, "Content-Type": "application/json" };
  return answer(await fetch(`${base}${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

const made = await post("/v1/remember", {
  text: "The harbour opens at six",
  name: "harbour",
  facts: [["harbour", "opens_at", "06:00"]],
});
const change: number | null = made.change.change;
const found = await post("/v1/recall", { text: "when does the harbour open?" });
const best: components["schemas"]["Hit"] = found.hits[0];
const said = await get("/v1/get", { kref: made.kref });
const summary: string = "summary" in said ? said.summary : "";
const facts: [string, string, string | number | boolean][] = "facts" in said ? said.facts : [];
const log = await get("/v1/log", { limit: 1 });
const code = await get("/v1/get", { kref: "kref://p/none.fact" }).catch((error: Error) => error.message);
console.log(JSON.stringify({ change, best: best.text, summary, facts, tx: log.items[0].tx, code }));
