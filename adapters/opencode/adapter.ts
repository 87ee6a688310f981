// OpenCode asks toolgate before every tool call, of its own tools, of sub-agents and of MCP servers, and after it what the
// model may see of what the tool gave back.
//
// OpenCode skips a plugin that fails while it loads, and then runs everything. So nothing here throws before the first
// call: a gate that cannot start says so loudly, and blocks each call.

import { accessSync, constants } from "node:fs";

import type { Hooks, Plugin, PluginInput, PluginModule } from "@opencode-ai/plugin";

import {
  type Answer,
  Gate,
  type GateOptions,
  Notices,
  cannotJudge,
  messageOf,
  replaceMembers,
  warning,
  withheld,
} from "./gate.ts";

export type Options = GateOptions;

/** Makes the plugin: `export const Toolgate = toolgate({ command: ["/usr/local/bin/toolgate", "serve", "opencode"] })`. */
export function toolgate(options: Options): Plugin {
  return async (host) => {
    const gate = new Gate(options);
    const missing = whyNotThere(options);
    if (missing !== undefined) warn(host.client, cannotJudge(missing).reason);
    return hooks(gate, host);
  };
}

/** For the list of plugins in `opencode.json`: `["@toolgate/opencode", { "command": ["/usr/local/bin/toolgate", "serve", "opencode"] }]`. */
export default {
  id: "toolgate",
  server: (host, options) => toolgate(options as unknown as Options)(host),
} satisfies PluginModule;

function hooks(gate: Gate, { client, directory, worktree }: PluginInput): Hooks {
  const notices = new Notices();
  /** Sessions of sub-agents: what is said in them, a model has said. */
  const children = new Set<string>();
  const judge = (event: string, input: unknown, output: unknown = {}): Promise<Answer> =>
    gate.judge(event, { directory, worktree, input, output });

  return {
    // OpenCode knows one way to block: an error, whose text the model gets.
    "tool.execute.before": async (input, output) => {
      const answer = await judge("tool.execute.before", input, output);
      const notice = notices.next(answer);
      if (notice !== undefined) show(client, notice);
      switch (answer.decision) {
        case "deny":
          throw new Error(answer.reason);
        case "ask":
          throw new Error(
            `${answer.reason}\nA person has to agree to this, and OpenCode gives its plugins no way to ask. They can ` +
              "run it themselves, or allow it in toolgate's settings.",
          );
        case "allow":
          if ("input" in answer) replaceMembers(output.args, answer.input);
          freeze(output.args);
      }
    },

    // The model gets what stands in OpenCode's own object afterwards, or the text of an error instead.
    "tool.execute.after": async (input, output) => {
      const answer = await judge("tool.execute.after", input, output);
      if (answer.decision !== "allow") throw new Error(withheld(answer.reason));
      if (!("output" in answer)) return;
      replaceMembers(output, answer.output);
      addNote(output, answer.note ?? "");
    },

    // What the user says begins a turn. Nobody waits for the record of it; the gate reads what it is told in order.
    "chat.message": async (input, { parts }) => {
      if (children.has(input.sessionID)) return;
      void judge("chat.message", input, { parts: parts.filter((part) => part.type === "text" && !part.synthetic) });
    },

    event: async ({ event }) => {
      if (event.type !== "session.created") return;
      const { info } = event.properties;
      if (info?.parentID !== undefined) children.add(info.id);
      const told = warning(await judge(event.type, event.properties));
      if (told !== undefined) warn(client, told);
    },

    dispose: async () => gate.close(),
  };
}

/** Adds a last line to what the model reads. The tools of MCP servers give back parts, and all others a text. */
function addNote(output: { output?: unknown; content?: unknown }, note: string): void {
  if (note === "") return;
  if (typeof output.output === "string") output.output = `${output.output}\n${note}`;
  else if (Array.isArray(output.content)) output.content.push({ type: "text", text: note });
}

/** A plugin of the repository runs after this one: what was judged must be what runs. */
function freeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  Object.values(value).forEach(freeze);
}

function whyNotThere(options: Options): string | undefined {
  try {
    accessSync(options.command[0] ?? "", constants.X_OK);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

type Client = PluginInput["client"];

function warn(client: Client, message: string): void {
  process.stderr.write(`${message}\n`);
  log(client, "error", message);
}

/** On the screen, where there is one, and in OpenCode's log. */
function show(client: Client, message: string): void {
  log(client, "warn", message);
  Promise.resolve()
    .then(() => client.tui.showToast({ body: { title: "toolgate", message, variant: "warning" } }))
    .catch(() => {});
}

function log(client: Client, level: "warn" | "error", message: string): void {
  // Not awaited: while plugins load, OpenCode's server does not answer yet.
  Promise.resolve()
    .then(() => client.app.log({ body: { service: "toolgate", level, message } }))
    .catch(() => {});
}
