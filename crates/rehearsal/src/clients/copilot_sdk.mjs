// A program on the GitHub Copilot SDK as its README has it: one session, gated, one prompt.
// Usage: node copilot_sdk.mjs '{"sdk", "adapter", "toolgate": […], "agent", "role": {…}, "goesOn", "questions", "model", "key", "mcp": {…}, "prompt"}'

import { appendFileSync } from "node:fs";

const { sdk, adapter, toolgate, agent, role, goesOn, questions, model, key, mcp, prompt } = JSON.parse(process.argv[2]);
const { CopilotClient } = await import(sdk);
// Without an adapter the session has no gate: so the test sees what the SDK does by itself.
const { gateSession } = adapter ? await import(adapter) : { gateSession: (config) => ({ config, close() {} }) };

const cwd = process.cwd();
const sessionId = "rehearsal";
const client = new CopilotClient({ workingDirectory: cwd, env: process.env, useLoggedInUser: false });
const { config, close } = gateSession(
  {
    model: "rehearsal",
    provider: { type: "openai", baseUrl: model, apiKey: key },
    workingDirectory: cwd,
    mcpServers: mcp,
    onPermissionRequest: () => ({ kind: "approve-once" }),
    onUserInputRequest: ({ question }) => {
      appendFileSync(questions, `${question}\n`);
      return { answer: "as you think best", wasFreeform: true };
    },
  },
  { agent, role: role ?? undefined, command: toolgate, onNotice: (text) => console.log(text) },
);
const session = goesOn
  ? await client.resumeSession(sessionId, config)
  : await client.createSession({ ...config, sessionId });
const answer = await session.sendAndWait({ prompt }, 170_000);
console.log(answer?.data?.content);
close();
await client.stop();
process.exit(0);
