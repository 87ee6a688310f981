// Stands in for `toolgate serve` in the tests. What it does is said by its first argument; without one it answers each
// request with the `answer` that the test put somewhere into it.

import { closeSync } from "node:fs";

const [behaviour = "answer"] = process.argv.slice(2);
const say = (value: unknown) => process.stdout.write(`${typeof value === "string" ? value : JSON.stringify(value)}\n`);
const held: unknown[] = [];

if (behaviour === "exit at once") {
  process.stderr.write("unknown profile `x`\n");
  process.exit(2);
}

if (behaviour === "close stdin") {
  closeSync(0);
  await new Promise((done) => setTimeout(done, 60_000));
}

/** Not by `readline`: it takes U+2028 for the end of a line too. */
async function* lines(): AsyncGenerator<string> {
  let rest = "";
  for await (const text of process.stdin.setEncoding("utf8")) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

/** The first object called `answer`, however deep. */
function planted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if ("answer" in value && typeof value.answer === "object") return value.answer;
  return Object.values(value).map(planted).find((found) => found !== undefined);
}

for await (const line of lines()) {
  const { id, event, payload } = JSON.parse(line);
  const answer = { id, answer: planted(payload) ?? { decision: "allow" } };
  switch (behaviour) {
    case "answer":
      say(answer);
      break;
    case "echo":
      say({ id, answer: { decision: "deny", reason: JSON.stringify({ event, payload }) } });
      break;
    case "arguments":
      say({ id, answer: { decision: "deny", reason: JSON.stringify(process.argv.slice(2)) } });
      break;
    case "one before":
      held.push(JSON.stringify({ event, payload }));
      say({ id, answer: { decision: "deny", reason: held.at(-2) ?? "the first" } });
      break;
    case "pid":
      say({ id, answer: { decision: "deny", reason: String(process.pid) } });
      break;
    case "last first":
      held.push(answer);
      if (held.length === 3) for (const one of held.reverse()) say(one);
      break;
    case "exit":
      process.stderr.write("something broke\n");
      process.exit(3);
      break;
    case "answer and exit":
      process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
      break;
    case "crash on crash":
      if (event === "crash") process.exit(1);
      say(answer);
      break;
    case "brief":
      say(event === "onUserInputResponse" ? answer : { id, answer: { decision: "allow" } });
      break;
    case "first only":
      if (id > 1) process.exit(1);
      say(answer);
      break;
    case "hang":
      break;
    case "hang on hang":
      if (event !== "hang") say(answer);
      break;
    case "garbage":
      say("no JSON at all");
      break;
    case "half a line":
      process.stdout.write('{"id": 1, "answer": {"decision": "al', () => process.exit(0));
      break;
    case "pieces": {
      const text = `${JSON.stringify(answer)}\n`;
      for (const character of text) {
        process.stdout.write(character);
        await new Promise((done) => setTimeout(done, 1));
      }
      break;
    }
    case "endless line":
      for (let i = 0; i < 40; i += 1) process.stdout.write("x".repeat(1024 * 1024));
      break;
    case "huge answer":
      say({ id, answer: { decision: "allow", input: { text: "x".repeat(20 * 1024 * 1024) } } });
      break;
    case "other id":
      say({ ...answer, id: id + 1 });
      break;
    case "twice":
      say(answer);
      say(answer);
      break;
    case "raw":
      say({ id, answer: payload });
      break;
  }
}
