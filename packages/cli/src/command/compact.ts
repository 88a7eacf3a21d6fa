import { flagValues } from "../settings/flags.ts";
import { flagsAsked } from "../asked-settings.ts";
import { command, type CommandContext } from "../command.ts";
import { canAsk } from "../compact/ask.ts";
import { compacting, type Compacting } from "../compact/compacting.ts";
import { openToCompact } from "../compact/open-to-compact.ts";
import { ownPromptOf } from "../compact/own-prompt.ts";
import { givenSummary } from "../compact/summary-file.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { chosenModel, modelOption, modelOptions } from "../model-options.ts";
import { sessionOperand } from "../session-operand.ts";
import { sessionOptions } from "../setting-options.ts";
import { tellProblems, wrongFlag } from "../settings-problems.ts";
import { stopSignal } from "../until-stopped.ts";

export const compactCommand = command({
  name: "compact",
  summary: "put a summary in the place of what was said; preview, edit, commit or cancel it",
  operands: { session: sessionOperand },
  options: {
    instructions: { type: "string", shown: "text", summary: "what the summary should look after" },
    from: { type: "string", shown: "entry", summary: "summarise this message and all behind it; the rest stays" },
    "up-to": { type: "string", shown: "entry", summary: "summarise what stands before this message; the rest stays" },
    preview: { type: "boolean", summary: "show what it would do, with the whole summary, and change nothing" },
    full: { type: "boolean", summary: "list what was changed, carried forward and restored, instead of counting it" },
    yes: { type: "boolean", summary: "commit without asking" },
    summary: { type: "string", shown: "file", summary: "a summary of your own in place of a model's; - for stdin" },
    ...modelOptions,
    ...sessionOptions,
    ...modelOption,
  },
  json: "session, committed, boundary, path, trigger, tokensBefore, tokensAfter, audit, userMessages, restored, pinsWarning, money, calls, receipt, summary, instead",
  details: [
    "At a terminal you are asked; elsewhere it is a preview unless --yes is given. `e` there opens VISUAL or EDITOR. Without a key, or where every call fails, the summary is put together without a model, and it says so.",
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed. The copy stays, after --preview too; `sessions list` shows it.",
    "To try it without a key: --model simulator --actor extract writes a summary by rule, at simulated prices.",
  ],
  run: async (context, { operands, options, format }) => {
    const wrong = clash(options) ?? wrongFlag(context, flagValues(flagsAsked(options)).problems);
    if (wrong !== undefined) return wrong;
    const given = options.summary === undefined ? undefined : await givenSummary(context, options.summary);
    if (given?.kind === "failure") return given;
    const model = await chosenModel(context, options);
    if ("code" in model) return model;
    const { from, "up-to": upTo, instructions } = options;
    const asked = { session: operands.session, from, upTo, flags: flagsAsked(options), model };
    const opened = await openToCompact(context, asked);
    if (opened.kind === "failure") return opened;
    const { agent } = opened;
    const stop = stopSignal();
    try {
      await tellProblems(context, agent.settingsProblems);
      for (const warning of agent.warnings) await context.err.write(`warning: ${warning}\n`);
      const decision = decisionOf(context, { ...options, format });
      const summary = given?.text;
      const asksModel = summary === undefined && opened.answerer !== "none";
      const ownPrompt = asksModel ? await ownPromptOf(context) : undefined;
      const { signal } = stop;
      const details = options.full ? "listed" : "counted";
      const decided = { instructions, summary, ownPrompt, decision, details, format, signal } as const;
      return await compacting({ ...opened, context, ...decided });
    } finally {
      stop.release();
      await agent.close();
    }
  },
});

interface Asked {
  readonly preview: boolean;
  readonly yes: boolean;
  readonly format: "text" | "json";
}

function decisionOf(context: CommandContext, { preview, yes, format }: Asked): Compacting["decision"] {
  if (preview) return "preview";
  if (yes) return "commit";
  return format === "text" && canAsk(context) ? "ask" : "look";
}

interface Clashing extends Pick<Asked, "preview" | "yes"> {
  readonly from: string | undefined;
  readonly "up-to": string | undefined;
  readonly summary: string | undefined;
  readonly instructions: string | undefined;
}

function clash({ preview, yes, from, "up-to": upTo, summary, instructions }: Clashing): Failure | undefined {
  if (preview && yes) return usage("--preview changes nothing and --yes commits", "Give one of them.");
  if (from !== undefined && upTo !== undefined) return usage("--from and --up-to name two parts", "Give one of them.");
  if (summary !== undefined && instructions !== undefined)
    return usage("--instructions are for a model, and --summary takes its place", "Give one of them.");
  return undefined;
}

const usage = (message: string, hint: string): Failure => failure({ code: exitCode.usage, message, hint });
