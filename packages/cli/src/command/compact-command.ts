import { flagValues } from "../settings/flag-values.ts";
import {
  flagsFromOptions,
  sessionOptions,
  chooseModel,
  modelOption,
  modelOptions,
} from "../program/setting-options.ts";
import { command, type CommandContext } from "../program/command.ts";
import { canAskUser } from "../compact/ask-to-commit.ts";
import { runCompaction, type CompactionRun } from "../compact/run-compaction.ts";
import { openToCompact } from "../compact/open-to-compact.ts";
import { readUserPrompt } from "../compact/compaction-failure.ts";
import { exitCode, failure, type Failure, usageError } from "../program/failure.ts";
import { sessionOperand } from "../program/parse-arguments.ts";
import { printProblems, wrongFlag } from "../program/report-problems.ts";
import { stopSignal } from "../program/stop-signal.ts";
import { resolve } from "node:path";
import { openWorkspace } from "../host/workspace.ts";
import { joinLines } from "../text/format.ts";
import { readPipe } from "../program/read-pipe.ts";
import { summaryBytesMax } from "../compact/limits.ts";

export const compactCommand = command({
  name: "compact",
  summary: "replace the conversation with a summary; preview, edit, commit or cancel it",
  operands: { session: sessionOperand },
  options: {
    instructions: { type: "string", shown: "text", summary: "instructions for the summary" },
    from: { type: "string", shown: "entry", summary: "summarise this message and everything after it; the rest stays" },
    "up-to": { type: "string", shown: "entry", summary: "summarise what comes before this message; the rest stays" },
    preview: { type: "boolean", summary: "show what it would do, with the whole summary, and change nothing" },
    full: { type: "boolean", summary: "list what was changed, carried forward and restored, instead of counting it" },
    yes: { type: "boolean", summary: "commit without asking" },
    summary: { type: "string", shown: "file", summary: "your own summary instead of a model's; - for stdin" },
    ...modelOptions,
    ...sessionOptions,
    ...modelOption,
  },
  json: "session, committed, boundary, path, trigger, tokensBefore, tokensAfter, audit, userMessages, restored, pinsWarning, money, calls, receipt, summary, instead",
  details: [
    "At a terminal you are asked, and `e` opens VISUAL or EDITOR; elsewhere it is a preview unless --yes is given. Without a key, or if every call fails, the summary is made without a model, and it says so.",
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed. The copy stays, after --preview too; `sessions list` shows it.",
    "To try it without a key: --model simulator --responder extract writes a summary by rule, at simulated prices.",
  ],
  run: async (context, { operands, options, format }) => {
    const wrong = findClash(options) ?? wrongFlag(context, flagValues(flagsFromOptions(options)).problems);
    if (wrong !== undefined) return wrong;
    const userSummary = options.summary === undefined ? undefined : await readUserSummary(context, options.summary);
    if (userSummary?.kind === "failure") return userSummary;
    const model = await chooseModel(context, options);
    if ("code" in model) return model;
    const { from, "up-to": upTo, instructions } = options;
    const request = { session: operands.session, from, upTo, flags: flagsFromOptions(options), model };
    const opened = await openToCompact(context, request);
    if (opened.kind === "failure") return opened;
    const { agent } = opened;
    const stop = stopSignal();
    try {
      await printProblems(context, agent.settingsProblems);
      for (const warning of agent.warnings) await context.err.write(`warning: ${warning}\n`);
      const decision = chooseDecision(context, { ...options, format });
      const summary = userSummary?.text;
      const asksModel = summary === undefined && opened.answerer !== "none";
      const ownPrompt = asksModel ? await readUserPrompt(context) : undefined;
      const { signal } = stop;
      const details = options.full ? "listed" : "counted";
      const choices = { instructions, summary, ownPrompt, decision, details, format, signal } as const;
      return await runCompaction({ ...opened, context, ...choices });
    } finally {
      stop.release();
      await agent.close();
    }
  },
});

interface DecisionOptions {
  readonly preview: boolean;
  readonly yes: boolean;
  readonly format: "text" | "json";
}

function chooseDecision(context: CommandContext, { preview, yes, format }: DecisionOptions): CompactionRun["decision"] {
  if (preview) return "preview";
  if (yes) return "commit";
  return format === "text" && canAskUser(context) ? "ask" : "look";
}

interface ClashOptions extends Pick<DecisionOptions, "preview" | "yes"> {
  readonly from: string | undefined;
  readonly "up-to": string | undefined;
  readonly summary: string | undefined;
  readonly instructions: string | undefined;
}

function findClash({ preview, yes, from, "up-to": upTo, summary, instructions }: ClashOptions): Failure | undefined {
  if (preview && yes) return usageError("--preview changes nothing and --yes commits", "Give one of them.");
  if (from !== undefined && upTo !== undefined)
    return usageError("--from and --up-to name two parts", "Give one of them.");
  if (summary !== undefined && instructions !== undefined)
    return usageError("--instructions are for a model, and --summary takes its place", "Give one of them.");
  return undefined;
}

export type UserSummary = { readonly kind: "given"; readonly text: string } | Failure;

/** A summary written by the user: the content of a file, or stdin for `-`. */
export async function readUserSummary(context: CommandContext, name: string): Promise<UserSummary> {
  const read =
    name === "-" ? toUserSummary(await readPipe(context.stdin, "required")) : await readSummaryFile(context, name);
  if (read.kind === "failure" || read.text !== "") return read;
  return failure({
    code: exitCode.usage,
    message: "the summary is empty",
    hint: "Give a file that holds one, or - and send it through a pipe.",
  });
}

const toUserSummary = (text: string): UserSummary => ({ kind: "given", text: text.trim() });

async function readSummaryFile(context: CommandContext, name: string): Promise<UserSummary> {
  const source = await openWorkspace(context).openFile(resolve(context.cwd, name));
  if (source === undefined)
    return failure({ code: exitCode.notFound, message: `no file that you may read is called ${joinLines(name)}` });
  try {
    if (source.size <= summaryBytesMax)
      return toUserSummary(new TextDecoder().decode(await source.read({ start: 0, end: source.size })));
    return failure({ code: exitCode.refused, message: `${joinLines(name)} is too large for a summary` });
  } finally {
    await source.close();
  }
}
