import { z } from "zod";
import { type HookSetting, hookSettingShape } from "./hook.ts";
import { type ModelOverride, modelOverrideShape } from "./model.ts";
import {
  resultCharsHard,
  resultCharsMin,
  type ToolLimit,
  toolLimitShape,
  type SettingRow,
  type PromptChoice,
  promptChoiceShape,
  masterSwitchRow,
  ownList,
  ruleList,
} from "./setting-row.ts";
import { instructionRows, type InstructionSettings } from "./instruction-rows.ts";
import { type PolicyName, policyNames, type SavingLevel, savingLevels } from "./policy-names.ts";
import { type StorageSettings, storageRows } from "./storage-rows.ts";
import { onlyOff, type SwitchName, switchRows, type SwitchRows } from "./switch-rows.ts";
import { type ServerListing, serverListingShape } from "./server-definition.ts";

/** Decide what runs without asking. The names are those of the ecosystem's settings files and of `--permission-mode`. */
export const permissionModeNames = ["default", "acceptEdits", "plan", "bypassPermissions"] as const;
/** Weakest first. */
export const sandboxModeNames = ["off", "auto", "required"] as const;
export type SandboxMode = (typeof sandboxModeNames)[number];

/** Undefined if nothing is set: then the model, or the code that uses the value, decides. */
export type SettingValues = {
  readonly model: string | undefined;
  readonly summaryModel: string | undefined;
  readonly models: readonly ModelOverride[];
  readonly contextTokens: number | undefined;
  readonly outputTokensMax: number | undefined;
  readonly compactPercent: number | undefined;
  readonly blockingTokens: number | undefined;
  readonly askAboveDollars: number | undefined;
  readonly agentDollarsMax: number | undefined;
  readonly toolLimits: readonly ToolLimit[];
  readonly clearableTools: readonly string[];
  readonly autoCompactEnabled: boolean;
  readonly autoMemoryEnabled: boolean;
  readonly autoDreamEnabled: boolean;
  readonly policy: PolicyName;
  readonly saving: SavingLevel;
  readonly systemPrompts: readonly PromptChoice[];
  readonly hooks: readonly HookSetting[];
  readonly mcpServers: readonly ServerListing[];
  readonly approvedMcpServers: readonly string[];
  readonly refusedMcpServers: readonly string[];
  readonly statusLine: string | undefined;
  readonly trustedProjects: readonly string[];
  readonly refusedProjects: readonly string[];
  readonly sandbox: SandboxMode;
  readonly "permissions.allow": readonly string[];
  readonly "permissions.ask": readonly string[];
  readonly "permissions.deny": readonly string[];
  readonly "permissions.defaultMode": (typeof permissionModeNames)[number];
} & InstructionSettings &
  StorageSettings & { readonly [Name in `flags.${SwitchName}`]: boolean };
export type SettingName = keyof SettingValues;

/** Fewer tokens hold no conversation; a number above the maximum is a typing error. */
export const windowTokensMin = 1_000;
const windowShape = z.int().min(windowTokensMin).max(100_000_000);
const windowExpects = "a whole number of tokens from 1,000 to 100,000,000";
const countShape = z.int().min(1).max(100_000_000);
/** Only the command is used; the ecosystem's other keys concern its own screen. */
const statusLineShape = z
  .object({ type: z.literal("command"), command: z.string().min(1) })
  .transform(({ command }) => command);
const countExpects = "a whole number of tokens from 1 to 100,000,000";

type PlainRows = { readonly [Name in Exclude<SettingName, keyof SwitchRows>]: SettingRow<SettingValues[Name]> };

const plainRows: PlainRows = {
  model: {
    shape: z.string().min(1),
    expects: "a model's name",
    type: "text",
    default: undefined,
    defaultSays: "none",
    environment: ["PALIMPSEST_MODEL"],
    flag: "model",
    byProject: "nothing",
    about: "The model to use; a [1m] after its name asks for the window of a million tokens.",
    basis: "ours",
  },
  summaryModel: {
    shape: z.string().min(1),
    expects: "a model's name",
    type: "text",
    default: undefined,
    defaultSays: "by policy",
    environment: ["PALIMPSEST_SUMMARY_MODEL"],
    flag: "summary-model",
    byProject: "nothing",
    about:
      "The model that writes summaries, at the same provider: by a plain call, which reads no cache. By default the conversation's own, or what the policy says.",
    basis: "ours",
  },
  models: {
    shape: modelOverrideShape,
    expects: "a list of models, each with its id and what differs from the registry",
    type: "list",
    addsUp: "by-id",
    default: [],
    defaultSays: "the registry",
    environment: [],
    byProject: "nothing",
    about: "Windows, output limits and prices that differ from the registry; scopes add up, by id.",
    basis: "ours",
  },
  contextTokens: {
    shape: windowShape,
    expects: windowExpects,
    type: "number",
    default: undefined,
    defaultSays: "by model",
    environment: ["PALIMPSEST_CONTEXT_TOKENS", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"],
    flag: "context-tokens",
    byProject: "nothing",
    about: "The size of the window, whatever the model says.",
    basis: "published",
  },
  outputTokensMax: {
    shape: countShape,
    expects: countExpects,
    type: "number",
    default: undefined,
    defaultSays: "by model",
    environment: ["PALIMPSEST_OUTPUT_TOKENS_MAX", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"],
    flag: "output-tokens",
    byProject: "nothing",
    about: "The longest reply; the output reserve is this, up to what the policy says.",
    basis: "published",
  },
  compactPercent: {
    shape: z.number().gt(0).lte(100),
    expects: "a number over 0 and up to 100, fractions allowed",
    type: "number",
    default: undefined,
    defaultSays: "none",
    environment: ["PALIMPSEST_COMPACT_PERCENT", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"],
    flag: "compact-percent",
    whenOutOfRange: "warning",
    byProject: "nothing",
    about: "Compact at this share of the effective window; it can only lower the threshold.",
    basis: "published",
  },
  blockingTokens: {
    shape: countShape,
    expects: countExpects,
    type: "number",
    default: undefined,
    defaultSays: "by window",
    environment: ["PALIMPSEST_BLOCKING_TOKENS", "CLAUDE_CODE_BLOCKING_LIMIT_OVERRIDE"],
    flag: "blocking-tokens",
    byProject: "nothing",
    about: "No request is sent above this; meant for tests.",
    basis: "published",
  },
  askAboveDollars: {
    shape: z.number().min(0).max(1_000),
    expects: "a number of dollars from 0 to 1,000, fractions allowed",
    type: "number",
    default: undefined,
    defaultSays: "never ask",
    environment: ["PALIMPSEST_ASK_ABOVE_DOLLARS"],
    flag: "ask-above-dollars",
    byProject: "nothing",
    about:
      "The chat asks before an edit that is made only because it pays, and costs at least this now; 0 asks about each that costs something now.",
    basis: "ours",
  },
  agentDollarsMax: {
    shape: z.number().min(0).max(100_000),
    expects: "a number of dollars from 0 to 100,000, fractions allowed",
    type: "number",
    default: undefined,
    defaultSays: "no limit",
    environment: ["PALIMPSEST_AGENT_DOLLARS_MAX"],
    flag: "agent-dollars-max",
    byProject: "nothing",
    about: "What all agents of a session may cost together; then they are ended, and none is started.",
    basis: "ours",
  },
  toolLimits: {
    shape: toolLimitShape,
    expects: `a list of tools, each with its id and its resultCharsMax from ${resultCharsMin.toLocaleString("en-US")} to ${resultCharsHard.toLocaleString("en-US")}`,
    type: "list",
    addsUp: "by-id",
    default: [],
    defaultSays: "each tool's own",
    environment: [],
    byProject: "nothing",
    about: "Longer results of these tools are offloaded; scopes add up, by id.",
    basis: "published",
  },
  clearableTools: {
    shape: z.string().min(1),
    expects: "a list of tool names",
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "re-runnable ones",
    environment: [],
    byProject: "nothing",
    about: "Tools whose old results may be cleared too, since running them again does no harm; from the next start on.",
    basis: "published",
  },
  autoCompactEnabled: masterSwitchRow({
    environment: ["PALIMPSEST_AUTO_COMPACT_ENABLED"],
    offBy: ["DISABLE_COMPACT", "DISABLE_AUTO_COMPACT"],
    byProject: "nothing",
    about: "Automatic compaction: at the threshold, prepared, reactive, by the server.",
  }),
  autoMemoryEnabled: masterSwitchRow({
    environment: ["PALIMPSEST_AUTO_MEMORY_ENABLED"],
    offBy: ["CLAUDE_CODE_DISABLE_AUTO_MEMORY"],
    byProject: onlyOff,
    about:
      "The agent keeps memories of the project between sessions: it is shown their index and may save some; from the next session on.",
  }),
  autoDreamEnabled: masterSwitchRow({
    environment: ["PALIMPSEST_AUTO_DREAM_ENABLED"],
    byProject: onlyOff,
    about: "Memories are consolidated by themselves: at most once a day, after five other sessions.",
  }),
  ...storageRows,
  policy: {
    shape: z.enum(policyNames),
    expects: `one of ${policyNames.join(", ")}`,
    type: "text",
    default: "palimpsest",
    environment: ["PALIMPSEST_POLICY"],
    flag: "policy",
    byProject: "nothing",
    about: "The preset: which layers run, with which numbers, and how one is chosen.",
    basis: "ours",
  },
  saving: {
    shape: z.enum(savingLevels),
    expects: `one of ${savingLevels.join(", ")}`,
    type: "text",
    default: "balanced",
    environment: ["PALIMPSEST_SAVING"],
    flag: "saving",
    byProject: "nothing",
    about:
      "How readily the default policy edits the view to save money; a forced edit is always made. No effect under another policy.",
    basis: "ours",
  },
  systemPrompts: {
    shape: promptChoiceShape,
    expects: "a list of model name prefixes, each with a family or a text",
    type: "list",
    addsUp: "by-id",
    default: [],
    defaultSays: "by model",
    environment: [],
    byProject: "nothing",
    about: "Which system prompt a model gets; scopes add up, by id.",
    basis: "ours",
  },
  hooks: {
    shape: hookSettingShape,
    expects: "an object of events, each with a list of matchers and their hooks",
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "none",
    environment: [],
    byProject: "nothing",
    about: "Commands to run at events; those of all scopes run, a project's only if you trust the project.",
    basis: "published",
  },
  mcpServers: {
    shape: serverListingShape,
    expects: "an object of servers by name",
    type: "list",
    addsUp: "all",
    default: [],
    defaultSays: "none",
    environment: [],
    // Each server needs its own approval.
    byProject: "anything",
    about:
      "Tool servers to start with a session; a project's only once you approve them, whether it is trusted or not. See mcp.md.",
    basis: "published",
  },
  approvedMcpServers: ownList({
    shape: z.string().regex(/^[0-9a-f]{64}$/),
    expects: "a list of approvals, as palimpsest writes them",
    about: "Definitions of projects' servers that you approved of. Only in your own file.",
  }),
  refusedMcpServers: ownList({
    shape: z.string().regex(/^[0-9a-f]{64}$/),
    expects: "a list of approvals that you refused, as palimpsest writes them",
    about:
      "Definitions of projects' servers that you refused; you are not asked about them again. Only in your own file.",
  }),
  statusLine: {
    shape: statusLineShape,
    expects: 'an object with "type": "command" and a "command" for the shell',
    type: "text",
    default: undefined,
    defaultSays: "none",
    environment: [],
    byProject: "nothing",
    about: "A command that writes the lines below the editor; a project's only if you trust the project.",
    basis: "published",
  },
  trustedProjects: ownList({
    shape: z.string().min(1),
    expects: "a list of folders, from the root or from ~/",
    about:
      "Folders of projects that you trust: their settings may allow things, not only forbid. Only in your own file.",
  }),
  refusedProjects: ownList({
    shape: z.string().min(1),
    expects: "a list of folders, from the root or from ~/",
    about: "Folders of projects that you don't trust; you are not asked about them again. Only in your own file.",
  }),
  ...instructionRows,
  sandbox: {
    shape: z.enum(sandboxModeNames),
    expects: "auto, required or off",
    type: "text",
    default: "auto",
    environment: ["PALIMPSEST_SANDBOX"],
    flag: "sandbox",
    flagShown: "auto|required|off",
    loneFlag: {
      flag: "no-sandbox",
      value: "off",
      about: "the same as --sandbox off: commands run without a sandbox",
    },
    // A project's value that would weaken it is ignored elsewhere, trusted or not.
    byProject: "anything",
    about:
      "Whether commands run in the operating system's sandbox: auto if there is one, required always, off never. A project's files may only strengthen it.",
    basis: "ours",
  },
  "permissions.allow": ruleList({
    about: "What may run without asking; --allow adds to it. In your own file, or a project's that you trust.",
    byProject: "nothing",
  }),
  "permissions.ask": ruleList({
    about: "What you are asked about even if it is allowed, so `-p` denies it; rules of all scopes count.",
    byProject: "anything",
  }),
  "permissions.deny": ruleList({
    about: "What may never run; rules of all scopes count, and --deny adds to them.",
    byProject: "anything",
  }),
  "permissions.defaultMode": {
    shape: z.enum(permissionModeNames),
    expects: `one of ${permissionModeNames.join(", ")}`,
    type: "text",
    default: "default",
    environment: [],
    byProject: { narrows: (mode) => mode === "plan", says: "plan" },
    about:
      "What runs without asking, unless --permission-mode says otherwise. A project's files may only say plan, unless you trust it.",
    basis: "published",
  },
};

/**
 * All settings. Parsing, environment, flags, `explain` and docs/settings.md derive from this table: a new setting is a
 * line in `SettingValues` and a row here.
 */
export const settingTable: { readonly [Name in SettingName]: SettingRow<SettingValues[Name]> } = {
  ...plainRows,
  ...switchRows,
};
export const settingNames = Object.keys(settingTable) as SettingName[];
export const isSettingName = (name: string): name is SettingName => Object.hasOwn(settingTable, name);

/** Keys of the ecosystem's settings files: kept as they are, not interpreted yet. */
export const reservedKeys: ReadonlySet<string> = new Set(["$schema", "env"]);
