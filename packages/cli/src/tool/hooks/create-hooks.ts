import type {
  HookCallbacks,
  HookEvent,
  HookOutcome,
  Hooks,
  HookPayload,
  HookEventOf,
} from "palimpsest/internal/ports/hooks";
import { millis } from "palimpsest/internal/schema/brand";
import {
  type HookSetting,
  isMatch,
  parseMatcher,
  hookAnswerShape,
  type HookEventName,
} from "palimpsest/internal/schema/hook";
import type { Environment } from "../shell/shell-environment.ts";
import {
  type HookRun,
  interpretEnd,
  silentRun,
  combineRuns,
  type NamedRun,
  matcherNames,
  ruleByEvent,
  publicToolName,
} from "./hook-run.ts";
import { hookEnvironment, runHookProcess, type RunLimits, raceLimits } from "./hook-process.ts";
import { quotedCommandCharsMax } from "./limits.ts";
import type { JsonObject } from "palimpsest/internal/schema/json";

interface HooksOptions {
  /** The current settings, weakest scope first: they may change while a session runs. */
  readonly settings: () => readonly HookSetting[];
  readonly callbacks?: readonly HookCallbacks[];
  /** Path of the program that runs the commands, such as `/bin/bash`. */
  readonly shell: string;
  /** Of this process; hooks get it without the keys to models and stores. */
  readonly env: Environment;
  /** The project's root, which commands get as a variable. */
  readonly projectRoot: string;
}

/** Runs commands from the settings and callbacks of the library under the same rules. */
export const createHooks = (options: HooksOptions): Hooks => ({
  fire: (event, signal) => fireHooks(options, { event, signal }),
});

interface FireInput {
  readonly event: HookEvent;
  readonly signal: AbortSignal;
}

async function fireHooks(options: HooksOptions, fireInput: FireInput): Promise<HookOutcome> {
  const { event, signal } = fireInput;
  const { timeoutMs } = ruleByEvent[event.name];
  const callbackRuns = (options.callbacks ?? []).flatMap((callbacks) => {
    const run = runCallback(callbacks, event, { timeoutMs, signal });
    return run === undefined ? [] : [nameRun(`function for ${event.name}`, run)];
  });
  const commandRuns = findSettings(event, options.settings()).map((setting) =>
    nameRun(quoteCommand(setting), runCommandHook(options, { ...fireInput, setting })),
  );
  return combineRuns(event.name, await Promise.all([...callbackRuns, ...commandRuns]));
}

const nameRun = async (called: string, run: Promise<HookRun>): Promise<NamedRun> => ({ called, run: await run });

/** A command that several files name runs once, at its first place. */
function findSettings(event: HookEvent, settings: readonly HookSetting[]): readonly HookSetting[] {
  const names = matcherNames(event);
  const settingByCommand = new Map<string, HookSetting>();
  for (const setting of settings) {
    if (setting.event !== event.name || settingByCommand.has(setting.command)) continue;
    if (names === undefined || isMatch(parseMatcher(setting.matcher), names))
      settingByCommand.set(setting.command, setting);
  }
  return [...settingByCommand.values()];
}

async function runCommandHook(
  { shell, env, projectRoot }: HooksOptions,
  { event, signal, setting }: FireInput & { readonly setting: HookSetting },
): Promise<HookRun> {
  const { command, timeoutSeconds } = setting;
  const end = await runHookProcess({
    shell,
    command,
    input: JSON.stringify(toHookInput(event)),
    cwd: event.cwd,
    env: hookEnvironment({ env, projectRoot }),
    timeoutMs: timeoutSeconds === undefined ? ruleByEvent[event.name].timeoutMs : millis(timeoutSeconds * 1_000),
    signal,
  });
  return interpretEnd(end, event.name);
}

function quoteCommand({ command, from }: HookSetting): string {
  const line = command.replaceAll(/\s+/g, " ").trim();
  const short = line.length > quotedCommandCharsMax ? `${line.slice(0, quotedCommandCharsMax)}…` : line;
  return `\`${short}\` of ${from}`;
}

/** The JSON that a command reads from standard input. The fields are the ecosystem's, so that existing scripts work. */
export const toHookInput = (event: HookEvent): JsonObject => ({
  session_id: event.session,
  ...optionalField("transcript_path", event.transcriptPath),
  cwd: event.cwd,
  ...(event.permissionMode === undefined ? {} : { permission_mode: event.permissionMode }),
  ...(event.agent === undefined ? {} : { agent_id: event.agent.id, agent_type: event.agent.type }),
  hook_event_name: event.name,
  ...eventFields(event),
});

function eventFields(event: HookPayload): JsonObject {
  switch (event.name) {
    case "SessionStart":
      return { source: event.source, ...optionalField("model", event.model) };
    case "SessionEnd":
      return { reason: event.reason };
    case "UserPromptSubmit":
      return { prompt: event.prompt };
    case "PreToolUse":
      return { tool_name: publicToolName(event.tool), tool_input: event.input, tool_use_id: event.toolUse };
    case "PostToolUse":
      return {
        tool_name: publicToolName(event.tool),
        tool_input: event.input,
        tool_response: event.response,
        tool_use_id: event.toolUse,
      };
    case "PermissionRequest":
      return { tool_name: publicToolName(event.tool), tool_input: event.input };
    case "Notification":
      return { message: event.message, notification_type: event.type, ...optionalField("title", event.title) };
    case "Stop":
      return { stop_hook_active: event.again, ...optionalField("last_assistant_message", event.lastText) };
    case "SubagentStart":
      return { agent_id: event.agentId, agent_type: event.agentType };
    case "SubagentStop":
      return {
        stop_hook_active: event.again,
        agent_id: event.agentId,
        agent_type: event.agentType,
        agent_transcript_path: event.agentTranscriptPath,
        ...optionalField("last_assistant_message", event.lastText),
      };
    case "PreCompact":
      return { trigger: event.trigger, custom_instructions: event.instructions };
    case "PostCompact":
      return { trigger: event.trigger, compact_summary: event.summary, ...optionalField("receipt", event.receipt) };
    case "InstructionsLoaded":
      return {
        file_path: event.path,
        memory_type: event.memoryType,
        load_reason: event.reason,
        ...optionalField("parent_file_path", event.parentPath),
        ...optionalField("trigger_file_path", event.triggerPath),
        ...(event.globs === undefined ? {} : { globs: [...event.globs] }),
      };
  }
}

const optionalField = (key: string, value: string | JsonObject | undefined): JsonObject =>
  value === undefined ? {} : { [key]: value };

/** Undefined if there is no callback for the event. Must not reject: the callback is foreign code. */
export function runCallback(
  callbacks: HookCallbacks,
  event: HookEvent,
  limits: RunLimits,
): Promise<HookRun> | undefined {
  const listener = findListener(callbacks, event);
  return listener === undefined ? undefined : runWithLimits(listener, limits);
}

type HookListener = (signal: AbortSignal) => unknown;

/** One case per event: only this way the compiler knows that a callback gets the event it was written for. */
function findListener(callbacks: HookCallbacks, event: HookEvent): HookListener | undefined {
  switch (event.name) {
    case "SessionStart":
      return bindCallback(callbacks.SessionStart, event);
    case "SessionEnd":
      return bindCallback(callbacks.SessionEnd, event);
    case "UserPromptSubmit":
      return bindCallback(callbacks.UserPromptSubmit, event);
    case "PreToolUse":
      return bindCallback(callbacks.PreToolUse, event);
    case "PostToolUse":
      return bindCallback(callbacks.PostToolUse, event);
    case "PermissionRequest":
      return bindCallback(callbacks.PermissionRequest, event);
    case "Notification":
      return bindCallback(callbacks.Notification, event);
    case "Stop":
      return bindCallback(callbacks.Stop, event);
    case "SubagentStart":
      return bindCallback(callbacks.SubagentStart, event);
    case "SubagentStop":
      return bindCallback(callbacks.SubagentStop, event);
    case "PreCompact":
      return bindCallback(callbacks.PreCompact, event);
    case "PostCompact":
      return bindCallback(callbacks.PostCompact, event);
    case "InstructionsLoaded":
      return bindCallback(callbacks.InstructionsLoaded, event);
  }
}

const bindCallback = <Name extends HookEventName>(
  callback: ((event: HookEventOf<Name>, signal: AbortSignal) => unknown) | undefined,
  event: HookEventOf<Name>,
): HookListener | undefined => (callback === undefined ? undefined : (signal) => callback(event, signal));

async function runWithLimits(listener: HookListener, limits: RunLimits): Promise<HookRun> {
  if (limits.signal.aborted) return { kind: "aborted" };
  const aborter = new AbortController();
  const limitRace = raceLimits(limits);
  try {
    return await Promise.race([callListener(listener, aborter.signal), limitRace.first.then(cutShortRun)]);
  } finally {
    limitRace.release();
    aborter.abort();
  }
}

const cutShortRun = (why: "timed-out" | "aborted"): HookRun =>
  why === "aborted" ? { kind: why } : { kind: "failed", why: "did not answer within its time limit" };

async function callListener(listener: HookListener, signal: AbortSignal): Promise<HookRun> {
  try {
    const answer: unknown = await listener(signal);
    if (answer === undefined) return silentRun;
    const read = hookAnswerShape.safeParse(answer);
    return read.success
      ? { kind: "said", answer: read.data }
      : { kind: "failed", why: "returned something that is not a hook answer" };
  } catch (error) {
    return { kind: "failed", why: `threw: ${error instanceof Error ? error.message : String(error)}` };
  }
}
