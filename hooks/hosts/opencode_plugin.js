// Mnemic's plugin for OpenCode: hands what happens in a session to the hook executable, and what that answers to the
// model. Installed by `mnemic hooks install --assistant opencode` (which fills in the two values below) and removed by
// `mnemic hooks uninstall`. Whatever goes wrong here, OpenCode goes on as if it were not there.
//
// OpenCode 1 calls `server` of the default export (or `Mnemic`), OpenCode 2 `setup`. No test has run OpenCode 2: `setup`
// follows its published source, packages/plugin/src/promise.
//
// Each call of the executable gets one JSON object on its standard input: session_id (`<parent>/<child>` for a
// subagent's), cwd, hook_event_name, transcript_path (OpenCode's database, with the session behind a #), and what
// belongs to the event, as OpenCode gave it; and headless, where nobody sits in front of it (`opencode run`).
import { spawn } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

const HOOK = @HOOK@
const GIVEN = @ARGS@
const ASKS = ["--ask", "--updates"]
const ASK_ON_PROMPT = GIVEN.find((argument) => ASKS.includes(argument))
const ARGS = GIVEN.filter((argument) => !ASKS.includes(argument))
const ANSWER_MS = 1500 // the executable gives up after 1 s by itself; a prompt never waits longer than this
const RUN_MS = 10000 // after which what comes next is handed over all the same
const EXIT_MS = 2000 // what is still being handed over when OpenCode leaves
const LOOKUP_MS = 500
const REMEMBERED_PARTS = 4096
const HEADLESS = process.argv.slice(1, 6).includes("run")

/** The promise's value, or the other value where it fails or takes too long. */
const within = (promise, limitMs, otherwise) => {
  let timer
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(otherwise), limitMs)
    timer.unref?.()
  })
  return Promise.race([promise.catch(() => otherwise), late]).finally(() => clearTimeout(timer))
}

/** What the executable printed, {context, shown}; nothing where it is no such object. */
const answered = (printed) => {
  try {
    const { context, shown } = JSON.parse(printed)
    return { context: typeof context === "string" ? context : "", shown: typeof shown === "string" ? shown : "" }
  } catch {
    return { context: "", shown: "" }
  }
}

/** Run the executable once; resolves to what it printed, empty where it is missing, fails or prints nothing. */
const run = (event, payload, asked) =>
  new Promise((resolve) => {
    const arguments_ = ["opencode", event, ...(asked ? [event === "prompt" ? ASK_ON_PROMPT : "--ask"] : []), ...ARGS]
    const child = spawn(HOOK, arguments_, { stdio: ["pipe", asked ? "pipe" : "ignore", "ignore"], windowsHide: true })
    const printed = []
    child.on("error", () => resolve(""))
    child.on("close", () => resolve(Buffer.concat(printed).toString("utf8").trim()))
    child.stdout?.on("data", (piece) => printed.push(piece))
    child.stdin.on("error", () => {}) // it may be gone before it has read everything
    child.stdin.end(JSON.stringify(payload))
  })

/** When a database was written to last; it is written to its log first. */
const writtenMs = (path) =>
  Math.max(...[path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0))

/** OpenCode's database: the one that is named, else of `opencode.db` and those of other channels the newest. */
const database = () => {
  const data = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode")
  const named = process.env.OPENCODE_DB
  if (named) {
    const path = isAbsolute(named) ? named : join(data, named)
    return existsSync(path) ? path : null
  }
  try {
    const names = readdirSync(data).filter((name) => name.startsWith("opencode") && name.endsWith(".db"))
    const paths = names.map((name) => join(data, name))
    return paths.sort((one, other) => writtenMs(other) - writtenMs(one))[0] ?? null
  } catch {
    return null // there is none yet
  }
}

/** What hands events of these sessions over, one behind the other; `drained` waits for what is on its way. */
const handing = (sessions, directory) => {
  let queue = Promise.resolve()
  /** Hand one event over, behind those before it. */
  const hand = (event, id, more, asked = false) => {
    const session = sessions.get(id) ?? { parent: null, cwd: directory }
    const path = database()
    const payload = {
      session_id: session.parent ? `${session.parent}/${id}` : id,
      cwd: session.cwd,
      hook_event_name: event,
      ...(path ? { transcript_path: `${path}#${id}` } : {}),
      ...(HEADLESS ? { headless: true } : {}),
      ...more,
    }
    const answer = queue.then(() => within(run(event, payload, asked), RUN_MS, ""))
    queue = answer.then(() => {}, () => {})
    return asked ? within(answer, ANSWER_MS, "") : Promise.resolve("")
  }
  /** Hand over that every session has ended that no other one started. */
  const end = async () => {
    for (const [id, session] of sessions) if (!session.parent) hand("session-end", id, { reason: "exit" })
    await within(queue, EXIT_MS, null)
  }
  return { hand, end }
}

/** What is done for the memory must not reach OpenCode, not even as an error. */
const quietly = async (work) => {
  try {
    await work()
  } catch {
    // the transcript is the safety net for whatever was missed here
  }
}

export const Mnemic = async ({ client, directory }) => {
  const sessions = new Map() // id -> {parent, cwd, source: why it is to be told what is known, or null}
  const messages = new Map() // id of an assistant's message -> what OpenCode says of it
  const handed = new Set() // ids of parts that were handed over
  const { hand, end } = handing(sessions, directory)

  const learn = (info, source) => {
    const known = sessions.get(info.id) ?? { source }
    sessions.set(info.id, { ...known, parent: info.parentID ?? null, cwd: info.directory ?? directory })
    return sessions.get(info.id)
  }
  const look = async (id) => {
    if (sessions.has(id)) return sessions.get(id)
    const found = await within(Promise.resolve(client?.session?.get({ path: { id } })), LOOKUP_MS, null)
    return sessions.get(id) ?? learn({ ...(found?.data ?? {}), id }, "resume")
  }
  /** Show the user a line, where there is a place for it; nobody waits for that. */
  const show = (message) =>
    within(Promise.resolve(client?.tui?.showToast({ body: { message, variant: "info" } })), LOOKUP_MS, null)

  const handPart = async (part) => {
    const done =
      (part.type === "text" && part.time?.end && !part.synthetic) ||
      (part.type === "tool" && ["completed", "error"].includes(part.state?.status))
    if (!done || handed.has(part.id)) return
    if (handed.size >= REMEMBERED_PARTS) handed.clear() // twice is harmless: a part is known by its id
    handed.add(part.id)
    await look(part.sessionID)
    const event = part.type === "text" ? "reply" : part.state.status === "error" ? "tool-failed" : "tool"
    await hand(event, part.sessionID, { message: messages.get(part.messageID) ?? null, part })
  }

  const listeners = {
    "session.created": ({ info }) => learn(info, "startup"),
    "session.updated": ({ info }) => sessions.has(info.id) && learn(info, null),
    "session.compacted": async ({ sessionID }) => {
      const session = await look(sessionID)
      session.source = "compact"
      await hand("compacted", sessionID, {})
    },
    "session.idle": async ({ sessionID }) => {
      if ((await look(sessionID)).parent) await hand("subagent", sessionID, {})
    },
    "session.deleted": async ({ info }) => {
      await hand("session-end", info.id, { reason: "deleted" })
      sessions.delete(info.id)
    },
    "message.updated": ({ info }) => {
      if (info.role !== "assistant") return
      if (messages.size >= REMEMBERED_PARTS) messages.clear()
      messages.set(info.id, { id: info.id, role: info.role, summary: info.summary === true })
    },
    "message.part.updated": ({ part }) => handPart(part),
  }
  return {
    event: ({ event }) => quietly(() => listeners[event.type]?.(event.properties)),
    "chat.message": (input, output) =>
      quietly(async () => {
        const session = await look(input.sessionID)
        const parts = output.parts.map((part) =>
          part.type === "text" ? part : { id: part.id, type: part.type, mime: part.mime, filename: part.filename },
        )
        const source = session.parent ? null : session.source
        session.source = null
        const told = source ? [hand("session-start", input.sessionID, { source }, true)] : []
        told.push(hand("prompt", input.sessionID, { message: output.message, parts }, ASK_ON_PROMPT && !session.parent))
        const answers = (await Promise.all(told)).map(answered)
        for (const { shown } of answers) if (shown) show(shown)
        const text = answers.map(({ context }) => context).filter(Boolean).join("\n\n")
        if (!text) return
        const id = `${output.parts.at(-1)?.id ?? "prt_"}mnemic`
        const { id: messageID, sessionID } = output.message
        output.parts.push({ id, sessionID, messageID, type: "text", text, synthetic: true })
      }),
    "experimental.session.compacting": (input) => quietly(() => hand("compaction", input.sessionID, {})),
    dispose: () => quietly(end),
  }
}

/** What OpenCode 2 calls. Its database is read at the end of every turn; live are prompts, and what is told with them. */
const setup = async (context) => {
  const sessions = new Map() // id -> {parent, cwd, source: why it is to be told what is known, or null, told, found}
  const { hand, end } = handing(sessions, context.location?.directory)

  const learn = (id, info, source) => {
    const cwd = info.location?.directory ?? context.location?.directory
    sessions.set(id, { parent: info.parentID ?? null, cwd, source, told: "", found: "" })
    return sessions.get(id)
  }
  const look = async (id) => {
    if (sessions.has(id)) return sessions.get(id)
    const found = await within((async () => context.session.get({ sessionID: id }))(), LOOKUP_MS, null)
    return sessions.get(id) ?? learn(id, found?.data ?? found ?? {}, "resume")
  }
  const ended = async ({ sessionID }) => hand((await look(sessionID)).parent ? "subagent" : "reply", sessionID, {})
  const listeners = {
    "session.created": (data) => sessions.has(data.sessionID) || learn(data.sessionID, data, "startup"),
    "session.moved": async ({ sessionID, location }) => ((await look(sessionID)).cwd = location.directory),
    "session.compaction.ended": async ({ sessionID }) => {
      ;(await look(sessionID)).source = "compact"
      await hand("compacted", sessionID, {})
    },
    "session.execution.succeeded": ended,
    "session.execution.failed": ended,
    "session.execution.interrupted": ended,
    "session.deleted": async ({ sessionID }) => {
      await hand("session-end", sessionID, { reason: "deleted" })
      sessions.delete(sessionID)
    },
  }

  await context.session.hook("prompt", ({ sessionID, messageID, prompt }) =>
    quietly(async () => {
      if (!prompt.text?.trim()) return
      const session = await look(sessionID)
      const source = session.parent ? null : session.source
      const asks = ASK_ON_PROMPT && !session.parent
      session.source = null
      const message = { id: messageID, role: "user" }
      const parts = [{ id: messageID, type: "text", text: prompt.text }]
      const start = source ? hand("session-start", sessionID, { source }, true) : null
      const found = hand("prompt", sessionID, { message, parts }, asks)
      if (start) session.told = answered(await start).context
      session.found = asks ? answered(await found).context : ""
    }),
  )
  await context.session.hook("context", (request) =>
    quietly(() => {
      const { told, found } = sessions.get(request.sessionID) ?? {}
      for (const text of [told, found]) if (text) request.system.push({ type: "text", text })
    }),
  )
  const events = context.event.subscribe()[Symbol.asyncIterator]()
  quietly(async () => {
    for (let next = await events.next(); !next.done; next = await events.next())
      await quietly(() => listeners[next.value.type]?.(next.value.data))
  })
  return () =>
    quietly(async () => {
      await end()
      events.return?.()
    })
}

export default { id: "mnemic", server: Mnemic, setup }
