import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import type { CopilotClient, PermissionRequest, ResumeSessionConfig, SessionConfig, SessionHooks } from "@github/copilot-sdk";

import { type AgentOptions, buildHooksForAgent, gateSession } from "./index.ts";

const FAKE = join(import.meta.dirname, "..", "fake-toolgate.ts");
const fake = (behaviour: string, more: Partial<AgentOptions> = {}): AgentOptions => ({
  agent: "fenster",
  command: [process.execPath, FAKE, behaviour],
  ...more,
});
const MISSING: AgentOptions = { agent: "fenster", command: ["/nowhere/toolgate", "serve", "copilot-sdk"] };
const INVOCATION = { sessionId: "s1" };

const at = { sessionId: "s1", timestamp: new Date(0), workingDirectory: "/home/dev/project" };
/** A call, and what the fake is to answer. */
const call = (answer: object) => ({ ...at, toolName: "bash", toolArgs: { command: "ls", answer } });
const request = (kind: string, answer: object, more: object = {}) =>
  ({ kind, toolCallId: "c1", answer, ...more }) as unknown as PermissionRequest;

async function pre(options: AgentOptions, answer: object) {
  const agent = buildHooksForAgent(options);
  const output = await agent.hooks.onPreToolUse?.(call(answer), INVOCATION);
  agent.close();
  return output;
}

async function permission(options: AgentOptions, asked: PermissionRequest) {
  const agent = buildHooksForAgent(options);
  const result = await agent.onPermissionRequest(asked, INVOCATION);
  agent.close();
  return result;
}

test("before a tool: silence, grant, change, question, denial", async () => {
  const judged = (answer: object) => pre(fake("answer"), answer);
  assert.equal(await judged({ decision: "allow" }), undefined);
  assert.deepEqual(await judged({ decision: "allow", granted: true }), { permissionDecision: "allow" });
  assert.deepEqual(await judged({ decision: "allow", input: { command: "cd /w && ls" } }), {
    modifiedArgs: { command: "cd /w && ls" },
  });
  assert.deepEqual(await judged({ decision: "allow", input: "*** Begin Patch" }), { modifiedArgs: "*** Begin Patch" });
  assert.deepEqual(await judged({ decision: "ask", reason: "unproved" }), {
    permissionDecision: "ask",
    permissionDecisionReason: "unproved",
  });
  assert.deepEqual(await judged({ decision: "deny", reason: "not there" }), {
    permissionDecision: "deny",
    permissionDecisionReason: "not there",
  });
});

test("a changed call that a person would have to agree to is denied: the SDK would run the unchanged one", async () => {
  const refused = {
    permissionDecision: "deny",
    permissionDecisionReason: 'unproved\nAsk for it in this form: {"command":"cd /w && ls"}',
  };
  const input = { command: "cd /w && ls" };
  assert.deepEqual(await pre(fake("answer"), { decision: "ask", reason: "unproved", input }), refused);
  const ours = (output: object) => fake("answer", { hooks: { onPreToolUse: () => ({ modifiedArgs: input, ...output }) } });
  assert.equal((await pre(ours({}), { decision: "allow" }))?.permissionDecision, undefined);
  const asking = ours({ permissionDecision: "ask", permissionDecisionReason: "unproved" });
  assert.deepEqual(await pre(asking, { decision: "allow" }), refused);
});

test("before a tool: whatever goes wrong denies", async () => {
  for (const options of [
    MISSING,
    fake("garbage"),
    fake("exit"),
    fake("hang", { timeoutMs: 300 }),
    fake("answer", {
      hooks: {
        onPreToolUse: () => {
          throw new Error("the app's own error");
        },
      },
    }),
  ]) {
    const output = await pre(options, { decision: "allow" });
    assert.equal(output?.permissionDecision, "deny");
    assert.match(output?.permissionDecisionReason ?? "", /^toolgate cannot judge this call, so it is denied: /);
  }
});

test("callback, input, session, agent and role go out", async () => {
  const agent = buildHooksForAgent(fake("echo", { role: { name: "code-reviewer" }, phase: "team-mode" }));
  const output = await agent.hooks.onPreToolUse?.(call({}), INVOCATION);
  assert.deepEqual(JSON.parse(output?.permissionDecisionReason ?? ""), {
    event: "onPreToolUse",
    payload: {
      input: { ...call({}), timestamp: "1970-01-01T00:00:00.000Z" },
      invocation: INVOCATION,
    },
  });
  agent.close();
  const started = async (more: Partial<AgentOptions>) =>
    JSON.parse((await pre(fake("arguments", more), {}))?.permissionDecisionReason ?? "");
  assert.deepEqual(await started({}), ["arguments", "--agent", "fenster"]);
  assert.deepEqual(await started({ role: { name: "code-reviewer" }, phase: "init-phase-1" }), [
    ...["arguments", "--agent", "fenster", "--role", "code-reviewer", "--phase", "init-phase-1"],
  ]);
});

test("the app's own hook comes first, and the stricter one counts", async () => {
  const own = (output: ReturnType<NonNullable<SessionHooks["onPreToolUse"]>>) => ({ hooks: { onPreToolUse: () => output } });
  const judged = (output: Awaited<ReturnType<NonNullable<SessionHooks["onPreToolUse"]>>>, answer: object) =>
    pre(fake("answer", own(output)), answer);
  const no = { permissionDecision: "deny", permissionDecisionReason: "ours" } as const;
  assert.deepEqual(await judged(no, { decision: "allow", granted: true }), no);
  assert.equal((await judged({ permissionDecision: "allow" }, { decision: "deny" }))?.permissionDecision, "deny");
  assert.equal((await judged({ permissionDecision: "allow" }, { decision: "ask" }))?.permissionDecision, "ask");
  assert.equal((await judged({ permissionDecision: "ask" }, { decision: "allow" }))?.permissionDecision, "ask");
  assert.equal(
    (await judged({ permissionDecision: "ask" }, { decision: "allow", granted: true }))?.permissionDecision,
    "ask",
  );
  assert.deepEqual(await judged({ additionalContext: "note" }, { decision: "allow" }), { additionalContext: "note" });

  const changed = await pre(fake("echo", own({ modifiedArgs: { command: "rm x" } })), {});
  assert.deepEqual(JSON.parse(changed?.permissionDecisionReason ?? "").payload.input.toolArgs, { command: "rm x" });
});

test("all hook points are there; the others tell, stop nothing, and leave the app's own answer alone", async () => {
  const error = "it broke";
  const events = {
    onPostToolUseFailure: { ...at, toolName: "bash", toolArgs: {}, error },
    onPreMcpToolCall: { ...at, serverName: "s", toolName: "t", arguments: {} },
    onUserPromptSubmitted: { ...at, prompt: "do it" },
    onSessionStart: { ...at, source: "new" },
    onSessionEnd: { ...at, reason: "complete" },
    onErrorOccurred: { ...at, error, errorContext: "system", recoverable: false },
  } as const;
  type Hook = (input: unknown, invocation: unknown) => Promise<unknown>;
  for (const options of [MISSING, fake("echo"), fake("garbage")]) {
    const silent = buildHooksForAgent(options);
    const own = Object.fromEntries(Object.keys(events).map((name) => [name, () => ({ additionalContext: name })]));
    const talking = buildHooksForAgent({ ...options, hooks: own });
    for (const [name, input] of Object.entries(events)) {
      const hook = (agent: typeof silent) => agent.hooks[name as keyof typeof events] as Hook;
      assert.equal(await hook(silent)(input, INVOCATION), undefined, name);
      assert.deepEqual(await hook(talking)(input, INVOCATION), { additionalContext: name });
    }
    silent.close();
    talking.close();
  }
});

/** What a tool gave back, and what the fake is to answer. */
async function post(options: AgentOptions, answer: object) {
  const agent = buildHooksForAgent(options);
  const toolResult = { textResultForLlm: "the secret", resultType: "success" } as const;
  const input = { ...at, toolName: "bash", toolArgs: { answer }, toolResult };
  const output = await agent.hooks.onPostToolUse?.(input, INVOCATION);
  agent.close();
  return output;
}

test("what a tool gave back stays, or is shown as toolgate says, with its note beside", async () => {
  const changed = { textResultForLlm: "the [mark]", resultType: "success", sessionLog: "[mark]" };
  const redacted = { decision: "allow", output: changed, note: "one redacted" };
  assert.equal(await post(fake("answer"), { decision: "allow" }), undefined);
  assert.deepEqual(await post(fake("answer"), redacted), {
    modifiedResult: changed,
    additionalContext: "one redacted",
  });
  const own = { modifiedResult: { textResultForLlm: "shorter", resultType: "success" } as const, additionalContext: "app" };
  const hooks: SessionHooks = { onPostToolUse: () => own };
  assert.deepEqual(await post(fake("answer", { hooks }), { decision: "allow" }), own);
  assert.deepEqual(await post(fake("answer", { hooks }), redacted), {
    modifiedResult: changed,
    additionalContext: "app\none redacted",
  });
  const judged = await post(fake("echo", { hooks }), {});
  assert.match(judged?.modifiedResult?.textResultForLlm ?? "", /"toolResult":\{"textResultForLlm":"shorter"/);
});

test("what a tool gave back is not shown where nobody could look through it", async () => {
  const throwing: SessionHooks = {
    onPostToolUse: () => {
      throw new Error("the app broke");
    },
  };
  const cases: [AgentOptions, object][] = [
    [MISSING, {}],
    [fake("garbage"), {}],
    [fake("exit"), {}],
    [fake("answer", { hooks: throwing }), { decision: "allow" }],
    [fake("answer"), { decision: "deny", reason: "too large" }],
    [fake("answer"), { decision: "ask", reason: "sure?" }],
    [fake("answer"), { decision: "allow", output: "text" }],
    [fake("answer"), { decision: "allow", output: { textResultForLlm: "no type" } }],
  ];
  for (const [options, answer] of cases) {
    const output = await post(options, answer);
    assert.deepEqual(Object.keys(output ?? {}), ["modifiedResult"]);
    assert.match(output?.modifiedResult?.textResultForLlm ?? "", /^The tool has run, but what it gave back is not shown\. /);
    assert.equal(output?.modifiedResult?.resultType, "success");
  }
});

test("hooks of the app that the gate has no part in stay", () => {
  const onAgentStop = () => undefined;
  assert.equal(buildHooksForAgent(fake("answer", { hooks: { onAgentStop } })).hooks.onAgentStop, onAgentStop);
});

const KINDS = ["shell", "write", "read", "mcp", "url", "memory", "custom-tool"];

test("a permission request of a known kind: what the gate says, or else the app's own handler", async () => {
  const approved = { kind: "approve-once" } as const;
  const refused = { kind: "reject", feedback: "the app says no" } as const;
  const alone = buildHooksForAgent(fake("answer"));
  const app = buildHooksForAgent(fake("answer", { onPermissionRequest: () => refused }));
  for (const kind of KINDS) {
    const judged = (answer: object, agent = alone) => agent.onPermissionRequest(request(kind, answer), INVOCATION);
    assert.deepEqual(await judged({ decision: "deny", reason: "no" }), { kind: "reject", feedback: "no" });
    assert.deepEqual(await judged({ decision: "deny", reason: "no" }, app), { kind: "reject", feedback: "no" });
    assert.deepEqual(await judged({ decision: "allow", granted: true }, app), approved);
    assert.deepEqual(await judged({ decision: "allow" }, app), refused);
    assert.deepEqual(await judged({ decision: "allow" }), approved);
    assert.deepEqual(await judged({ decision: "ask", reason: "sure?" }, app), refused);
    assert.deepEqual(await judged({ decision: "ask", reason: "sure?" }), {
      kind: "reject",
      feedback: "sure?\nA person has to agree to this, and nobody can be asked here.",
    });
  }
  alone.close();
  app.close();
});

test("a question of a hook, a request that nobody knows, and one that an administrator wants asked are for persons", async () => {
  const approved = { kind: "approve-once", approvedInteractively: true } as const;
  const alone = buildHooksForAgent(fake("answer"));
  const app = buildHooksForAgent(fake("answer", { onPermissionRequest: () => approved }));
  const asked: [PermissionRequest, boolean][] = [
    ...["hook", "factory", "extension-management", "of-tomorrow"].map(
      (kind): [PermissionRequest, boolean] => [request(kind, { decision: "allow", granted: true }), false],
    ),
    [request("shell", { decision: "allow", granted: true }, { managedApprovalRequired: true }), false],
    [request("shell", { decision: "allow", granted: true }), true],
  ];
  for (const [one, managed] of asked) {
    const invocation = { ...INVOCATION, managedSettingsEnabled: managed };
    assert.deepEqual(await app.onPermissionRequest(one, invocation), approved);
    assert.equal((await alone.onPermissionRequest(one, invocation)).kind, "reject");
  }
  alone.close();
  app.close();
});

test("a permission request that cannot be judged, or would be changed, is rejected", async () => {
  const app = { onPermissionRequest: () => ({ kind: "approve-once" }) as const };
  const shell = request("shell", { decision: "allow" });
  for (const options of [{ ...MISSING, ...app }, fake("garbage", app), fake("exit", app), fake("hang", { ...app, timeoutMs: 300 })]) {
    assert.equal((await permission(options, shell)).kind, "reject");
  }
  const changed = request("shell", { decision: "allow", input: { command: "x" } });
  assert.equal((await permission(fake("answer", app), changed)).kind, "reject");
  const broken = {
    onPermissionRequest: () => {
      throw new Error("no screen");
    },
  };
  assert.deepEqual(await permission(fake("answer", broken), shell), {
    kind: "reject",
    feedback: "toolgate cannot judge this call, so it is denied: no screen",
  });
});

/** The agent asks, and `judged` is what the fake answers to that. */
async function ask(options: AgentOptions, judged: object) {
  let asked = 0;
  const onUserInputRequest = () => {
    asked += 1;
    return { answer: "blue", wasFreeform: false };
  };
  const agent = buildHooksForAgent({ ...options, onUserInputRequest });
  const request = { question: "Which?", answer: judged };
  const { answer, wasFreeform } = (await agent.onUserInputRequest?.(request, INVOCATION)) ?? {};
  agent.close();
  return { answer, wasFreeform, asked };
}

test("a question is asked, or answered in the user's stead as toolgate says, or denied", async () => {
  const blue = { answer: "blue", wasFreeform: false, asked: 1 };
  assert.deepEqual(await ask(fake("answer"), { decision: "allow" }), blue);
  assert.deepEqual(await ask(fake("answer"), { decision: "ask", reason: "sure?" }), blue);
  const limit = { decision: "deny", reason: "too many", answer: "Proceed with your best judgment." };
  assert.deepEqual(await ask(fake("answer"), limit), {
    answer: "Proceed with your best judgment.",
    wasFreeform: true,
    asked: 0,
  });
  const denied = await ask(fake("answer"), { decision: "deny", reason: "not now" });
  assert.deepEqual(denied, { answer: "not now", wasFreeform: true, asked: 0 });
  for (const options of [MISSING, fake("garbage")]) {
    const { answer, asked } = await ask(options, {});
    assert.match(answer ?? "", /^toolgate cannot judge/);
    assert.equal(asked, 0);
  }
});

test("the user's answer is passed on as toolgate says, and whatever becomes of the gate as it was given", async () => {
  const brief = { decision: "allow", text: "blue (brief response)" };
  const onUserInputRequest = () => ({ answer: "blue", wasFreeform: false, ...{ told: { answer: brief } } });
  const passed = async (behaviour: string) => {
    const agent = buildHooksForAgent(fake(behaviour, { onUserInputRequest }));
    const response = await agent.onUserInputRequest?.({ question: "Which?" }, INVOCATION);
    agent.close();
    return [response?.answer, response?.wasFreeform];
  };
  assert.deepEqual(await passed("brief"), ["blue (brief response)", false]);
  assert.deepEqual(await passed("first only"), ["blue", false]);
});

test("the user is told what the gate has for them, the model is not, and no trouble of the app stops a call", async () => {
  const notices: string[] = [];
  const agent = buildHooksForAgent(fake("answer", { onNotice: (text) => notices.push(text) }));
  const judged = (answer: object) => agent.hooks.onPreToolUse?.(call(answer), INVOCATION);
  const denial = { decision: "deny", reason: "no", notice: "tried twice" };
  assert.deepEqual(await judged(denial), { permissionDecision: "deny", permissionDecisionReason: "no" });
  await judged(denial);
  assert.equal(await judged({ decision: "allow" }), undefined);
  await judged(denial);
  assert.deepEqual(notices, ["tried twice", "tried twice"], "not again and again, but again");
  agent.close();

  const broken: string[] = [];
  const gone = buildHooksForAgent({ ...MISSING, onNotice: (text) => broken.push(text) });
  await gone.hooks.onSessionStart?.({ ...at, source: "new" }, INVOCATION);
  assert.match(broken.join(), /cannot be run/, "a gate that does not work is told of");
  const onNotice = () => {
    throw new Error("no screen");
  };
  const throwing = buildHooksForAgent(fake("answer", { onNotice }));
  assert.equal(await throwing.hooks.onPreToolUse?.(call({ decision: "allow", notice: "n" }), INVOCATION), undefined);
  throwing.close();
});

test("the model is told who it is, a session ends with its summary, an error is handled; the app's own word stands", async () => {
  const ends = { ...at, reason: "complete" } as const;
  const fails = { ...at, error: "it broke", errorContext: "system", recoverable: false } as const;
  const silent = buildHooksForAgent(fake("answer"));
  const talking = buildHooksForAgent(
    fake("answer", {
      hooks: {
        onSessionStart: () => ({ additionalContext: "app" }),
        onUserPromptSubmitted: () => ({ modifiedPrompt: "do it well" }),
        onSessionEnd: () => ({ sessionSummary: "the app's" }),
        onErrorOccurred: () => ({ errorHandling: "skip" }),
      },
    }),
  );
  const context = { answer: { decision: "allow", context: "You are Fenster." } };
  const summary = { answer: { decision: "allow", summary: "3 denied" } };
  const abort = { answer: { decision: "allow", handling: "abort", notice: "it ends" } };
  for (const [agent, expected] of [
    [
      silent,
      [
        { additionalContext: "You are Fenster." },
        { additionalContext: "You are Fenster." },
        { sessionSummary: "3 denied" },
        { errorHandling: "abort", userNotification: "it ends" },
        { additionalContext: "You are Fenster." },
      ],
    ],
    [
      talking,
      [
        { additionalContext: "app\nYou are Fenster." },
        { modifiedPrompt: "do it well", additionalContext: "You are Fenster." },
        { sessionSummary: "the app's" },
        { errorHandling: "skip", userNotification: "it ends" },
        { additionalContext: "You are Fenster." },
      ],
    ],
  ] as const) {
    const { hooks } = agent;
    assert.deepEqual(
      [
        await hooks.onSessionStart?.({ ...at, source: "new", ...context }, INVOCATION),
        await hooks.onUserPromptSubmitted?.({ ...at, prompt: "do it", ...context }, INVOCATION),
        await hooks.onSessionEnd?.({ ...ends, ...summary }, INVOCATION),
        await hooks.onErrorOccurred?.({ ...fails, ...abort }, INVOCATION),
        await hooks.onPreToolUse?.(call(context.answer), INVOCATION),
      ],
      expected,
    );
    agent.close();
  }
});

test("a session's configuration gets the gate and the agent's role", async () => {
  const role = {
    name: "coordinator",
    systemMessage: "You are the coordinator.",
    availableTools: ["view", "task"],
    excludedTools: ["bash"],
  };
  const { config, close } = gateSession<SessionConfig>({ model: "m", excludedTools: ["edit"] }, fake("answer", { role }));
  assert.equal(config.model, "m");
  assert.equal(config.enableFileHooks, false);
  assert.deepEqual(config.systemMessage, { mode: "append", content: "You are the coordinator." });
  assert.deepEqual(config.availableTools, ["view", "task"]);
  assert.deepEqual(config.excludedTools, ["edit", "bash"]);
  assert.equal("onUserInputRequest" in config, false, "a handler would give the agent the ask_user tool");
  assert.equal(typeof config.hooks?.onPreToolUse, "function");
  close();
});

test("what the configuration has already is kept: handlers as the app's own, messages, file hooks", async () => {
  const refused = { kind: "reject", feedback: "the app says no" } as const;
  const { config, close } = gateSession<SessionConfig>(
    {
      systemMessage: { mode: "replace", content: "Be brief." },
      enableFileHooks: true,
      availableTools: ["view"],
      hooks: { onPreToolUse: () => ({ additionalContext: "note" }) },
      onPermissionRequest: () => refused,
      onUserInputRequest: () => ({ answer: "the green one", wasFreeform: true }),
    },
    fake("answer", { role: { name: "agent", systemMessage: "You test." } }),
  );
  assert.deepEqual(config.systemMessage, { mode: "replace", content: "Be brief.\n\nYou test." });
  assert.equal(config.enableFileHooks, true);
  assert.deepEqual(config.availableTools, ["view"]);
  const judged = (answer: object) => config.hooks?.onPreToolUse?.(call(answer), INVOCATION);
  assert.deepEqual(await judged({ decision: "allow" }), { additionalContext: "note" });
  assert.deepEqual(await config.onPermissionRequest?.(request("shell", { decision: "allow" }), INVOCATION), refused);
  assert.deepEqual(await config.onUserInputRequest?.({ question: "Which?" }, INVOCATION), {
    answer: "the green one",
    wasFreeform: true,
  });
  close();
});

/** Never called. That it compiles shows that the SDK takes what is made here, for new sessions and resumed ones. */
export async function theSdkTakesIt(client: CopilotClient, options: AgentOptions): Promise<void> {
  const { hooks, onPermissionRequest } = buildHooksForAgent(options);
  await client.createSession({ hooks, onPermissionRequest, enableFileHooks: false });
  await client.createSession(gateSession<SessionConfig>({ sessionId: "s1" }, options).config);
  await client.resumeSession("s1", gateSession<ResumeSessionConfig>({}, options).config);
}
