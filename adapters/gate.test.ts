import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { type Answer, Gate, Notices, replaceMembers, warning } from "./gate.ts";

const FAKE = join(import.meta.dirname, "fake-toolgate.ts");

function gate(behaviour: string, timeoutMs = 10_000): Gate {
  return new Gate({ command: [process.execPath, FAKE, behaviour], timeoutMs });
}

/** Checks that a call is denied because it could not be judged, and why. */
function assertCannotJudge(answer: Answer, why: RegExp): void {
  assert.equal(answer.decision, "deny");
  assert.match(answer.reason, /^toolgate cannot judge this call, so it is denied: /);
  assert.match(answer.reason, why);
}

async function ended(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100; tries += 1) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await sleep(50);
  }
  return false;
}

async function pidOf(asked: Gate): Promise<number> {
  const answer = await asked.judge("pid", {});
  assert.equal(answer.decision, "deny");
  return Number(answer.reason);
}

test("an answer comes back as it was given", async () => {
  const asked = gate("answer");
  const judged = (answer: object) => asked.judge("tool_call", { answer });
  assert.deepEqual(await judged({ decision: "allow" }), { decision: "allow", granted: false });
  assert.deepEqual(await judged({ decision: "allow", granted: true }), { decision: "allow", granted: true });
  assert.deepEqual(await judged({ decision: "allow", input: { a: 1 } }), {
    decision: "allow",
    granted: false,
    input: { a: 1 },
  });
  assert.deepEqual(await judged({ decision: "allow", notice: "stepped back" }), {
    decision: "allow",
    granted: false,
    notice: "stepped back",
  });
  assert.deepEqual(await judged({ decision: "allow", output: null, note: "one redacted" }), {
    decision: "allow",
    granted: false,
    output: null,
    note: "one redacted",
  });
  const besides = { notice: "tried twice", context: "You are Fenster." };
  const answered = { decision: "deny", reason: "no", answer: "Decide." };
  for (const whole of [
    { decision: "allow", granted: false, text: "yes", summary: "none", handling: "retry", ...besides },
    { decision: "ask", reason: "sure?", ...besides },
    { ...answered, ...besides },
  ]) {
    assert.deepEqual(await judged(whole), whole);
  }
  const strange = { text: 7, summary: null, handling: "again", notice: {}, context: [] };
  assert.deepEqual(await judged({ decision: "allow", ...strange }), { decision: "allow", granted: false });
  assert.deepEqual(await judged({ decision: "ask", reason: "sure?" }), { decision: "ask", reason: "sure?" });
  assert.deepEqual(await judged({ decision: "deny", reason: "no" }), { decision: "deny", reason: "no" });
  assert.deepEqual(await judged({ decision: "deny", reason: "ä €\u2028 😀\n" }), {
    decision: "deny",
    reason: "ä €\u2028 😀\n",
  });
  assert.equal((await judged({ decision: "deny" })).decision, "deny");
  asked.close();
});

test("event and payload go out as they are", async () => {
  const asked = gate("echo");
  const answer = await asked.judge("tool_call", { event: { input: { command: "a\nb" } } });
  assert.equal(answer.decision, "deny");
  assert.deepEqual(JSON.parse(answer.reason), {
    event: "tool_call",
    payload: { event: { input: { command: "a\nb" } } },
  });
  asked.close();
});

test("one child serves many calls, also in parallel, and answers are told apart by their ids", async () => {
  const one = gate("pid");
  const pids = new Set(await Promise.all(Array.from({ length: 20 }, () => pidOf(one))));
  assert.equal(pids.size, 1);
  one.close();

  const turned = gate("last first");
  const answers = await Promise.all(
    ["a", "b", "c"].map((reason) => turned.judge("x", { answer: { decision: "deny", reason } })),
  );
  assert.deepEqual(
    answers.map((answer) => answer.decision === "deny" && answer.reason),
    ["a", "b", "c"],
  );
  turned.close();
});

test("an answer that comes letter by letter, and one of many megabytes, are read whole", async () => {
  const slow = gate("pieces");
  assert.deepEqual(await slow.judge("x", {}), { decision: "allow", granted: false });
  slow.close();

  const large = gate("huge answer");
  const answer = await large.judge("x", {});
  assert.ok(answer.decision === "allow" && JSON.stringify(answer.input).length > 20_000_000);
  large.close();
});

test("a program that is missing, cannot be run, or is not named by an absolute path denies", async () => {
  const judged = (command: readonly string[]) => new Gate({ command }).judge("x", {});
  assertCannotJudge(await judged(["/nowhere/toolgate", "serve"]), /`\/nowhere\/toolgate` cannot be run: .*ENOENT/);
  const plain = join(mkdtempSync(join(tmpdir(), "gate-")), "toolgate");
  writeFileSync(plain, "");
  chmodSync(plain, 0o644);
  assertCannotJudge(await judged([plain]), /cannot be run: .*EACCES/);
  assertCannotJudge(await judged(["toolgate", "serve", "pi"]), /absolute path/);
  assertCannotJudge(await judged(["./toolgate", "serve", "pi"]), /absolute path/);
  assertCannotJudge(await judged([]), /absolute path/);
  assertCannotJudge(await judged(["/bin/\0"]), /null bytes/);
  assertCannotJudge(await judged(undefined as never), /./);
  assertCannotJudge(await new Gate(undefined as never).judge("x", {}), /./);
});

test("a child that ends denies those who wait, and says why", async () => {
  assertCannotJudge(await gate("exit at once").judge("x", {}), /ended with code 2 \(unknown profile `x`\)/);
  const asked = gate("exit");
  for (const answer of await Promise.all([asked.judge("x", {}), asked.judge("y", {})])) {
    assertCannotJudge(answer, /ended with code 3 \(something broke\)/);
  }
});

test("an answer counts that was given before the end", async () => {
  const asked = gate("answer and exit");
  assert.deepEqual(await asked.judge("x", {}), { decision: "allow", granted: false });
});

test("a child that hangs is killed, and all who wait are denied", async () => {
  const asked = gate("hang on hang", 300);
  const before = performance.now();
  const answers = await Promise.all([asked.judge("hang", {}), asked.judge("hang", {})]);
  assert.ok(performance.now() - before < 5_000);
  for (const answer of answers) assertCannotJudge(answer, /no answer within 0.3 s/);
});

test("after a crash, a hang or garbage the next call gets a new child", async () => {
  const crashed = gate("crash on crash");
  assertCannotJudge(await crashed.judge("crash", {}), /ended with code 1/);
  assert.equal((await crashed.judge("x", {})).decision, "allow");
  crashed.close();

  const hung = gate("hang on hang", 4_000);
  assert.equal((await hung.judge("x", {})).decision, "allow");
  assertCannotJudge(await hung.judge("hang", {}), /no answer/);
  assert.equal((await hung.judge("x", {})).decision, "allow");
  hung.close();

  const killed = gate("pid");
  const first = await pidOf(killed);
  process.kill(first, "SIGKILL");
  assert.ok(await ended(first));
  assert.notEqual(await pidOf(killed), first);
  killed.close();
});

test("what is not an answer denies", async () => {
  assertCannotJudge(await gate("garbage").judge("x", {}), /not JSON/);
  assertCannotJudge(await gate("half a line").judge("x", {}), /ended with code 0/);
  assertCannotJudge(await gate("endless line").judge("x", {}), /too long/);
  assertCannotJudge(await gate("other id").judge("x", {}), /not asked/);
  const judged = (answer: unknown) => gate("raw").judge("x", answer);
  assertCannotJudge(await judged({ decision: "block" }), /decided `block`, which is not known/);
  assertCannotJudge(await judged({ decision: "ALLOW" }), /not known/);
  assertCannotJudge(await judged({ decision: ["allow"] }), /not known/);
  assertCannotJudge(await judged({}), /not known/);
  assertCannotJudge(await judged({ decision: "allow", granted: "yes" }), /malformed/);
  assertCannotJudge(await judged({ decision: "deny", reason: 1 }), /malformed/);
  assertCannotJudge(await judged({ decision: "allow", output: {}, note: 1 }), /malformed/);
  assertCannotJudge(await judged(null), /no id or no decision/);
  assertCannotJudge(await judged(["allow"]), /no id or no decision/);
  assertCannotJudge(await judged("allow"), /no id or no decision/);
});

test("a second answer to the same question ends the child", async () => {
  const asked = gate("twice");
  assert.equal((await asked.judge("x", {})).decision, "allow");
  const answer = await asked.judge("y", {});
  // Either the second answer was read before this call, and it has a new child; or after it, and it is denied.
  if (answer.decision !== "allow") assertCannotJudge(answer, /not asked/);
});

test("a child that reads no more denies", async () => {
  const asked = gate("close stdin");
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => asked.judge("x", { text: "x".repeat(100_000) })),
  );
  for (const answer of answers) assertCannotJudge(answer, /ended with SIGKILL/);
});

test("what cannot be sent denies", async () => {
  const asked = gate("answer");
  const circular: Record<string, unknown> = {};
  circular["self"] = circular;
  assertCannotJudge(await asked.judge("x", circular), /circular/);
  assertCannotJudge(await asked.judge("x", { n: 1n }), /BigInt/);
  assertCannotJudge(await asked.judge("x", { text: "€".repeat(12 * 1024 * 1024) }), /too large/);
  assert.equal((await asked.judge("x", {})).decision, "allow");
  asked.close();
});

test("an aborted call is denied at once, and the child goes on", async () => {
  const asked = gate("pieces");
  const controller = new AbortController();
  const aborted = asked.judge("x", {}, controller.signal);
  setTimeout(() => controller.abort(), 20);
  assertCannotJudge(await aborted, /aborted/);
  assertCannotJudge(await asked.judge("x", {}, controller.signal), /aborted/);
  assert.equal((await asked.judge("x", {})).decision, "allow");
  asked.close();
});

test("close lets the child end, and a later call starts another", async () => {
  const asked = gate("pid");
  const first = await pidOf(asked);
  const last = asked.judge("x", {});
  asked.close();
  assert.equal((await last).decision, "deny");
  assert.ok(await ended(first));
  assert.notEqual(await pidOf(asked), first);
  asked.close();
});

/** Runs a small host that asks the gate and then has nothing more to do; gives what it printed. */
async function host(code: string): Promise<{ output: string; ms: number }> {
  const source =
    `import { Gate } from ${JSON.stringify(join(import.meta.dirname, "gate.ts"))};` +
    `const gate = (behaviour, timeoutMs) => new Gate({ command: [process.execPath, ${JSON.stringify(FAKE)}, behaviour], timeoutMs });` +
    code;
  const before = performance.now();
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await once(child, "close");
  return { output, ms: performance.now() - before };
}

test("a waiting call keeps the host alive, an idle child does not", async () => {
  const waiting = await host(`gate("hang", 700).judge("x", {}).then((answer) => console.log(answer.decision));`);
  assert.equal(waiting.output, "deny\n");
  assert.ok(waiting.ms >= 700);

  const idle = await host(`console.log((await gate("pid", 60_000).judge("x", {})).reason);`);
  assert.ok(idle.ms < 20_000);
  assert.ok(await ended(Number(idle.output)));
});

test("the child ends with its host, however that ends", async () => {
  for (const end of ["process.exit(0)", 'process.kill(process.pid, "SIGKILL")']) {
    const { output } = await host(
      `const { reason } = await gate("pid").judge("x", {}); process.stdout.write(reason, () => ${end});`,
    );
    assert.ok(await ended(Number(output)), end);
  }
});

test("an input is replaced member by member, in the same object", () => {
  const input: Record<string, unknown> = { command: "ls", timeout: 5 };
  replaceMembers(input, { command: "cd /w && ls", cwd: "/w" });
  assert.deepEqual(input, { command: "cd /w && ls", cwd: "/w" });

  replaceMembers(input, JSON.parse('{"__proto__": {"polluted": true}}'));
  assert.deepEqual(Object.keys(input), ["__proto__"]);
  assert.equal(Object.getPrototypeOf(input), Object.prototype);

  for (const bad of [null, undefined, "text", 1, ["list"]]) {
    assert.throws(() => replaceMembers({}, bad), /no object/);
    assert.throws(() => replaceMembers(bad, {}), /no object/);
  }
  assert.throws(() => replaceMembers(Object.freeze({ a: 1 }), { a: 2 }));
});

test("what one answer after another says is shown once, and again after one that does not", () => {
  const notices = new Notices();
  const said = (notice?: string) => notices.next({ decision: "deny", reason: "no", ...(notice && { notice }) });
  assert.deepEqual([said("a"), said("a"), said("b"), said("b"), said(), said("b")], [
    ...["a", undefined, "b", undefined, undefined, "b"],
  ]);
  assert.equal(warning({ decision: "allow", granted: false }), undefined);
  assert.equal(warning({ decision: "allow", granted: false, notice: "n" }), "n");
  assert.equal(warning({ decision: "deny", reason: "broken" }), "broken");
});
