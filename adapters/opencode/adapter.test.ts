import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { Hooks, PluginInput } from "@opencode-ai/plugin";

import plugin, { type Options, toolgate } from "./adapter.ts";

const FAKE = join(import.meta.dirname, "..", "fake-toolgate.ts");
const fake = (behaviour: string): Options => ({ command: [process.execPath, FAKE, behaviour] });
const MISSING: Options = { command: ["/nowhere/toolgate", "serve", "opencode"] };

/** OpenCode with one plugin in it; `logged` is what the plugin said. */
async function opencode(options: Options) {
  const logged: string[] = [];
  const toasts: string[] = [];
  const client = {
    app: { log: async ({ body }: { body: { message: string } }) => logged.push(body.message) },
    tui: { showToast: async ({ body }: { body: { message: string } }) => toasts.push(body.message) },
  };
  const host = { client, directory: "/home/dev/project", worktree: "/home/dev" } as unknown as PluginInput;
  const hooks = await quietly(() => toolgate(options)(host));
  const before = (answer: object, args: unknown = { command: "ls", timeout: 5 }) =>
    hooks["tool.execute.before"]?.({ tool: "bash", sessionID: "s1", callID: "c1" }, { args, ...{ answer } });
  return { before, hooks, logged, toasts };
}

/** Without what goes to stderr, which is for people. */
async function quietly<Result>(work: () => Promise<Result>): Promise<Result> {
  const write = process.stderr.write;
  process.stderr.write = () => true;
  try {
    return await work();
  } finally {
    process.stderr.write = write;
  }
}

test("no objection is silence, and leaves the arguments alone", async () => {
  const { before, hooks } = await opencode(fake("answer"));
  const args = { command: "ls" };
  assert.equal(await before({ decision: "allow" }, args), undefined);
  assert.deepEqual(args, { command: "ls" });
  await hooks.dispose?.();
});

test("a denial is an error with toolgate's reason, word for word", async () => {
  const { before, hooks } = await opencode(fake("answer"));
  await assert.rejects(async () => before({ decision: "deny", reason: "not there" }), new Error("not there"));
  await hooks.dispose?.();
});

test("asking is a denial that says why nobody was asked", async () => {
  const { before, hooks } = await opencode(fake("answer"));
  await assert.rejects(
    async () => before({ decision: "ask", reason: "unproved" }),
    /^Error: unproved\nA person has to agree .* OpenCode gives its plugins no way to ask/s,
  );
  await hooks.dispose?.();
});

test("changed arguments are put into OpenCode's own object", async () => {
  const { before, hooks } = await opencode(fake("answer"));
  const args = { command: "ls", timeout: 5 };
  await before({ decision: "allow", input: { command: "cd /w && ls" } }, args);
  assert.deepEqual(args, { command: "cd /w && ls" });
  await assert.rejects(async () => before({ decision: "allow", input: ["ls"] }, args), /no object/);
  await assert.rejects(async () => before({ decision: "allow", input: {} }, "text"), /no object/);
  await hooks.dispose?.();
});

test("what was judged is what runs, whatever a plugin behind this one does", async () => {
  const { before, hooks } = await opencode(fake("answer"));
  const args = { command: "ls", more: { list: [1] } };
  await before({ decision: "allow" }, args);
  assert.throws(() => (args.command = "rm"), TypeError);
  assert.throws(() => args.more.list.push(2), TypeError);
  await hooks.dispose?.();
});

test("the call and its place go out whole", async () => {
  const { before, hooks } = await opencode(fake("echo"));
  await assert.rejects(
    async () => before({}),
    (error: Error) => {
      assert.deepEqual(JSON.parse(error.message), {
        event: "tool.execute.before",
        payload: {
          directory: "/home/dev/project",
          worktree: "/home/dev",
          input: { tool: "bash", sessionID: "s1", callID: "c1" },
          output: { args: { command: "ls", timeout: 5 }, answer: {} },
        },
      });
      return true;
    },
  );
  await hooks.dispose?.();
});

test("a gate that cannot start says so when it is loaded, does not fail to load, and blocks every call", async () => {
  for (const options of [MISSING, { command: [] }, {} as Options, undefined as unknown as Options]) {
    const { before, logged } = await opencode(options);
    assert.match(logged.join(), /^toolgate cannot judge this call, so it is denied: /);
    await assert.rejects(async () => before({ decision: "allow" }), /^Error: toolgate cannot judge this call/);
  }
  const { hooks } = await opencode(fake("garbage"));
  await assert.rejects(
    async () => hooks["tool.execute.before"]?.({ tool: "bash", sessionID: "s", callID: "c" }, { args: {} }),
    /not JSON/,
  );
});

test("a client that does not work stops neither the plugin nor its blocking", async () => {
  const host = { client: undefined, directory: "/", worktree: "/" } as unknown as PluginInput;
  const hooks = await quietly(() => toolgate(MISSING)(host));
  await assert.rejects(
    async () => hooks["tool.execute.before"]?.({ tool: "bash", sessionID: "s", callID: "c" }, { args: {} }),
    /cannot judge/,
  );
});

type Output = Parameters<NonNullable<Hooks["tool.execute.after"]>>[1];

/** What a tool gave back, after the plugin has seen it; the fake answers what it is told to. */
async function shown(options: Options, answer: object, output: object): Promise<object> {
  const { hooks } = await opencode(options);
  const input = { tool: "bash", sessionID: "s1", callID: "c1", args: { answer } };
  try {
    await hooks["tool.execute.after"]?.(input, output as Output);
    return output;
  } finally {
    await hooks.dispose?.();
  }
}

test("what a tool gave back stays, or is changed in OpenCode's own object, with the note behind", async () => {
  const after = (answer: object, output: object) => shown(fake("answer"), { decision: "allow", ...answer }, output);
  const given = () => ({ title: "cat", output: "the secret", metadata: { output: "the secret" } });
  assert.deepEqual(await after({}, given()), given());
  const changed = { title: "cat", output: "the [mark]", metadata: { output: "the [mark]" } };
  const own = given();
  assert.equal(await after({ output: changed, note: "one redacted" }, own), own);
  assert.deepEqual(own, { ...changed, output: "the [mark]\none redacted" });
  const part = (text: string) => ({ type: "text", text });
  const parts = { output: { content: [part("[mark]")] }, note: "one redacted" };
  assert.deepEqual(await after(parts, { content: [part("the secret")] }), {
    content: [part("[mark]"), part("one redacted")],
  });
});

test("what a tool gave back is not shown where nobody could look through it", async () => {
  const why = /^Error: The tool has run, but what it gave back is not shown\. /;
  for (const options of [MISSING, fake("echo"), fake("garbage"), fake("exit")]) {
    await assert.rejects(async () => shown(options, {}, { title: "", output: "the secret", metadata: {} }), why);
  }
  await assert.rejects(async () => shown(fake("answer"), { decision: "ask", reason: "sure?" }, {}), why);
  await assert.rejects(async () => shown(fake("answer"), { decision: "allow", output: "text" }, {}), /no object/);
  const fixed = Object.freeze({ title: "", output: "the secret", metadata: {} });
  await assert.rejects(async () => shown(fake("answer"), { decision: "allow", output: { output: "" } }, fixed), TypeError);
});

test("a new session is told, and a gate that does not work is told about then", async () => {
  const created = { event: { type: "session.created", properties: { sessionID: "s1" } } } as unknown as Parameters<NonNullable<Hooks["event"]>>[0];
  const broken = await opencode(fake("exit at once"));
  assert.deepEqual(broken.logged, []);
  await quietly(async () => broken.hooks.event?.(created));
  assert.match(broken.logged.join(), /unknown profile/);
  const working = await opencode(fake("answer"));
  await working.hooks.event?.(created);
  assert.deepEqual(working.logged, []);
  await working.hooks.dispose?.();
});

test("that the gate steps back is shown and logged once", async () => {
  const { before, hooks, logged, toasts } = await opencode(fake("answer"));
  for (let i = 0; i < 3; i += 1) await before({ decision: "allow", notice: "not a trusted project" });
  assert.deepEqual(logged, ["not a trusted project"]);
  assert.deepEqual(toasts, ["not a trusted project"]);
  await hooks.dispose?.();
});

test("what the person should know is shown with a denial too", async () => {
  const { before, hooks, toasts } = await opencode(fake("answer"));
  await assert.rejects(async () => before({ decision: "deny", reason: "no", notice: "tried twice" }), new Error("no"));
  assert.deepEqual(toasts, ["tried twice"]);
  await hooks.dispose?.();
});

type Message = Parameters<NonNullable<Hooks["chat.message"]>>;

test("what the user says is told, without what OpenCode adds and what a sub-agent is told, and never stopped", async () => {
  const parts = [
    { type: "text", text: "do it" },
    { type: "text", text: "a whole file", synthetic: true },
    { type: "file", url: "data:" },
  ];
  const say = (hooks: Hooks, sessionID: string) =>
    hooks["chat.message"]?.({ sessionID }, { message: {}, parts } as unknown as Message[1]);
  for (const options of [MISSING, fake("garbage"), fake("hang")]) {
    const { hooks } = await opencode(options);
    assert.equal(await say(hooks, "s1"), undefined);
  }
  const { before, hooks } = await opencode(fake("one before"));
  const created = { type: "session.created", properties: { info: { id: "child", parentID: "s1" } } };
  await quietly(async () => hooks.event?.({ event: created } as unknown as Parameters<NonNullable<Hooks["event"]>>[0]));
  await say(hooks, "s1");
  await say(hooks, "child");
  await assert.rejects(async () => before({}), (error: Error) => {
    const { event, payload } = JSON.parse(error.message);
    assert.deepEqual([event, payload.input, payload.output], ["chat.message", { sessionID: "s1" }, { parts: parts.slice(0, 1) }]);
    return true;
  });
  await hooks.dispose?.();
});

test("as a package it takes its options from the list of plugins", async () => {
  const host = { client: undefined, directory: "/", worktree: "/" } as unknown as PluginInput;
  const hooks = await plugin.server(host, { command: [process.execPath, FAKE, "raw"] });
  await assert.rejects(
    async () => hooks["tool.execute.before"]?.({ tool: "bash", sessionID: "s", callID: "c" }, { args: {} }),
    /not known/,
  );
});
