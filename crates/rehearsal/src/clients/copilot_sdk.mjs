// A program on the GitHub Copilot SDK as its README has it: one session, gated, one prompt.
// Usage: node copilot_sdk.mjs '{"sdk", "adapter", "toolgate": […], "model", "key", "mcp": {…}, "prompt"}'

const { sdk, adapter, toolgate, model, key, mcp, prompt } = JSON.parse(process.argv[2]);
const { CopilotClient } = await import(sdk);
const { gateSession } = await import(adapter);

const cwd = process.cwd();
const client = new CopilotClient({ workingDirectory: cwd, env: process.env, useLoggedInUser: false });
const { config, close } = gateSession(
  {
    model: "rehearsal",
    provider: { type: "openai", baseUrl: model, apiKey: key },
    workingDirectory: cwd,
    mcpServers: mcp,
    onPermissionRequest: () => ({ kind: "approve-once" }),
  },
  { agent: "rehearsal", command: toolgate },
);
const session = await client.createSession(config);
const answer = await session.sendAndWait({ prompt }, 170_000);
console.log(answer?.data?.content);
close();
await client.stop();
process.exit(0);
