import type { SessionChoice } from "../../agent/agent-options.ts";
import { type Agent, openAgent } from "../../agent/open-agent.ts";
import { modeNamed } from "../../agent/tool-choice.ts";
import { createEngine } from "../../engine.ts";
import { sessionId } from "../../schema/brand.ts";
import { agentNotOpened } from "../agent-not-opened.ts";
import { agentOutput, type OutputFormat, outputFormats } from "../agent-output.ts";
import { permissionModeNames } from "../../schema/settings.ts";
import { flagValues } from "../../settings/flags.ts";
import { ruleProblems } from "../../tool/rule-problems.ts";
import { flagsAsked } from "../asked-settings.ts";
import { command, type CommandContext } from "../command.ts";
import type { Answerer } from "../compact/simulated.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { chosenModel, modelOption, modelOptions } from "../model-options.ts";
import { pipedText } from "../piped-text.ts";
import { wrongFlag } from "../settings-problems.ts";
import { settingOptions } from "../setting-options.ts";
import { stopSignal } from "../until-stopped.ts";
import { ownVersion } from "../version.ts";

/** What `palimpsest` does without a command. */
export const agentCommand = command({
  name: "palimpsest",
  summary: "let the agent do one task and print what it says",
  operands: { prompt: { shown: "prompt", summary: "what to do, where -p has no text", takes: "optional" } },
  options: {
    print: {
      type: "boolean",
      short: "p",
      summary: "one turn, without a terminal UI; the task may come from a pipe too",
    },
    ...modelOptions,
    "output-format": { type: "string", shown: "text|json|stream-json", summary: "what stdout holds (default text)" },
    continue: { type: "boolean", short: "c", summary: "go on with the project's newest session" },
    resume: { type: "string", short: "r", shown: "session", summary: "go on with this session" },
    fork: { type: "boolean", summary: "with --continue or --resume: in a session of its own" },
    "permission-mode": {
      type: "string",
      shown: permissionModeNames.join("|"),
      summary: "what runs without asking",
    },
    allow: {
      type: "string",
      shown: "rule",
      takes: "many",
      summary: "what may run: 'Bash(git status:*)', 'Edit(src/**)'",
    },
    deny: { type: "string", shown: "rule", takes: "many", summary: "what may never run" },
    ...settingOptions,
    ...modelOption,
  },
  details: [
    "Nobody is there to be asked: what the rules leave to a person is denied, and the model is told so.",
    "The session is kept; --continue goes on with it. Exit code 1: the turn ended without an answer.",
  ],
  run: async (context, { operands, options }) => {
    const format = formatOf(options["output-format"]);
    if (format === undefined)
      return usage(
        `there is no output format called ${options["output-format"]}`,
        `Formats: ${outputFormats.join(", ")}.`,
      );
    const askedMode = options["permission-mode"];
    const mode = askedMode === undefined ? undefined : modeNamed(askedMode);
    if (askedMode !== undefined && mode === undefined)
      return usage(`there is no permission mode called ${askedMode}`, `Modes: ${permissionModeNames.join(", ")}.`);
    const [wrongRule] = ruleProblems(options);
    if (wrongRule !== undefined)
      return usage(wrongRule.what, "Rules look like 'Bash(npm test:*)', 'Edit(src/**)', 'Read(.env)' or Grep.");
    const flags = flagsAsked(options);
    const wrong = wrongFlag(context, flagValues(flags).problems);
    if (wrong !== undefined) return wrong;
    const prompt = await promptOf(context, operands.prompt);
    if (prompt === undefined)
      return usage(
        "there is nothing to do",
        'Say it: palimpsest -p "Fix the failing test", or send it through a pipe.',
      );
    const session = await sessionOf(context, options);
    if ("code" in session) return session;
    const model = await chosenModel(context, options);
    if ("code" in model) return model;
    const { env, cwd } = context;
    const tools = { mode, allow: options.allow, deny: options.deny };
    const version = ownVersion();
    const opened = await openAgent({ env, cwd, version, flags, session, model, tools, turns: "one" });
    if (opened.kind !== "agent") return agentNotOpened(opened, "Add --fork to go on in a session of its own.");
    return turn(context, { agent: opened, answerer: model.kind, prompt, format });
  },
});

interface Turn {
  readonly agent: Agent;
  readonly answerer: Answerer;
  readonly prompt: string;
  readonly format: OutputFormat;
}

async function turn(context: CommandContext, { agent, answerer, prompt, format }: Turn): Promise<0 | 1> {
  const stop = stopSignal();
  const output = agentOutput(context, { agent, answerer, format });
  try {
    await output.before({ problems: agent.settingsProblems, warnings: agent.warnings });
    for await (const event of agent.turn(prompt, stop.signal)) await output.event(event);
    await agent.stopAside();
    return await output.end();
  } finally {
    stop.release();
    await agent.close();
  }
}

const usage = (message: string, hint: string): Failure => failure({ code: exitCode.usage, message, hint });

const formatOf = (asked = "text"): OutputFormat | undefined => outputFormats.find((format) => format === asked);

/** What was said, and what came through a pipe behind it. */
async function promptOf({ stdin }: CommandContext, said = ""): Promise<string | undefined> {
  const piped = await pipedText(stdin, said === "" ? "required" : "optional");
  const parts = [said, piped].map((part) => part.trim()).filter((part) => part !== "");
  return parts.length === 0 ? undefined : parts.join("\n\n");
}

async function sessionOf(
  context: CommandContext,
  options: { readonly continue: boolean; readonly resume: string | undefined; readonly fork: boolean },
): Promise<SessionChoice | Failure> {
  if (options.continue && options.resume !== undefined)
    return usage("--continue and --resume name two sessions", "Give one of them.");
  const kind = options.fork ? "fork" : "resume";
  if (options.resume !== undefined) {
    const found = await createEngine(context).resolveLog(options.resume);
    if (found.kind === "ours") return { kind, id: found.id };
    return failure({
      code: exitCode.notFound,
      message: `no session of ours is called ${options.resume}`,
      hint: "`palimpsest sessions list` shows them; import another tool's log first.",
    });
  }
  if (!options.continue)
    return options.fork ? usage("--fork needs a session", "Add --continue or --resume <session>.") : { kind: "new" };
  // A session in which nothing was said, because a hook stopped it, is nothing to go on with.
  const newest = (await createEngine(context).list("project")).find(({ messageCount }) => messageCount !== 0);
  if (newest === undefined)
    return failure({
      code: exitCode.notFound,
      message: "this project has no session yet",
      hint: "Leave out --continue to start one.",
    });
  return { kind, id: sessionId(newest.sessionId) };
}
