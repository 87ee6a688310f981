import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

import { type Options, toolgate } from "./adapter.ts";

const FAKE = join(import.meta.dirname, "..", "fake-toolgate.ts");
const fake = (behaviour: string): Options => ({ command: [process.execPath, FAKE, behaviour] });
const MISSING: Options = { command: ["/nowhere/toolgate", "serve", "pi"] };

type Handler = (event: unknown, ctx: ExtensionContext) => unknown;
type Dialog = { title: string; message: string; timeout: number | undefined };

/** pi with one extension in it. */
async function pi(options: Options) {
  const handlers = new Map<string, Handler>();
  const on = (event: string, handler: Handler) => void handlers.set(event, handler);
  await toolgate(options)({ on } as unknown as ExtensionAPI);
  const dialogs: Dialog[] = [];
  const notes: string[] = [];
  const screen = (agreed: boolean, more: object = {}): ExtensionContext => {
    const known = {
      mode: "print",
      hasUI: false,
      cwd: "/home/dev/project",
      isProjectTrusted: () => true,
      sessionManager: { getSessionId: () => "s1", getSessionFile: () => "/home/dev/s1.jsonl" },
      signal: undefined,
      ui: {
        confirm: async (title: string, message: string, dialog?: { timeout?: number }) => {
          dialogs.push({ title, message, timeout: dialog?.timeout });
          return agreed;
        },
        notify: (message: string) => void notes.push(message),
      },
      ...more,
    };
    return known as unknown as ExtensionContext;
  };
  const send = async (event: { type: string }, ctx = screen(false)) => await handlers.get(event.type)?.(event, ctx);
  const shutdown = () => send({ type: "session_shutdown" });
  return { dialogs, handlers, notes, screen, send, shutdown };
}

/** A call, and what the fake is to answer. */
function call(answer: object, input: Record<string, unknown> = { command: "ls", timeout: 5 }) {
  return { type: "tool_call", toolName: "bash", toolCallId: "c1", input, answer };
}

const answering = fake("answer");

test("no objection is silence", async () => {
  const host = await pi(answering);
  assert.equal(await host.send(call({ decision: "allow" })), undefined);
  assert.equal(await host.send(call({ decision: "allow", granted: true })), undefined);
  assert.deepEqual([host.dialogs, host.notes], [[], []]);
  await host.shutdown();
});

test("a denial blocks with toolgate's reason, word for word", async () => {
  const host = await pi(answering);
  assert.deepEqual(await host.send(call({ decision: "deny", reason: "not there" })), {
    block: true,
    reason: "not there",
  });
  await host.shutdown();
});

test("the call and what pi knows of the session go out whole", async () => {
  const host = await pi(fake("echo"));
  const nested = { ...call({}), toolCallId: "c1/2", parentToolCallId: "c1" };
  const ctx = host.screen(false, { mode: "rpc", hasUI: true, isProjectTrusted: () => false });
  const result = (await host.send(nested, ctx)) as { reason: string };
  assert.deepEqual(JSON.parse(result.reason), {
    event: "tool_call",
    payload: {
      event: nested,
      ctx: {
        mode: "rpc",
        hasUI: true,
        cwd: "/home/dev/project",
        trusted: false,
        sessionId: "s1",
        sessionFile: "/home/dev/s1.jsonl",
      },
    },
  });
  const old = host.screen(false, { mode: undefined, isProjectTrusted: undefined });
  const { payload } = JSON.parse(((await host.send(nested, old)) as { reason: string }).reason);
  assert.deepEqual(Object.keys(payload.ctx), ["hasUI", "cwd", "sessionId", "sessionFile"]);
  await host.shutdown();
});

test("a changed input is put into pi's own object", async () => {
  const host = await pi(answering);
  const event = call({ decision: "allow", input: { command: 'cd "/w" && ls' } });
  const input = event.input;
  assert.equal(await host.send(event), undefined);
  assert.equal(event.input, input);
  assert.deepEqual(input, { command: 'cd "/w" && ls' });

  const broken = (await host.send(call({ decision: "allow", input: "ls" }))) as { block: boolean; reason: string };
  assert.equal(broken.block, true);
  assert.match(broken.reason, /no object/);
  await host.shutdown();
});

test("where nobody can be asked, asking is blocking", async () => {
  const host = await pi(answering);
  const result = (await host.send(call({ decision: "ask", reason: "unproved" }))) as { block: boolean; reason: string };
  assert.equal(result.block, true);
  assert.match(result.reason, /^unproved\nA person has to agree .* toolgate's settings\.$/s);
  assert.equal(host.dialogs.length, 0);
  await host.shutdown();
});

test("a person is asked with a time limit, and sees what would run", async () => {
  const host = await pi(answering);
  const asked = call({ decision: "ask", reason: "unproved", input: { command: "ls -l" } });
  assert.equal(await host.send(asked, host.screen(true, { hasUI: true, mode: "tui" })), undefined);
  assert.deepEqual(asked.input, { command: "ls -l" });
  assert.deepEqual(host.dialogs, [
    { title: "Run bash?", message: 'unproved\n\n{"command":"ls -l"}', timeout: 120_000 },
  ]);

  const refused = call({ decision: "ask", reason: "unproved", input: { command: "ls -l" } });
  assert.deepEqual(await host.send(refused, host.screen(false, { hasUI: true })), {
    block: true,
    reason: "unproved\nA person was asked, and did not agree.",
  });
  assert.deepEqual(refused.input, { command: "ls", timeout: 5 });
  await host.shutdown();
});

test("what the model writes cannot dress up the question", async () => {
  const host = await pi(answering);
  const command = `rm x\u001b[2K\u009b1A\u202e${"a".repeat(5_000)}; rm y`;
  await host.send(call({ decision: "ask", reason: "sure?" }, { command }), host.screen(true, { hasUI: true }));
  const [{ message } = { message: "" }] = host.dialogs;
  assert.doesNotMatch(message, /[\u001b\u009b\u202e]/);
  assert.match(message, /rm x\\u001b\[2K\\u\{9b\}1A\\u\{202e\}/);
  assert.match(message, /\[\d+ characters are not shown\]/);
  assert.match(message, /; rm y"\}$/);
  await host.shutdown();
});

test("a gate that is gone blocks every call", async () => {
  const host = await pi(MISSING);
  for (const event of [call({}), { ...call({}), parentToolCallId: "c0" }]) {
    const result = (await host.send(event)) as { block: boolean; reason: string };
    assert.equal(result.block, true);
    assert.match(result.reason, /^toolgate cannot judge this call, so it is denied: `\/nowhere\/toolgate` cannot be run/);
  }
});

test("an error in the handler blocks", async () => {
  const host = await pi(answering);
  const broken = host.screen(false, {
    sessionManager: {
      getSessionId: () => {
        throw new Error("stale context");
      },
    },
  });
  assert.deepEqual(await host.send(call({ decision: "allow" }), broken), {
    block: true,
    reason: "toolgate cannot judge this call, so it is denied: stale context",
  });
  const mute = host.screen(false, {
    hasUI: true,
    ui: {
      confirm: async () => {
        throw new Error("no screen");
      },
    },
  });
  assert.deepEqual(await host.send(call({ decision: "ask", reason: "sure?" }), mute), {
    block: true,
    reason: "toolgate cannot judge this call, so it is denied: no screen",
  });
  await host.shutdown();
});

test("an aborted call is blocked", async () => {
  const host = await pi(answering);
  const ctx = host.screen(true, { signal: AbortSignal.abort() });
  const result = (await host.send(call({ decision: "allow" }), ctx)) as { block: boolean };
  assert.equal(result.block, true);
  await host.shutdown();
});

test("a person's own command is not stopped, whatever the gate says", async () => {
  for (const options of [MISSING, fake("echo"), fake("garbage")]) {
    const host = await pi(options);
    assert.equal(await host.send({ type: "user_bash", command: "rm -rf x" } as { type: string }), undefined);
    const stale = host.screen(false, { sessionManager: undefined });
    assert.equal(await host.send({ type: "user_bash" }, stale), undefined);
    await host.shutdown();
  }
});

/** What a tool gave back, and what the fake is to answer. */
function result(answer: object, isError = false) {
  const content = [{ type: "text", text: "the secret" }];
  return { type: "tool_result", toolName: "bash", toolCallId: "c1", input: {}, content, isError, answer };
}

test("what a tool gave back stays, or is shown as toolgate says, with its note behind", async () => {
  const host = await pi(answering);
  assert.equal(await host.send(result({ decision: "allow" })), undefined);
  const [part, note] = [{ type: "text", text: "the [mark]" }, { type: "text", text: "one redacted" }];
  const output = { content: [part], details: { diff: "[mark]" }, structuredContent: { output: "[mark]" } };
  for (const isError of [false, true]) {
    const event = result({ decision: "allow", output, note: "one redacted" }, isError);
    assert.deepEqual(await host.send(event), { ...output, content: [part, note] });
  }
  const detailsOnly = { decision: "allow", output: { details: "[mark]" }, note: "one redacted" };
  assert.deepEqual(await host.send(result(detailsOnly)), { details: "[mark]", content: [note] });
  await host.shutdown();
});

test("what a tool gave back is not shown where nobody could look through it", async () => {
  const placeholder = (shown: unknown, why: RegExp) => {
    assert.deepEqual(Object.keys(shown as object), ["content"]);
    const { content } = shown as { content: { type: string; text: string }[] };
    assert.deepEqual(content.map(({ type }) => type), ["text"]);
    assert.match(content[0]?.text ?? "", /^The tool has run, but what it gave back is not shown\. /);
    assert.match(content[0]?.text ?? "", why);
  };
  for (const options of [MISSING, fake("garbage"), fake("exit")]) {
    const host = await pi(options);
    placeholder(await host.send(result({ decision: "allow" })), /cannot judge/);
    await host.shutdown();
  }
  const host = await pi(answering);
  placeholder(await host.send(result({ decision: "deny", reason: "too large" })), /too large/);
  placeholder(await host.send(result({ decision: "ask", reason: "sure?" })), /sure/);
  placeholder(await host.send(result({ decision: "allow", output: "text" })), /cannot show/);
  placeholder(await host.send(result({ decision: "allow", output: { content: "text" } })), /cannot show/);
  const stale = host.screen(false, { sessionManager: undefined });
  placeholder(await host.send(result({ decision: "allow" }), stale), /cannot judge/);
  await host.shutdown();
});

test("a gate that does not work is told about when the session starts, one that works is not", async () => {
  const broken = await pi(MISSING);
  await broken.send({ type: "session_start" }, broken.screen(false, { hasUI: true }));
  assert.match(broken.notes.join(), /cannot be run/);
  const working = await pi(answering);
  await working.send({ type: "session_start" }, working.screen(false, { hasUI: true }));
  assert.deepEqual(working.notes, []);
  const start = { type: "session_start", answer: { decision: "allow", notice: "settings are broken" } };
  await working.send(start, working.screen(false, { hasUI: true }));
  assert.deepEqual(working.notes, ["settings are broken"]);
  await working.shutdown();
});

test("that the gate steps back is told once, and only on a screen", async () => {
  const host = await pi(answering);
  const back = () => call({ decision: "allow", notice: "not a trusted project" });
  for (let i = 0; i < 3; i += 1) assert.equal(await host.send(back(), host.screen(false, { hasUI: true })), undefined);
  assert.deepEqual(host.notes, ["not a trusted project"]);
  const mute = await pi(answering);
  assert.equal(await mute.send(back()), undefined);
  assert.deepEqual(mute.notes, []);
  await host.shutdown();
  await mute.shutdown();
});

test("what the person should know is shown with a denial too, and the model is told who it is, once", async () => {
  const host = await pi(answering);
  const screen = () => host.screen(false, { hasUI: true });
  await host.send(call({ decision: "deny", reason: "no", notice: "tried twice" }), screen());
  assert.deepEqual(host.notes, ["tried twice"]);
  assert.equal(await host.send({ type: "before_agent_start" }), undefined);
  const start = { type: "session_start", answer: { decision: "allow", context: "You are Fenster." } };
  assert.equal(await host.send(start, screen()), undefined);
  assert.deepEqual(await host.send({ type: "before_agent_start" }), {
    message: { customType: "toolgate", content: "You are Fenster.", display: false },
  });
  assert.equal(await host.send({ type: "before_agent_start" }), undefined);
  assert.deepEqual(host.notes, ["tried twice"]);
  await host.shutdown();
});

test("what the user says is told without its images, in order, and never stopped", async () => {
  const said = { type: "input", text: "do it", source: "interactive", images: ["large"] };
  for (const options of [MISSING, fake("echo"), fake("garbage"), fake("hang")]) {
    const host = await pi(options);
    assert.equal(await host.send(said), undefined);
  }
  const host = await pi(fake("one before"));
  await host.send(said);
  const { reason } = (await host.send(call({}))) as { reason: string };
  const { event, payload } = JSON.parse(reason);
  assert.deepEqual([event, payload.event], ["input", { type: "input", text: "do it", source: "interactive" }]);
  await host.shutdown();
});
