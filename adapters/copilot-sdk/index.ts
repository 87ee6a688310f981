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

import { type Answer, Gate, type GateOptions, cannotJudge, isRecord, messageOf, withheld } from "./gate.ts";

/** Types that the SDK uses and does not export. */
type UserInputHandler = NonNullable<SessionConfig["onUserInputRequest"]>;
type PreToolUseHandler = NonNullable<SessionHooks["onPreToolUse"]>;
type PostToolUseHandler = NonNullable<SessionHooks["onPostToolUse"]>;
type PostToolUseHookOutput = Exclude<Awaited<ReturnType<PostToolUseHandler>>, void>;
type ToolResult = NonNullable<PostToolUseHookOutput["modifiedResult"]>;
type PreToolUseHookOutput = Exclude<Awaited<ReturnType<PreToolUseHandler>>, void>;

/** What an agent is there for. Several agents may have the same role. */
export interface Role {
  /** The kind of agent that toolgate's policies know it by, as in `roles = ["code-reviewer"]`. */
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
  /** So many questions may one agent ask in one session. */
  readonly maxQuestions?: number;
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

const MAX_QUESTIONS = 5;
const SHORT_ANSWER = 10;
const LIMIT_REACHED = "Proceed with your best judgment — question limit reached.";
const BRIEF = " (brief response — proceed with best judgment if ambiguous)";

/** Of these kinds a grant of toolgate is enough. The kind "hook" is not among them: it is how the SDK asks a person. */
const JUDGED_KINDS: readonly string[] = ["shell", "write", "read", "mcp", "url", "memory", "custom-tool"];

/** The callbacks of one agent, for `createSession` and `resumeSession`. */
export function buildHooksForAgent(options: AgentOptions): GatedAgent {
  const gate = new Gate({ ...options, command: [...options.command, "--agent", options.agent] });
  // The app's word on the kind of agent goes for its sub-agents too: a reviewer's helper is no writer.
  const kind = options.role && { agentType: options.role.name };
  const judge: Judge = (event, input, invocation) => gate.judge(event, { input: { ...input, ...kind }, invocation });
  const own = options.onUserInputRequest;
  const maxQuestions = options.maxQuestions ?? MAX_QUESTIONS;
  return {
    hooks: buildHooks(judge, options.hooks ?? {}),
    onPermissionRequest: buildPermissionHandler(judge, options.onPermissionRequest),
    ...(own && { onUserInputRequest: buildUserInputHandler(judge, own, maxQuestions) }),
    close: () => gate.close(),
  };
}

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

function buildHooks(judge: Judge, own: SessionHooks): SessionHooks {
  return {
    ...own,
    onPreToolUse: async (input, invocation) => {
      try {
        const output = (await own.onPreToolUse?.(input, invocation)) ?? {};
        if (output.permissionDecision === "deny") return output;
        const toolArgs = output.modifiedArgs ?? input.toolArgs;
        return strictest(output, await judge("onPreToolUse", { ...input, toolArgs }, invocation));
      } catch (error) {
        return denied(cannotJudge(messageOf(error)).reason);
      }
    },
    onPreMcpToolCall: telling("onPreMcpToolCall", judge, own.onPreMcpToolCall),
    onPostToolUse: async (input, invocation) => {
      try {
        const output = (await own.onPostToolUse?.(input, invocation)) ?? undefined;
        const toolResult = output?.modifiedResult ?? input.toolResult;
        return shownInstead(output, await judge("onPostToolUse", { ...input, toolResult }, invocation));
      } catch (error) {
        return hidden(messageOf(error));
      }
    },
    // What a tool that failed gave back cannot be changed.
    onPostToolUseFailure: telling("onPostToolUseFailure", judge, own.onPostToolUseFailure),
    onUserPromptSubmitted: telling("onUserPromptSubmitted", judge, own.onUserPromptSubmitted),
    onSessionStart: telling("onSessionStart", judge, own.onSessionStart),
    onSessionEnd: telling("onSessionEnd", judge, own.onSessionEnd),
    onErrorOccurred: telling("onErrorOccurred", judge, own.onErrorOccurred),
  };
}

/** What the SDK is to take for what the tool gave back, and the app's own answer beside it. */
function shownInstead(own: PostToolUseHookOutput | undefined, answer: Answer): PostToolUseHookOutput | undefined {
  if (answer.decision !== "allow") return hidden(answer.reason);
  if (!("output" in answer)) return own;
  const { output, note = "" } = answer;
  if (!isToolResult(output)) return hidden("toolgate changed it to what the SDK cannot show.");
  const additionalContext = [own?.additionalContext ?? "", note].filter((text) => text !== "").join("\n");
  return { ...own, modifiedResult: output, ...(additionalContext !== "" && { additionalContext }) };
}

/** Any other shape would be passed over, and the output shown. */
function isToolResult(value: unknown): value is ToolResult {
  return isRecord(value) && typeof value["textResultForLlm"] === "string" && typeof value["resultType"] === "string";
}

function hidden(reason: string): PostToolUseHookOutput {
  return { modifiedResult: { textResultForLlm: withheld(reason), resultType: "success" } };
}

/** A hook that only tells. The gate stops nothing here; what the app's own hook answers is the answer. */
function telling<Input extends object, Invocation extends object, Output>(
  event: keyof SessionHooks,
  judge: Judge,
  own: ((input: Input, invocation: Invocation) => Promise<Output | void> | Output | void) | undefined,
): (input: Input, invocation: Invocation) => Promise<Output | void> {
  return async (input, invocation) => {
    await judge(event, input, invocation);
    return await own?.(input, invocation);
  };
}

/** No objection is silence: "allow" would skip the permission requests, and with them the app's own rules. */
function strictest(own: PreToolUseHookOutput, answer: Answer): PreToolUseHookOutput | undefined {
  if (answer.decision === "deny") return denied(answer.reason);
  const output = "input" in answer ? { ...own, modifiedArgs: answer.input } : { ...own };
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
 * Lets an agent ask a person a few times in a session; after that it has to decide. What the app's own handler throws
 * goes to the SDK as it is: it fails the `ask_user` tool and lets nothing through.
 */
function buildUserInputHandler(judge: Judge, own: UserInputHandler, maxQuestions: number): UserInputHandler {
  const asked = new Map<string, number>();
  return async (request, invocation) => {
    const count = (asked.get(invocation.sessionId) ?? 0) + 1;
    asked.set(invocation.sessionId, count);
    if (count > maxQuestions) return { answer: LIMIT_REACHED, wasFreeform: true };
    const verdict = await judge("onUserInputRequest", request, invocation);
    if (verdict.decision === "deny") return { answer: verdict.reason, wasFreeform: true };
    const response = await own(request, invocation);
    if (response.answer.length >= SHORT_ANSWER) return response;
    return { answer: response.answer + BRIEF, wasFreeform: response.wasFreeform };
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
