// Real clients against the real server: the official SDK's, over stdio, as hosts start it. The one that most hosts have
// speaks the protocol with a handshake; its successor also the one without.
// usage: client.mjs TOOLGATE DIR, with an empty DIR. Fails loudly; prints what was shown.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as Successor } from '@modelcontextprotocol/client';
import { StdioClientTransport as SuccessorTransport } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const [toolgate, dir] = process.argv.slice(2);
const home = join(dir, 'home');
const project = join(dir, 'project');
const outside = join(dir, 'outside.txt');
mkdirSync(home);
mkdirSync(join(project, 'docs'), { recursive: true });
writeFileSync(join(project, 'data.txt'), 'Grüße\n');
writeFileSync(join(project, 'docs/long.txt'), 'ä'.repeat(100_000));
writeFileSync(join(project, 'docs/bytes'), Buffer.from([0, 255, 254, 10]));
writeFileSync(join(project, 'secret.txt'), 'not declared');
writeFileSync(outside, 'outside');
writeFileSync(join(dir, 'workspace.toml'), `
agent = "agent-5"
inputs = ["data.txt", "docs/"]
outputs = ["out/", "result.md"]
temp = true
quota = { bytes = 200_000, files = 3 }
base = "workspaces"
from = "project"
`);

const env = { HOME: home, PATH: process.env.PATH };
const args = ['mcp', '--workspace', join(dir, 'workspace.toml'), '--metrics', join(dir, 'metrics.prom')];

async function connect() {
  const client = new Client({ name: 'toolgate-e2e', version: '0' });
  const transport = new StdioClientTransport({ command: toolgate, args, env, cwd: dir, stderr: 'inherit' });
  await client.connect(transport);
  return client;
}

let shown = 0;
async function show(what, check) {
  await check();
  shown += 1;
  console.log(`ok ${shown} ${what}`);
}

const client = await connect();
const call = (name, input = {}) => client.callTool({ name, arguments: input });
const text = (result) => result.content.map((block) => block.text);

async function refused(name, input, error, saying) {
  const result = await call(name, input);
  assert.equal(result.isError, true, JSON.stringify(result));
  assert.equal(result.structuredContent.error, error);
  assert.ok(text(result)[0].startsWith(`${error}: `), text(result)[0]);
  assert.match(result.structuredContent.message, saying);
}

await show('the server says who it is', () => {
  assert.equal(client.getServerVersion().name, 'toolgate');
  assert.match(client.getInstructions(), /agent-5/);
});
await show('five tools and no other', async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map((tool) => tool.name).sort(),
    ['list_declared', 'read_input', 'receipt', 'snapshot', 'write_output'],
  );
  for (const tool of tools) {
    assert.ok(tool.description.length > 40 && tool.inputSchema.type === 'object', tool.name);
    assert.equal(tool.annotations.openWorldHint, false);
  }
});
await show('an input is read as it is', async () => {
  assert.deepEqual(text(await call('read_input', { path: 'data.txt' })), ['Grüße\n']);
});
await show('a long input is read in parts', async () => {
  let whole = '';
  for (let offset = 0; offset !== undefined; ) {
    const result = await call('read_input', { path: 'docs/long.txt', offset, limit: 65_535 });
    whole += text(result)[0];
    offset = result._meta['toolgate/read'].next;
  }
  assert.equal(whole, 'ä'.repeat(100_000));
});
await show('bytes come as base64', async () => {
  const result = await call('read_input', { path: 'docs/bytes' });
  assert.deepEqual(Buffer.from(text(result)[0], 'base64'), Buffer.from([0, 255, 254, 10]));
  await refused('read_input', { path: 'docs/bytes', encoding: 'text' }, 'ErrNotText', /base64/);
});
await show('outputs are written', async () => {
  const result = await call('write_output', { path: 'result.md', content: '# Done\n', durable: true });
  assert.deepEqual(result.structuredContent, { path: 'result.md', bytes: 7, durable: true });
  await call('write_output', { path: 'out/x', content: 'AAEC', encoding: 'base64' });
  assert.deepEqual(readFileSync(join(dir, 'workspaces/agent-5/out/x')), Buffer.from([0, 1, 2]));
});
await show('what is declared, what is there and what is left', async () => {
  const listed = (await call('list_declared')).structuredContent;
  assert.deepEqual(listed.inputs.declared, ['data.txt', 'docs/']);
  assert.deepEqual(listed.outputs.files, [{ path: 'out/x', size: 3 }, { path: 'result.md', size: 7 }]);
  assert.deepEqual(listed.quota.files, { limit: 3, used: 2, left: 1 });
});
await show('what is not declared is refused, with what is', async () => {
  await refused('read_input', { path: 'secret.txt' }, 'ErrUndeclaredRead', /declared inputs are `data\.txt`, `docs\/`/);
  await refused('read_input', { path: outside }, 'ErrPathTraversal', /absolute/);
  await refused('read_input', { path: 'docs/../secret.txt' }, 'ErrPathTraversal', /`\.\.`/);
  await refused('write_output', { path: 'data.txt', content: '' }, 'ErrUndeclaredWrite', /declared outputs are `out\/`/);
  await refused('write_output', { path: '../outside.txt', content: '' }, 'ErrPathTraversal', /`\.\.`/);
  await refused('write_output', { path: 'out/y', content: 'y'.repeat(200_000) }, 'ErrQuotaExceeded', /write less/);
  await refused('read_input', { file: 'data.txt' }, 'ErrInvalidArguments', /unknown field `file`/);
  assert.equal(readFileSync(outside, 'utf8'), 'outside');
});
await show('an unknown tool is an error of the protocol', async () => {
  await assert.rejects(call('read_file', { path: 'data.txt' }), (error) => error.code === -32602);
});
await show('snapshots are the same for the same outputs', async () => {
  const [one, other] = [await call('snapshot'), await call('snapshot')];
  assert.deepEqual(one.structuredContent, other.structuredContent);
  const compat = (await call('snapshot', { compat: true })).structuredContent;
  const hex = (bytes) => createHash('sha256').update(bytes).digest('hex');
  const lines = `out/x:${hex(Buffer.from([0, 1, 2]))}\nresult.md:${hex('# Done\n')}\n`;
  assert.equal(compat.digest, `sha256:${hex(lines)}`);
});
await show('a receipt verifies outside of the server', async () => {
  const result = await call('receipt');
  const file = join(dir, 'receipt.json');
  writeFileSync(file, JSON.stringify(result._meta['toolgate/receipt']));
  for (const receipt of [file, result.structuredContent.receipt]) {
    execFileSync(toolgate, ['workspace', 'verify', receipt, '--base', join(dir, 'workspaces')], { env, cwd: dir });
  }
});
await client.close();
await show('the workspace is there for the next one', async () => {
  const again = await connect();
  const listed = await again.callTool({ name: 'list_declared', arguments: {} });
  assert.equal(listed.structuredContent.outputs.files.length, 2);
  await again.close();
});
await show('the protocol without a handshake', async () => {
  const modern = new Successor({ name: 'toolgate-e2e', version: '0' }, { versionNegotiation: { mode: 'auto' } });
  await modern.connect(new SuccessorTransport({ command: toolgate, args, env, cwd: dir, stderr: 'inherit' }));
  assert.equal(modern.getNegotiatedProtocolVersion(), '2026-07-28');
  assert.equal((await modern.listTools()).tools.length, 5);
  const read = await modern.callTool({ name: 'read_input', arguments: { path: 'data.txt' } });
  assert.deepEqual(text(read), ['Grüße\n']);
  const denied = await modern.callTool({ name: 'read_input', arguments: { path: 'last' } });
  assert.equal(denied.structuredContent.error, 'ErrUndeclaredRead');
  await modern.close();
});
await show('who attempted what is in the ledger', () => {
  execFileSync(toolgate, ['ledger', 'verify'], { env });
  const denied = execFileSync(toolgate, ['ledger', 'tail', '-n', '100', '--denied', '--json'], { env, encoding: 'utf8' });
  const paths = denied.trim().split('\n').map((line) => JSON.parse(line)).map((entry) => [entry.agent, entry.findings[0].path]);
  assert.deepEqual(paths, [
    'secret.txt', outside, 'docs/../secret.txt', 'data.txt', '../outside.txt', 'out/y', 'last',
  ].map((path) => ['agent-5', path]));
});
await show('metrics are there for a collector', () => {
  assert.ok(existsSync(join(dir, 'metrics.prom')));
  assert.match(readFileSync(join(dir, 'metrics.prom'), 'utf8'), /toolgate_workspace_denials_total\{agent="agent-5",op="read"\} 1/);
});
console.log(`${shown} of ${shown} shown`);
