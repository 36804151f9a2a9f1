// Three bodies that the types refuse.
import type { paths } from "./api";
type Body = paths["/v1/remember"]["post"]["requestBody"]["content"]["application/json"];
const wrong: Body = { text: 5 };
const unknown: Body = { text: "a", colour: "red" };
const missing: Body = {};
export { wrong, unknown, missing };
