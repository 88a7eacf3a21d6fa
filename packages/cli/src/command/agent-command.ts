import type { TeamOptions } from "../agent/agent-options.ts";
import { parsePermissionMode, type ToolOptions } from "../agent/tools/permission-choice.ts";
import { type FlagInput, flagValues } from "../settings/flag-values.ts";
import { permissionModeNames } from "palimpsest/internal/schema/setting-table";
import { type OutputFormat, outputFormats } from "../program/output.ts";
import {
  type GivenSettingOptions,
  flagsFromOptions,
  settingOptions,
  chooseModel,
  modelOption,
  modelOptions,
} from "../program/setting-options.ts";
import { resolveSessionChoice } from "../session/resolve-session-choice.ts";
import { command, type CommandContext, type Outcome } from "../program/command.ts";
import { type Failure, usageError } from "../program/failure.ts";
import type { Arguments, Options } from "../program/parse-arguments.ts";
import { readPipe } from "../program/read-pipe.ts";
import { wrongFlag } from "../program/report-problems.ts";

const operands = {
  prompt: {
    shown: "prompt",
    summary: "with -p the task, else the chat's first message",
    takes: "optional",
  },
} as const;

/** What the agent may do without asking. */
export const permissionOptions = {
  "permission-mode": {
    type: "string",
    shown: permissionModeNames.join("|"),
    summary: "what runs without asking",
  },
  allow: {
    type: "string",
    shown: "rule",
    takes: "many",
    summary: "an allow rule: 'Bash(git status:*)', 'Edit(src/**)'",
  },
  deny: { type: "string", shown: "rule", takes: "many", summary: "a deny rule: what may never run" },
} as const satisfies Options;

const options = {
  print: {
    type: "boolean",
    short: "p",
    summary: "one turn, without a chat; the task may also come from a pipe",
  },
  "no-tui": { type: "boolean", summary: "a chat line by line, as without a terminal" },
  ...modelOptions,
  "output-format": {
    type: "string",
    shown: "text|json|stream-json",
    summary: "with -p: what stdout holds (default text)",
  },
  continue: { type: "boolean", short: "c", summary: "continue the agent's newest session of the project" },
  resume: {
    type: "string",
    short: "r",
    shown: "session",
    takes: "maybe",
    summary: "continue this session; in a chat, without one: choose it",
  },
  fork: { type: "boolean", summary: "with --continue or --resume: in a new session" },
  ...permissionOptions,
  team: { type: "string", shown: "team", summary: "lead this team of agents, or with --name join it" },
  name: { type: "string", shown: "name", summary: "with --team: the agent's name in it" },
  socket: { type: "boolean", summary: "listen at a Unix socket for messages of sessions with another home" },
  ...settingOptions,
  ...modelOption,
} as const;

type AgentArguments = Arguments<typeof operands, typeof options>;

/** What `palimpsest` does without a command. */
export const agentCommand = command({
  name: "palimpsest",
  summary: "talk with the agent in the terminal, or let it do one task",
  operands,
  options,
  details: [
    "Without -p: a chat in the terminal; without a terminal, line by line.",
    "With --team: an agent that starts and leads teammates, or one of them; see docs/teams.md.",
    "With -p you are not asked: calls that need your approval are denied, and the model learns that.",
    "The session is kept; --continue continues it. Exit code 1: the last turn ended without an answer.",
  ],
  run: async (context, args) => {
    const request = await parseRequest(context, args.options);
    if ("code" in request) return request;
    return args.options.print ? runOneTurn(context, { args, request }) : runInChat(context, { args, request });
  },
});

interface AgentRequest {
  readonly format: OutputFormat;
  readonly flags: readonly FlagInput[];
  readonly tools: ToolOptions;
}

/** The parsed request, or what is wrong with it: then nothing is opened. */
async function parseRequest(context: CommandContext, args: AgentArguments["options"]): Promise<AgentRequest | Failure> {
  const formatName = args["output-format"] ?? "text";
  const format = outputFormats.find((name) => name === formatName);
  if (format === undefined)
    return usageError(`there is no output format called ${formatName}`, `Formats: ${outputFormats.join(", ")}.`);
  if (args["output-format"] !== undefined && !args.print)
    return usageError("--output-format is for one turn", "Add -p, or leave it out.");
  if (args.name !== undefined && args.team === undefined)
    return usageError("--name is for a member of a team", "Add --team <team>, or leave it out.");
  if (args.team !== undefined && args.print)
    return usageError(
      "a member of a team needs a chat",
      "Leave -p out; `palimpsest agents serve` works without a chat.",
    );
  const request = await parseToolRequest(context, args);
  return "code" in request ? request : { ...request, format };
}

/** The permissions and settings of a command line, or what is wrong with them. */
export async function parseToolRequest(
  context: CommandContext,
  args: Pick<AgentArguments["options"], keyof typeof permissionOptions> & GivenSettingOptions,
): Promise<Omit<AgentRequest, "format"> | Failure> {
  const modeName = args["permission-mode"];
  const mode = modeName === undefined ? undefined : parsePermissionMode(modeName);
  if (modeName !== undefined && mode === undefined)
    return usageError(`there is no permission mode called ${modeName}`, `Modes: ${permissionModeNames.join(", ")}.`);
  const [wrongRule] = await findWrongRules(args);
  if (wrongRule !== undefined)
    return usageError(wrongRule.what, "Rules look like 'Bash(npm test:*)', 'Edit(src/**)', 'Read(.env)' or Grep.");
  const flags = flagsFromOptions(args);
  const wrong = wrongFlag(context, flagValues(flags).problems);
  return wrong ?? { flags, tools: { mode, allow: args.allow, deny: args.deny } };
}

/** Loaded on demand: checking rules needs the parser of shell commands, which nothing else needs yet. */
async function findWrongRules(
  args: Pick<AgentArguments["options"], "allow" | "deny">,
): Promise<readonly { readonly what: string }[]> {
  if (args.allow.length === 0 && args.deny.length === 0) return [];
  const { findRuleProblems } = await import("../tool/permission/create-permit.ts");
  return findRuleProblems(args);
}

interface RunInput {
  readonly args: AgentArguments;
  readonly request: AgentRequest;
}

async function runOneTurn(context: CommandContext, { args, request }: RunInput): Promise<Outcome> {
  const prompt = await readPrompt(context, args.operands.prompt);
  if (prompt === undefined)
    return usageError(
      "there is nothing to do",
      'Say it: palimpsest -p "Fix the failing test", or send it through a pipe.',
    );
  const session = await resolveSessionChoice(context, args.options);
  if ("code" in session) return session;
  if (session.kind === "choose")
    return usageError("--resume needs a session here", "Name one: `palimpsest sessions list` shows them.");
  const model = await chooseModel(context, args.options);
  if ("code" in model) return model;
  const { printTurn } = await import("../session/print-turn.ts");
  return printTurn(context, { ...request, session, model, prompt });
}

async function runInChat(context: CommandContext, { args, request }: RunInput): Promise<Outcome> {
  const session = await resolveSessionChoice(context, { ...args.options, leftInput: "counts" });
  if ("code" in session) return session;
  const model = await chooseModel(context, args.options);
  if ("code" in model) return model;
  const { team } = args.options;
  const { runChat } = await import("../chat/run-chat.ts");
  return runChat(context, {
    session,
    model,
    flags: request.flags,
    tools: request.tools,
    message: args.operands.prompt,
    leftInput: args.options.continue ? "taken-up" : "left-alone",
    ui: args.options["no-tui"] ? "plain" : "any",
    socket: args.options.socket ? "on" : "off",
    team: team === undefined ? undefined : await chatTeam(context, { ...args.options, team }),
  });
}

async function chatTeam(
  context: CommandContext,
  given: AgentArguments["options"] & { readonly team: string },
): Promise<TeamOptions> {
  const { createTeammateStarter } = await import("../session/start-teammate.ts");
  const { team, name } = given;
  return { team, name, way: "chat", startTeammate: createTeammateStarter(context, given) };
}

/** The given text, followed by what was piped in. */
async function readPrompt({ stdin }: CommandContext, text = ""): Promise<string | undefined> {
  const piped = await readPipe(stdin, text === "" ? "required" : "optional");
  const parts = [text, piped].map((part) => part.trim()).filter((part) => part !== "");
  return parts.length === 0 ? undefined : parts.join("\n\n");
}
