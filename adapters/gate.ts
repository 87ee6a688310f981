// The line to toolgate: one `toolgate serve <host>` child that answers for every tool call of a host.
//
// It fails closed. Whatever keeps it from an answer (the binary is missing, the child dies, hangs, or says something
// that is not an answer) is a denial that says why. It never throws and never rejects, since hosts differ in what
// they make of that: some of them run the tool.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { isAbsolute } from "node:path";

/** What is to become of a call, or of an event that stops none. */
export type Answer = Besides & Decided;

/** What comes with any decision. */
interface Besides {
  /** For the person and not for the model: that an agent tries the same again and again, that the gate has stepped back. */
  readonly notice?: string;
  /** For the model besides: at the start of a session who it is. */
  readonly context?: string;
}

type Decided =
  /**
   * No objection. `granted`: the gate vouches for it, the host need not ask. `input`: run it with this instead.
   * `output`: show the model this instead of what the tool gave back, and `note` beside it. `text`: the user's answer as
   * the model is to get it. `summary`: what the session came to. `handling`: what to do about an error of the host.
   */
  | {
      readonly decision: "allow";
      readonly granted: boolean;
      readonly input?: unknown;
      readonly output?: unknown;
      readonly note?: string;
      readonly text?: string;
      readonly summary?: string;
      readonly handling?: Handling;
    }
  /** A person has to agree. Where nobody can be asked, it is a denial. */
  | { readonly decision: "ask"; readonly reason: string; readonly input?: unknown }
  /**
   * Do not run it; if it has run, do not show what it gave back. The reason is for the model, word for word. `answer`: what
   * a question is answered with in the user's stead.
   */
  | { readonly decision: "deny"; readonly reason: string; readonly answer?: string };

const HANDLINGS = ["retry", "skip", "abort"] as const;

export type Handling = (typeof HANDLINGS)[number];

export interface GateOptions {
  /**
   * The program and all of its arguments: `["/usr/local/bin/toolgate", "serve", "pi"]`. The program is an absolute
   * path: a relative one would be looked for in the project, where the agent can put its own.
   */
  readonly command: readonly string[];
  /** How long one answer may take. Has to be more than toolgate's own deadline of 5 seconds. */
  readonly timeoutMs?: number;
}

/** toolgate takes no larger event either. */
const MAX_LINE = 32 * 1024 * 1024;
/** So much of what the child said last on stderr is told along with a failure. */
const MAX_STDERR = 500;
/** A child that was told to end gets this long before it is killed. */
const END_MS = 5_000;

export class Gate {
  readonly #options: GateOptions;
  #server: Server | undefined;
  #lastId = 0;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /** Asks toolgate about one event of the host. Settles always, and never rejects. */
  async judge(event: string, payload: unknown, signal?: AbortSignal): Promise<Answer> {
    try {
      if (signal?.aborted) return cannotJudge("the call was aborted");
      this.#lastId += 1;
      const id = this.#lastId;
      const line = `${JSON.stringify({ id, event, payload })}\n`;
      if (Buffer.byteLength(line) > MAX_LINE) return cannotJudge("it is too large; split it");
      if (!this.#server?.usable) this.#server = new Server(checked(this.#options.command));
      return await this.#server.ask(id, line, this.#options.timeoutMs ?? 10_000, signal);
    } catch (error) {
      return cannotJudge(messageOf(error));
    }
  }

  /** Lets the child finish what it was asked, and end. A later call starts a new one. */
  close(): void {
    this.#server?.end();
    this.#server = undefined;
  }
}

/** The denial for a call that could not be judged. */
export function cannotJudge(why: string): Answer & { decision: "deny" } {
  return { decision: "deny", reason: `toolgate cannot judge this call, so it is denied: ${why}` };
}

/** What a person is to be told of an event that stops nothing, be it that the gate does not work. */
export function warning(answer: Answer): string | undefined {
  return answer.decision === "allow" ? answer.notice : answer.reason;
}

/** What a person is shown of each answer: what one answer after another says, only once. */
export class Notices {
  #last: string | undefined;

  next({ notice }: Answer): string | undefined {
    const isNew = notice !== this.#last;
    this.#last = notice;
    return isNew ? notice : undefined;
  }
}

/** What the model reads instead of an output that nobody could look through. */
export function withheld(reason: string): string {
  return `The tool has run, but what it gave back is not shown. ${reason}`;
}

/**
 * Makes `target` equal to `source`, member by member. Hosts keep the object that they handed out and go on with that one,
 * so a new object would have no effect. Throws where it cannot be done; the call must not run then, nor its output be
 * shown.
 */
export function replaceMembers(target: unknown, source: unknown): void {
  if (!isRecord(target) || !isRecord(source)) throw new Error("toolgate changed it, and it is no object");
  for (const key of Object.keys(target)) {
    if (!Object.hasOwn(source, key)) delete target[key];
  }
  for (const [key, value] of Object.entries(source)) {
    // Not by assignment: that would take a member called `__proto__` for the prototype.
    Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One child, from its start to its end. */
class Server {
  /** Whether it can be asked more. */
  usable = true;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #failed = false;
  /** The pieces of a line whose end has not come yet, and their length. */
  #pieces: string[] = [];
  #length = 0;
  #stderr = "";

  constructor(command: readonly [string, ...string[]]) {
    const [program, ...args] = command;
    const child = spawn(program, args, { stdio: "pipe", windowsHide: true });
    this.#child = child;
    child.on("error", (error) => this.#fail(`\`${program}\` cannot be run: ${error.message}`));
    child.on("exit", () => {
      this.usable = false;
    });
    // Not at "exit": answers may still be in the pipe then.
    child.on("close", (code, signal) => this.#fail(`toolgate ended with ${signal ?? `code ${code}`}`));
    child.stdin.on("error", () => {
      // It reads no more. If it is not about to end by itself, this ends it; "close" follows and tells the rest.
      this.usable = false;
      child.kill("SIGKILL");
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    child.stdout.on("error", (error) => this.#fail(`its answers cannot be read: ${error.message}`));
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
    child.stderr.on("error", () => {});
    // An idle child keeps no host from ending. While a call waits, its timer does: a host that finds nothing to wait
    // for would end in the middle of the call. When the host ends, the child's stdin closes, and it ends too.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) unref(stream);
  }

  ask(id: number, line: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<Answer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#fail(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
      const onAbort = () => {
        // The answer is still to come, and has to be taken out of the pipe; only the host need not wait for it.
        timer.unref();
        resolve(cannotJudge("the call was aborted"));
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", onAbort);
        resolve(answer);
      });
      this.#child.stdin.write(line);
    });
  }

  end(): void {
    this.usable = false;
    this.#child.stdin.end();
    setTimeout(() => this.#child.kill("SIGKILL"), END_MS).unref();
  }

  #read(text: string): void {
    const pieces = text.split("\n");
    for (const [index, piece] of pieces.entries()) {
      if (this.#failed) return;
      this.#length += piece.length;
      if (this.#length > MAX_LINE) return this.#fail("its answer is too long");
      this.#pieces.push(piece);
      if (index === pieces.length - 1) return;
      const line = this.#pieces.join("");
      this.#pieces = [];
      this.#length = 0;
      this.#take(line);
    }
  }

  #take(line: string): void {
    try {
      const { id, answer } = decode(line);
      const settle = this.#waiting.get(id);
      if (!settle) throw new Error("it answered what was not asked");
      this.#waiting.delete(id);
      settle(answer);
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  /** After this nothing that the child says counts, and all who wait are denied. */
  #fail(why: string): void {
    this.usable = false;
    this.#failed = true;
    this.#child.kill("SIGKILL");
    const said = this.#stderr.trim();
    for (const settle of this.#waiting.values()) settle(cannotJudge(said === "" ? why : `${why} (${said})`));
    this.#waiting.clear();
  }
}

function checked(command: readonly string[]): readonly [string, ...string[]] {
  const [program, ...args] = command;
  if (program === undefined || !isAbsolute(program)) {
    throw new Error("the adapter's `command` has to begin with the absolute path of toolgate");
  }
  return [program, ...args];
}

/** Reads one line of the child. Members that are not known are left alone: what matters more is a decision. */
function decode(line: string): { id: number; answer: Answer } {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw new Error("its answer is not JSON");
  }
  if (!isRecord(message) || typeof message["id"] !== "number" || !isRecord(message["answer"])) {
    throw new Error("its answer has no id or no decision");
  }
  const { decision, granted = false, reason = "toolgate gives no reason", note = "", ...rest } = message["answer"];
  if (typeof granted !== "boolean" || typeof reason !== "string" || typeof note !== "string") {
    throw new Error("its answer is malformed");
  }
  const input = "input" in rest ? { input: rest["input"] } : {};
  const output = "output" in rest ? { output: rest["output"], note } : {};
  const texts = (...names: string[]) =>
    Object.fromEntries(names.flatMap((name) => (typeof rest[name] === "string" ? [[name, rest[name]]] : [])));
  const besides = texts("notice", "context");
  const handling = HANDLINGS.find((word) => word === rest["handling"]);
  const id = message["id"];
  switch (decision) {
    case "allow":
      return {
        id,
        answer: { decision, granted, ...input, ...output, ...texts("text", "summary"), ...(handling && { handling }), ...besides },
      };
    case "ask":
      return { id, answer: { decision, reason, ...input, ...besides } };
    case "deny":
      return { id, answer: { decision, reason, ...texts("answer"), ...besides } };
    default:
      throw new Error(`it decided \`${String(decision)}\`, which is not known here`);
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The streams of a child are sockets, and sockets can be unreferenced; their types do not say so. */
function unref(stream: object): void {
  if ("unref" in stream && typeof stream.unref === "function") stream.unref();
}
