import type { HookCallbacks, HookEvent, HookOutcome, Hooks } from "palimpsest/internal/ports/hooks";
import { millis } from "palimpsest/internal/schema/brand";
import { type HookSetting, isMatched, matcherOf } from "palimpsest/internal/schema/hook";
import type { Environment } from "../shell/environment.ts";
import { type HookRun, runOf } from "./answer.ts";
import { callbackRun } from "./callback.ts";
import { combine, type NamedRun } from "./combine.ts";
import { hookEnvironment } from "./environment.ts";
import { matchedNames, ruleByEvent } from "./event-rules.ts";
import { hookInput } from "./input.ts";
import { quotedCommandCharsMax } from "./limits.ts";
import { runHookProcess } from "./process.ts";

export interface HooksParts {
  /** Those in force at this moment, weakest scope first: settings change while a session runs. */
  readonly settings: () => readonly HookSetting[];
  readonly callbacks?: readonly HookCallbacks[];
  /** Of the program that reads the commands, such as `/bin/bash`. */
  readonly shell: string;
  /** Of this process; hooks see it without the keys by which we reach models and stores. */
  readonly env: Environment;
  /** The project's root, which commands are told as a variable. */
  readonly projectRoot: string;
}

/** Hooks of the settings as commands, and functions of the library, under the same rules. */
export const makeHooks = (parts: HooksParts): Hooks => ({ fire: (event, signal) => fire(parts, { event, signal }) });

interface Firing {
  readonly event: HookEvent;
  readonly signal: AbortSignal;
}

async function fire(parts: HooksParts, firing: Firing): Promise<HookOutcome> {
  const { event, signal } = firing;
  const { timeoutMs } = ruleByEvent[event.name];
  const functions = (parts.callbacks ?? []).flatMap((callbacks) => {
    const run = callbackRun(callbacks, event, { timeoutMs, signal });
    return run === undefined ? [] : [named(`function for ${event.name}`, run)];
  });
  const commands = settingsFor(event, parts.settings()).map((setting) =>
    named(quoted(setting), commandRun(parts, { ...firing, setting })),
  );
  return combine(event.name, await Promise.all([...functions, ...commands]));
}

const named = async (called: string, run: Promise<HookRun>): Promise<NamedRun> => ({ called, run: await run });

/** A command that stands in several files runs once, where it stands first. */
function settingsFor(event: HookEvent, settings: readonly HookSetting[]): readonly HookSetting[] {
  const names = matchedNames(event);
  const settingByCommand = new Map<string, HookSetting>();
  for (const setting of settings) {
    if (setting.event !== event.name || settingByCommand.has(setting.command)) continue;
    if (names === undefined || isMatched(matcherOf(setting.matcher), names))
      settingByCommand.set(setting.command, setting);
  }
  return [...settingByCommand.values()];
}

async function commandRun(
  { shell, env, projectRoot }: HooksParts,
  { event, signal, setting }: Firing & { readonly setting: HookSetting },
): Promise<HookRun> {
  const { command, timeoutSeconds } = setting;
  const end = await runHookProcess({
    shell,
    command,
    input: JSON.stringify(hookInput(event)),
    cwd: event.cwd,
    env: hookEnvironment({ env, projectRoot }),
    timeoutMs: timeoutSeconds === undefined ? ruleByEvent[event.name].timeoutMs : millis(timeoutSeconds * 1_000),
    signal,
  });
  return runOf(end, event.name);
}

function quoted({ command, from }: HookSetting): string {
  const line = command.replaceAll(/\s+/g, " ").trim();
  const short = line.length > quotedCommandCharsMax ? `${line.slice(0, quotedCommandCharsMax)}…` : line;
  return `\`${short}\` of ${from}`;
}
