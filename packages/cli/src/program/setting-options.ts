import { settingNames, settingTable } from "palimpsest/internal/schema/setting-table";
import type { FlagInput } from "../settings/flag-values.ts";
import type { Option, Options } from "./parse-arguments.ts";
import { modelDefault } from "../agent/agent-options.ts";
import type { SettingsRequest, Workspace } from "../host/workspace.ts";
import type { ProjectSettings, ServerChoice } from "../settings/project-settings.ts";
import type { ModelChoice } from "../agent/model/model-choice.ts";
import type { CommandContext } from "./command.ts";
import { exitCode, failure, type Failure } from "./failure.ts";

/** The flags of the settings, for every command that uses them. */
export const settingOptions: Options = {
  ...Object.fromEntries(
    settingNames.flatMap((name): readonly (readonly [string, Option])[] => {
      const { flag, flagShown, loneFlag, about } = settingTable[name];
      return [
        // Before the flag with a value: if both are given, the latter counts.
        ...(loneFlag === undefined ? [] : [[loneFlag.flag, { type: "boolean", summary: loneFlag.about }] as const]),
        ...(flag === undefined
          ? []
          : [
              [
                flag,
                { type: "string", shown: flagShown ?? valuePlaceholder(flag), summary: asSummary(about) },
              ] as const,
            ]),
      ];
    }),
  ),
  on: { type: "string", shown: "switch", takes: "many", summary: "turn a switch on: --on snip" },
  off: { type: "string", shown: "switch", takes: "many", summary: "turn a switch off: --off clear.size" },
};

export type GivenSettingOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** If a switch is turned on and off in one line, off counts. */
export const settingFlags = (options: GivenSettingOptions): readonly FlagInput[] =>
  Object.keys(settingOptions).flatMap((flag) => {
    const value = options[flag];
    if (value === undefined || value === false) return [];
    if (value === true) return loneFlags.filter((lone) => lone.flag === flag);
    return (typeof value === "string" ? [value] : value).map((text) => ({ flag, text }));
  });

const loneFlags: readonly FlagInput[] = settingNames.flatMap((name) => {
  const { loneFlag } = settingTable[name];
  return loneFlag === undefined ? [] : [{ flag: loneFlag.flag, text: loneFlag.value }];
});

/** `context-tokens` → `tokens`. */
function valuePlaceholder(flag: string): string {
  return flag.split("-").at(-1) ?? flag;
}

/** As help writes it: one line, lower case, without a full stop. */
function asSummary(about: string): string {
  return `${about.charAt(0).toLowerCase()}${about.slice(1).replace(/\.$/, "")}`;
}

/** For a command that changes a session and runs none of its tools: all but those about the sandbox and the chat. */
export const sessionOptions: Options = Object.fromEntries(
  Object.entries(settingOptions).filter(
    ([flag]) => !["sandbox", "no-sandbox", "ask-above-dollars", "agent-dollars-max"].includes(flag),
  ),
);

/** Those that matter to a command which only reads a session: its window and thresholds. */
const windowFlags: ReadonlySet<string> = new Set([
  "model",
  "context-tokens",
  "output-tokens",
  "compact-percent",
  "blocking-tokens",
  "policy",
  "on",
  "off",
]);
export const windowOptions: Options = Object.fromEntries(
  Object.entries(settingOptions).filter(([flag]) => windowFlags.has(flag)),
);

/** The value of `--model` that makes the simulator in this process answer. */
export const simulatorName = "simulator";

/** Without `--model simulator`: it says what answers, not as which model. */
export const flagsFromOptions = (options: GivenSettingOptions): readonly FlagInput[] =>
  settingFlags(options).filter(({ flag, text }) => !(flag === "model" && text === simulatorName));

interface RequestedSettingsInput extends Omit<SettingsRequest, "flags" | "server"> {
  readonly options: GivenSettingOptions;
}

/**
 * The settings as the agent would resolve them with the same line: the simulator answers as the model that is used
 * otherwise.
 */
export async function readRequestedSettings(
  workspace: Workspace,
  { options, ...knowledge }: RequestedSettingsInput,
): Promise<ProjectSettings> {
  const request = { ...knowledge, flags: flagsFromOptions(options), server: serverFromOptions(options) };
  const resolved = await workspace.settings(request);
  if (options["model"] !== simulatorName || resolved.resolved.model !== undefined) return resolved;
  return workspace.settings({ ...request, model: modelDefault });
}

function serverFromOptions(options: GivenSettingOptions): ServerChoice {
  const baseUrl = options["base-url"];
  if (options["model"] === simulatorName) return { kind: "in-process" };
  return { kind: "provider", baseUrl: typeof baseUrl === "string" ? baseUrl : undefined };
}

/** For every command that uses a window: two servers may serve the same model with different ones. */
export const serverOption = {
  "base-url": { type: "string", shown: "url", summary: "another server, in the provider's format" },
} as const satisfies Options;

/** What answers, for every command that asks a model. */
export const modelOptions = {
  ...serverOption,
  scenario: { type: "string", shown: "file", summary: "with --model simulator: what the model says" },
  replay: { type: "string", shown: "session|file", summary: "with --model simulator: answer with a recorded session" },
  responder: {
    type: "string",
    alias: "actor",
    shown: "name",
    summary: "with --model simulator: echo, extract or adversary",
  },
} as const satisfies Options;

/** Replaces the setting's own flag: settings know no model `simulator`. */
export const modelOption = {
  model: { type: "string", shown: "model", summary: "a model's id, or `simulator`" },
} as const satisfies Options;

type ModelFlags = {
  readonly [Name in keyof typeof modelOptions | keyof typeof modelOption]: string | undefined;
};

export async function chooseModel(context: CommandContext, flags: ModelFlags): Promise<ModelChoice | Failure> {
  const { scenario, replay, responder } = flags;
  if (flags.model === simulatorName) {
    const { chooseResponder } = await import("../simulate/choose-responder.ts");
    const chosen = await chooseResponder(context, { scenario, replay, responder });
    return chosen.kind === "failure"
      ? chosen
      : { kind: "simulator", responder: chosen.responder, seed: chosen.seed ?? 0 };
  }
  if ([scenario, replay, responder].some((flag) => flag !== undefined))
    return failure({
      code: exitCode.usage,
      message: "only the simulator follows a script",
      hint: "Add --model simulator.",
    });
  return { kind: "provider", baseUrl: flags["base-url"] };
}
