"""What doxa enters into hosts as programs: a plugin of OpenCode, in JavaScript, and one of Hermes,
in Python. Each is a template for one text.
"""

OPENCODE = """\
// Written by `doxa setup opencode`; `doxa setup opencode --remove` takes it away.
import { spawn } from "node:child_process"
const WORDS = %s
const run = (event, document) =>
  new Promise((resolve) => {
    const words = WORDS.map((word) => (word === "EVENT" ? event : word))
    const child = spawn(words[0], words.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
    const limit = setTimeout(() => child.kill("SIGKILL"), 10000)
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (part) => (text += part))
    child.stdin.on("error", () => {})
    child.on("error", () => resolve({}))
    child.on("close", () => {
      clearTimeout(limit)
      try {
        resolve(JSON.parse(text) || {})
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(document))
  })
// what was typed or answered; OpenCode marks what it adds itself, such as the text of a file
const said = (parts) =>
  (parts || [])
    .filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
    .map((part) => part.text)
    .join("\\n")
export const DoxaMemory = async ({ directory, client }) => {
  const briefs = {}
  const kinds = {}
  const running = new Set()
  const send = (event, session, rest) => {
    const made = run(event, { session, folder: directory, ...rest })
    running.add(made)
    return made.finally(() => running.delete(made))
  }
  // the prompts of a subagent's session are an agent's words
  const main = async (session) => {
    kinds[session] ??= client.session
      .get({ path: { id: session } })
      .then((found) => !!found.data && !found.data.parentID)
      .catch(() => false)
    return kinds[session]
  }
  const messages = async (session) =>
    (await client.session.messages({ path: { id: session } })).data || []
  const report = async (event, session, wanted) => {
    if (!(await main(session))) return
    const found = await messages(session).catch(() => [])
    const last = found.filter(({ info }) => info.role === "assistant" && wanted(info)).pop()
    const text = last ? said(last.parts) : ""
    if (text) await send(event, session, { text })
  }
  return {
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!session || !(await main(session))) return
      briefs[session] ??= send("open", session, {})
      const block = (await briefs[session]).block
      if (block) output.system.push(block)
    },
    "chat.message": async (input, output) => {
      const text = said(output.parts)
      if (text && (await main(input.sessionID))) await send("prompt", input.sessionID, { text })
    },
    "tool.execute.after": async (input, output) => {
      const used = { tool: input.tool, tool_input: input.args, tool_response: output.output }
      if (await main(input.sessionID)) await send("tool", input.sessionID, used)
    },
    event: async ({ event }) => {
      const session = event.properties?.sessionID
      if (event.type === "session.idle")
        await report("answer", session, (info) => !info.summary)
      if (event.type === "session.compacted")
        await report("compaction", session, (info) => info.summary)
    },
    dispose: async () => {
      await Promise.all(running)
      await Promise.all(Object.keys(briefs).map((session) => send("close", session, {})))
    },
  }
}
"""

HERMES = '''\
"""Written by `doxa setup hermes`; `doxa setup hermes --remove` takes it away."""

from doxa.adapters.hermes import HermesMemory


def register(context):
    context.register_memory_provider(HermesMemory(%s))
'''
