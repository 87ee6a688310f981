// pi asks toolgate before every tool call, also before those that a codemode script makes, and after it what the model may
// see of what the tool gave back.
//
// Against an agent that tries to get past its gate: nothing that goes wrong here lets a call or an output through. Whether
// a project is trusted and in which mode pi runs is told along; what follows from it is decided by toolgate, not here.

import type {
  ExtensionAPI,
  ExtensionContext,
  ExtensionFactory,
  ToolCallEvent,
  ToolCallEventResult,
  ToolResultEventResult,
} from "@earendil-works/pi-coding-agent";

import {
  type Answer,
  Gate,
  type GateOptions,
  Notices,
  cannotJudge,
  isRecord,
  messageOf,
  replaceMembers,
  warning,
  withheld,
} from "./gate.ts";

export interface Options extends GateOptions {
  /** How long a person may think about a question before it counts as no. */
  readonly askTimeoutMs?: number;
}

/** A person cannot judge what fills the screen; the middle of a longer text is left out. */
const MAX_SHOWN = 2_000;

/** Makes pi's extension: `export default toolgate({ command: ["/usr/local/bin/toolgate", "serve", "pi"] })`. */
export function toolgate(options: Options): ExtensionFactory {
  return (pi: ExtensionAPI) => {
    const gate = new Gate(options);
    const notices = new Notices();
    let introduction: string | undefined;

    pi.on("tool_call", async (event, ctx) => {
      try {
        const answer = await gate.judge("tool_call", payload(event, ctx), ctx.signal);
        const notice = notices.next(answer);
        if (notice !== undefined && ctx.hasUI) ctx.ui.notify(shown(notice), "warning");
        return await obey(answer, event, ctx, options.askTimeoutMs ?? 120_000);
      } catch (error) {
        return block(cannotJudge(messageOf(error)).reason);
      }
    });

    // Also of a tool that failed. If this threw, pi would show the model what the tool gave back.
    pi.on("tool_result", async (event, ctx) => {
      try {
        return shownInstead(await tell(gate, event, ctx));
      } catch (error) {
        return text(withheld(messageOf(error)));
      }
    });

    // The person's own command: it is recorded, and runs. Nobody waits for the record. pi tells nobody what it printed.
    pi.on("user_bash", (event, ctx) => {
      void tell(gate, event, ctx);
    });

    // What the user says begins a turn. Nobody waits for the record of it; the gate reads what it is told in order.
    pi.on("input", ({ type, text, source }, ctx) => {
      const said = { type, text, source };
      void tell(gate, said, ctx);
    });

    pi.on("session_start", async (event, ctx) => {
      const answer = await tell(gate, event, ctx);
      introduction = answer.context;
      const told = warning(answer);
      if (told !== undefined) warn(told, ctx);
    });

    // Who the model is, once, before its first turn.
    pi.on("before_agent_start", () => {
      const content = introduction;
      introduction = undefined;
      return content === undefined ? undefined : { message: { customType: "toolgate", content, display: false } };
    });

    pi.on("session_shutdown", async (event, ctx) => {
      await tell(gate, event, ctx);
      gate.close();
    });
  };
}

async function obey(
  answer: Answer,
  event: ToolCallEvent,
  ctx: ExtensionContext,
  askTimeoutMs: number,
): Promise<ToolCallEventResult | undefined> {
  switch (answer.decision) {
    case "deny":
      return block(answer.reason);
    case "ask": {
      if (!ctx.hasUI) {
        return block(
          `${answer.reason}\nA person has to agree to this, and nobody can be asked here. They can run pi in a ` +
            "terminal and agree there, or allow it in toolgate's settings.",
        );
      }
      const message = `${answer.reason}\n\n${JSON.stringify("input" in answer ? answer.input : event.input)}`;
      const dialog = { timeout: askTimeoutMs, ...(ctx.signal && { signal: ctx.signal }) };
      const agreed = await ctx.ui.confirm(shown(`Run ${event.toolName}?`), shown(message), dialog);
      if (agreed !== true) return block(`${answer.reason}\nA person was asked, and did not agree.`);
      break;
    }
    case "allow":
      break;
  }
  if ("input" in answer) replaceMembers(event.input, answer.input);
  return undefined;
}

/** What pi is to take for what the tool gave back; nothing where that stays as it is. */
function shownInstead(answer: Answer): ToolResultEventResult | undefined {
  if (answer.decision !== "allow") return text(withheld(answer.reason));
  if (!("output" in answer)) return undefined;
  const { output, note = "" } = answer;
  const content = isRecord(output) ? (output["content"] ?? []) : undefined;
  if (!isRecord(output) || !Array.isArray(content)) return text(withheld("toolgate changed it to what pi cannot show."));
  return { ...output, content: note === "" ? content : [...content, { type: "text", text: note }] };
}

/** pi drops the structured form of a result whose content is replaced. */
function text(text: string): ToolResultEventResult {
  return { content: [{ type: "text", text }] };
}

/** Sends an event whose answer stops no call. */
async function tell(gate: Gate, event: { readonly type: string }, ctx: ExtensionContext): Promise<Answer> {
  try {
    return await gate.judge(event.type, payload(event, ctx));
  } catch (error) {
    return cannotJudge(messageOf(error));
  }
}

function payload(event: object, ctx: ExtensionContext): object {
  // Old versions of pi know neither trust nor mode; the members are left out then.
  const { isProjectTrusted } = ctx as Partial<ExtensionContext>;
  return {
    event,
    ctx: {
      mode: ctx.mode,
      hasUI: ctx.hasUI,
      cwd: ctx.cwd,
      trusted: isProjectTrusted?.call(ctx),
      sessionId: ctx.sessionManager.getSessionId(),
      sessionFile: ctx.sessionManager.getSessionFile(),
    },
  };
}

function block(reason: string): ToolCallEventResult {
  return { block: true, reason };
}

function warn(reason: string, ctx: ExtensionContext): void {
  if (ctx.hasUI) ctx.ui.notify(shown(reason), "error");
  else process.stderr.write(`${shown(reason)}\n`);
}

/** The model writes what a person is asked about: no terminal codes, no hidden or turned letters, not too much. */
function shown(text: string): string {
  const plain = text.replace(/[^\P{C}\n]|[\u2028\u2029]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
  if (plain.length <= MAX_SHOWN) return plain;
  const half = MAX_SHOWN / 2;
  return `${plain.slice(0, half)}\n[${plain.length - MAX_SHOWN} characters are not shown]\n${plain.slice(-half)}`;
}
