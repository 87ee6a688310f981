#!/usr/bin/env node
// Starts the program that npm has installed beside this package for this machine. `toolgate init` registers that program itself, so
// no call of an agent waits for Node. Ends with 2 if it cannot start it: that blocks the call in every agent that would ask it this way.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

function refuse(why) {
  process.stderr.write(`toolgate: ${why}\n`);
  process.exit(2);
}

const name = `@toolgate/cli-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/toolgate`);
} catch {
  refuse(`the package ${name} is not installed; toolgate runs on Linux, on x64 and arm64, and npm must not omit optional packages`);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// The child has the same terminal and hears Ctrl-C itself; what is sent to this process alone is passed on.
for (const signal of ["SIGHUP", "SIGTERM"]) process.on(signal, () => child.kill(signal));
process.on("SIGINT", () => {});
child.on("error", (error) => refuse(`${program} cannot be started: ${error.message}`));
child.on("exit", (code, signal) => process.exit(code ?? 128 + (constants.signals[signal] ?? 0)));
