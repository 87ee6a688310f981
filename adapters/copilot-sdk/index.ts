// An app on the GitHub Copilot SDK asks toolgate before every tool call of its agents, and after it what the model may see
// of what the tool gave back.
//
// The SDK swallows what a hook throws, and runs the tool or shows its output; it does the same with an answer that it does not know. So
// every callback here catches everything, and what could not be judged is denied.

import type {
  PermissionHandler,
  PermissionRequest,
  PermissionRequestResult,
  SessionConfig,
  SessionHooks,
  SystemMessageConfig,
} from "@github/copilot-sdk";

import {
  type Answer,
  Gate,
  type GateOptions,
  Notices,
  cannotJudge,
  isRecord,
  messageOf,
  warning,
  withheld,
} from "./gate.ts";

/** Types that the SDK uses and does not export. */
type UserInputHandler = NonNullable<SessionConfig["onUserInputRequest"]>;
type PreToolUseHandler = NonNullable<SessionHooks["onPreToolUse"]>;
type PostToolUseHandler = NonNullable<SessionHooks["onPostToolUse"]>;
type PostToolUseHookOutput = Exclude<Awaited<ReturnType<PostToolUseHandler>>, void>;
type ToolResult = NonNullable<PostToolUseHookOutput["modifiedResult"]>;
type PreToolUseHookOutput = Exclude<Awaited<ReturnType<PreToolUseHandler>>, void>;

/** What an agent is there for. Several agents may have the same role. */
export interface Role {
  /** What toolgate's policies know it by. toolgate is started with `--role <name>` at the end of `command`. */
  readonly name: string;
  /** Added to the system message: the agent's charter. */
  readonly systemMessage?: string;
  /** The tools that it is offered at all, instead of those that the session would offer. */
  readonly availableTools?: readonly string[];
  /** Tools that it is not offered, besides those that the session leaves out. */
  readonly excludedTools?: readonly string[];
}

export interface AgentOptions extends GateOptions {
  /** The agent's name. toolgate is started with `--agent <name>` at the end of `command`. */
  readonly agent: string;
  readonly role?: Role;
  /** How far the agent's team has come, where the app knows it: `--phase`. */
  readonly phase?: "init-phase-1" | "init-phase-2" | "team-mode";
  /** How the app tells its user what the gate has to say to them. The model is not told. */
  readonly onNotice?: (text: string) => void;
  /** The app's own hooks. They come first; the gate judges what they leave, and the stricter one counts. */
  readonly hooks?: SessionHooks;
  /** How the app asks a person. Without it, what has to be asked is rejected. */
  readonly onPermissionRequest?: PermissionHandler;
  /** How the app lets a person answer. Without it, agents have no `ask_user` tool. */
  readonly onUserInputRequest?: UserInputHandler;
}

export interface GatedAgent {
  readonly hooks: SessionHooks;
  readonly onPermissionRequest: PermissionHandler;
  /** Only there if the app has one. */
  readonly onUserInputRequest?: UserInputHandler;
  /** Ends the child. A later call starts a new one. */
  close(): void;
}

/** Of these kinds a grant of toolgate is enough. The kind "hook" is not among them: it is how the SDK asks a person. */
const JUDGED_KINDS: readonly string[] = ["shell", "write", "read", "mcp", "url", "memory", "custom-tool"];

/** The callbacks of one agent, for `createSession` and `resumeSession`. */
export function buildHooksForAgent(options: AgentOptions): GatedAgent {
  const { agent, command, onNotice, phase, role } = options;
  const named = [...command, "--agent", agent];
  if (role) named.push("--role", role.name);
  if (phase) named.push("--phase", phase);
  const gate = new Gate({ ...options, command: named });
  const judge: Judge = (event, input, invocation) => gate.judge(event, { input, invocation });
  const told = noticing(judge, onNotice);
  const own = options.onUserInputRequest;
  return {
    hooks: buildHooks(judge, told, options.hooks ?? {}),
    onPermissionRequest: buildPermissionHandler(told, options.onPermissionRequest),
    ...(own && { onUserInputRequest: buildUserInputHandler(told, own) }),
    close: () => gate.close(),
  };
}

/** The same, and the user is told what the answer has for them. */
function noticing(judge: Judge, onNotice: AgentOptions["onNotice"]): Judge {
  const notices = new Notices();
  return async (event, input, invocation) => {
    const answer = await judge(event, input, invocation);
    const notice = notices.next(STOPS.includes(event) ? answer : { ...answer, ...given({ notice: warning(answer) }) });
    try {
      if (notice !== undefined) onNotice?.(notice);
    } catch {
      // The app's own trouble must not become that of a call.
    }
    return answer;
  };
}

/** The events whose denial the model reads; that of any other is for the user. */
const STOPS: readonly string[] = ["onPreToolUse", "onPostToolUse", "onPermissionRequest", "onUserInputRequest"];

/**
 * A session's configuration with the gate and the agent's role in it. Hooks and handlers that it has already are taken
 * for the app's own. Hooks from files are left out unless it says otherwise: a file of the repository could say "allow",
 * and neither the app nor a person would be asked.
 */
export function gateSession<Config extends Omit<SessionConfig, "sessionId" | "cloud">>(
  config: Config,
  options: AgentOptions,
): { config: Config; close(): void } {
  const { role } = options;
  const own = {
    hooks: options.hooks ?? config.hooks,
    onPermissionRequest: options.onPermissionRequest ?? config.onPermissionRequest,
    onUserInputRequest: options.onUserInputRequest ?? config.onUserInputRequest,
  };
  const { close, ...callbacks } = buildHooksForAgent({ ...options, ...given(own) });
  const excludedTools = role?.excludedTools && [...listed(config.excludedTools), ...role.excludedTools];
  const settings = {
    ...callbacks,
    enableFileHooks: config.enableFileHooks ?? false,
    systemMessage: role?.systemMessage && appended(config.systemMessage, role.systemMessage),
    availableTools: role?.availableTools && [...role.availableTools],
    excludedTools,
  };
  return { config: { ...config, ...given(settings) }, close };
}

type Judge = (event: string, input: object, invocation: object) => Promise<Answer>;

/** `told` is `judge`, and the user is told of what it has for them. */
function buildHooks(judge: Judge, told: Judge, own: SessionHooks): SessionHooks {
  return {
    ...own,
    onPreToolUse: async (input, invocation) => {
      try {
        const output = (await own.onPreToolUse?.(input, invocation)) ?? {};
        if (output.permissionDecision === "deny") return output;
        const toolArgs = output.modifiedArgs ?? input.toolArgs;
        return strictest(output, await told("onPreToolUse", { ...input, toolArgs }, invocation));
      } catch (error) {
        return denied(cannotJudge(messageOf(error)).reason);
      }
    },
    onPreMcpToolCall: telling("onPreMcpToolCall", told, own.onPreMcpToolCall, () => ({})),
    onPostToolUse: async (input, invocation) => {
      try {
        const output = (await own.onPostToolUse?.(input, invocation)) ?? undefined;
        const toolResult = output?.modifiedResult ?? input.toolResult;
        return shownInstead(output, await told("onPostToolUse", { ...input, toolResult }, invocation));
      } catch (error) {
        return hidden(messageOf(error));
      }
    },
    // What a tool that failed gave back cannot be changed.
    onPostToolUseFailure: telling("onPostToolUseFailure", told, own.onPostToolUseFailure, withContext),
    onUserPromptSubmitted: telling("onUserPromptSubmitted", told, own.onUserPromptSubmitted, withContext),
    onSessionStart: telling("onSessionStart", told, own.onSessionStart, withContext),
    onSessionEnd: telling("onSessionEnd", told, own.onSessionEnd, (answer, output) =>
      answer.decision === "allow" ? given({ sessionSummary: output?.sessionSummary ?? answer.summary }) : {},
    ),
    // The SDK has a way of its own to tell the user of an error.
    onErrorOccurred: telling("onErrorOccurred", judge, own.onErrorOccurred, (answer, output) =>
      answer.decision === "allow"
        ? given({
            errorHandling: output?.errorHandling ?? answer.handling,
            userNotification: output?.userNotification ?? answer.notice,
          })
        : {},
    ),
  };
}

/** What the model is told besides, behind what the app's own hook tells it. */
function withContext(answer: Answer, own: { additionalContext?: string } | undefined): { additionalContext?: string } {
  const additionalContext = joined(own?.additionalContext, answer.context);
  return given({ additionalContext });
}

/** Each in lines of its own; nothing where there is nothing. */
function joined(...texts: (string | undefined)[]): string | undefined {
  const said = texts.filter((text) => text !== undefined && text !== "");
  return said.length === 0 ? undefined : said.join("\n");
}

/** What the SDK is to take for what the tool gave back, and the app's own answer beside it. */
function shownInstead(own: PostToolUseHookOutput | undefined, answer: Answer): PostToolUseHookOutput | undefined {
  if (answer.decision !== "allow") return hidden(answer.reason);
  const additionalContext = joined(own?.additionalContext, answer.note, answer.context);
  const told = given({ additionalContext });
  if (!("output" in answer)) return additionalContext === undefined ? own : { ...own, ...told };
  if (!isToolResult(answer.output)) return hidden("toolgate changed it to what the SDK cannot show.");
  return { ...own, modifiedResult: answer.output, ...told };
}

/** Any other shape would be passed over, and the output shown. */
function isToolResult(value: unknown): value is ToolResult {
  return isRecord(value) && typeof value["textResultForLlm"] === "string" && typeof value["resultType"] === "string";
}

function hidden(reason: string): PostToolUseHookOutput {
  return { modifiedResult: { textResultForLlm: withheld(reason), resultType: "success" } };
}

/** A hook that only tells: the gate stops nothing here, and `adding` says what it adds to what the app's own hook answers. */
function telling<Input extends object, Invocation extends object, Output extends object>(
  event: keyof SessionHooks,
  judge: Judge,
  own: ((input: Input, invocation: Invocation) => Promise<Output | void> | Output | void) | undefined,
  adding: (answer: Answer, own: Output | undefined) => Partial<Output>,
): (input: Input, invocation: Invocation) => Promise<Output | void> {
  return async (input, invocation) => {
    const answer = await judge(event, input, invocation);
    const output = (await own?.(input, invocation)) ?? undefined;
    const added = adding(answer, output);
    return Object.keys(added).length === 0 ? output : ({ ...output, ...added } as Output);
  };
}

/** No objection is silence: "allow" would skip the permission requests, and with them the app's own rules. */
function strictest(own: PreToolUseHookOutput, answer: Answer): PreToolUseHookOutput | undefined {
  if (answer.decision === "deny") return { ...denied(answer.reason), ...withContext(answer, undefined) };
  const changed = "input" in answer ? { modifiedArgs: answer.input } : {};
  const output = { ...own, ...changed, ...withContext(answer, own) };
  if (answer.decision === "ask") {
    output.permissionDecision = "ask";
    output.permissionDecisionReason = answer.reason;
  } else if (answer.granted) {
    output.permissionDecision ??= "allow";
  }
  // The SDK forgets changed arguments once a person has agreed, and runs the call as it was.
  if (output.permissionDecision === "ask" && output.modifiedArgs !== undefined) {
    const form = JSON.stringify(output.modifiedArgs);
    return denied(`${output.permissionDecisionReason ?? "A person has to agree to this."}\nAsk for it in this form: ${form}`);
  }
  return Object.keys(output).length === 0 ? undefined : output;
}

function denied(reason: string): PreToolUseHookOutput {
  return { permissionDecision: "deny", permissionDecisionReason: reason };
}

/** Also what the hooks have not seen comes by here, so each request is judged on its own. */
function buildPermissionHandler(judge: Judge, own: PermissionHandler | undefined): PermissionHandler {
  return async (request, invocation) => {
    try {
      const answer = await judge("onPermissionRequest", request, invocation);
      if (answer.decision === "deny") return rejected(answer.reason);
      if ("input" in answer) return rejected("toolgate would change this call, and cannot do it here any more");
      const mayApprove = !forPersons(request, invocation.managedSettingsEnabled) && answer.decision === "allow";
      if (mayApprove && answer.granted) return { kind: "approve-once" };
      if (own) return await own(request, invocation);
      if (mayApprove) return { kind: "approve-once" };
      const reason = answer.decision === "ask" ? `${answer.reason}\n` : "";
      return rejected(`${reason}A person has to agree to this, and nobody can be asked here.`);
    } catch (error) {
      return rejected(cannotJudge(messageOf(error)).reason);
    }
  };
}

/** Whether a person has to decide whatever toolgate says: it was asked for, or nobody here knows what the request is. */
function forPersons(request: PermissionRequest, managed: boolean | undefined): boolean {
  const demanded = request.managedApprovalRequired !== undefined && request.managedApprovalRequired !== false;
  return managed === true || demanded || !JUDGED_KINDS.includes(request.kind);
}

function rejected(feedback: string): PermissionRequestResult {
  return { kind: "reject", feedback };
}

/**
 * Lets an agent ask a person as often as toolgate's settings allow it; after that, toolgate answers. What the app's own
 * handler throws goes to the SDK as it is: it fails the `ask_user` tool and lets nothing through.
 */
function buildUserInputHandler(judge: Judge, own: UserInputHandler): UserInputHandler {
  return async (request, invocation) => {
    const verdict = await judge("onUserInputRequest", request, invocation);
    if (verdict.decision === "deny") return { answer: verdict.answer ?? verdict.reason, wasFreeform: true };
    const response = await own(request, invocation);
    // An event of our own. Whatever becomes of it, the person has answered.
    const heard = await judge("onUserInputResponse", response, invocation);
    return heard.decision === "allow" && heard.text !== undefined ? { ...response, answer: heard.text } : response;
  };
}

function appended(message: SystemMessageConfig | undefined, charter: string): SystemMessageConfig {
  const content = message?.content ? `${message.content}\n\n${charter}` : charter;
  return message ? { ...message, content } : { mode: "append", content };
}

function listed(tools: SessionConfig["excludedTools"]): readonly string[] {
  return tools === undefined ? [] : Array.isArray(tools) ? tools : tools.toArray();
}

/** Without the members that are not there, so that they replace nothing. */
function given<Members extends object>(members: Members): { [K in keyof Members]?: NonNullable<Members[K]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
