import { askedDownToTokens } from "../../layers/2-clear/limits.ts";
import type { LoopEvent } from "../../schema/event.ts";
import { flagValues } from "../../settings/flags.ts";
import { clearedLine } from "../../tui/text/event-lines.ts";
import { flagsAsked } from "../asked-settings.ts";
import { command } from "../command.ts";
import { openToCompact } from "../compact/open-to-compact.ts";
import { exitCode } from "../exit-code.ts";
import { failure, type Failure } from "../failure.ts";
import { humanCount } from "../human.ts";
import { modelOption } from "../model-options.ts";
import { returnedBy } from "../returned-by.ts";
import { sessionOperand } from "../session-operand.ts";
import { settingOptions } from "../setting-options.ts";
import { tellProblems, wrongFlag } from "../settings-problems.ts";
import { hookOrWarning } from "../warning-text.ts";
import { writingFailure } from "../writing-failure.ts";

export const clearCommand = command({
  name: "clear",
  summary: "take old tool results out of the view, down to a target",
  operands: { session: sessionOperand },
  options: {
    target: {
      type: "string",
      shown: "tokens",
      summary: `how many tokens of results may stay (default ${humanCount(askedDownToTokens)})`,
    },
    ...settingOptions,
    ...modelOption,
  },
  json: "session, edit (null if there was nothing to clear), results, tokensBefore, tokensAfter, tokensSaved, because",
  details: [
    "The oldest results go first; the newest three, pinned ones and results of tools that can't be run again stay. Each shows a marker that names where the whole of it is, and `undo` brings all of them back.",
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
  ],
  run: async (context, { operands, options, format }) => {
    const downToTokens = targetOf(options.target);
    if (typeof downToTokens === "object") return downToTokens;
    const wrong = wrongFlag(context, flagValues(flagsAsked(options)).problems);
    if (wrong !== undefined) return wrong;
    const model = { kind: "none", message: "Nobody is asked for this." } as const;
    const asked = { session: operands.session, from: undefined, upTo: undefined, flags: flagsAsked(options), model };
    const opened = await openToCompact(context, asked);
    if (opened.kind === "failure") return opened;
    const { agent } = opened;
    const session = agent.session.id;
    try {
      await tellProblems(context, agent.settingsProblems);
      const events: LoopEvent[] = [];
      await returnedBy(agent.compaction.clear(downToTokens), (event) => events.push(event));
      // Nobody is told of a clearing that a power cut could still take away.
      const ended = await agent.session.endTurn();
      if (ended.kind === "failed") return writingFailure(ended, session);
      for (const event of events) if (event.kind === "warning") await context.err.write(hookOrWarning(event));
      const cleared = events.find((event) => event.kind === "cleared");
      if (format === "json") await context.out.json(asJson(session, cleared));
      else await context.out.write(clearedText({ session, cleared, downToTokens }));
      return exitCode.fine;
    } finally {
      await agent.close();
    }
  },
});

type Cleared = Extract<LoopEvent, { kind: "cleared" }>;

function targetOf(given: string | undefined): number | Failure {
  if (given === undefined) return askedDownToTokens;
  if (/^\d{1,9}$/.test(given)) return Number(given);
  const message = `--target takes a whole number of tokens, not ${JSON.stringify(given)}`;
  return failure({ code: exitCode.usage, message, hint: "For example --target 20000; 0 clears all that may go." });
}

const asJson = (session: string, cleared: Cleared | undefined): object => ({
  session,
  edit: cleared?.entries[0] ?? null,
  results: cleared?.count ?? 0,
  tokensBefore: cleared?.tokensBefore ?? null,
  tokensAfter: cleared?.tokensAfter ?? null,
  tokensSaved: cleared?.tokensSaved ?? 0,
  because: cleared?.because ?? null,
});

interface Done {
  readonly session: string;
  readonly cleared: Cleared | undefined;
  readonly downToTokens: number;
}

function clearedText({ session, cleared, downToTokens }: Done): string {
  if (cleared === undefined)
    return `nothing to clear: results that may go are ${humanCount(downToTokens)} tokens or less, or are the newest.\n`;
  const { tokensBefore, tokensAfter, because, entries } = cleared;
  const context = `  context    ${humanCount(tokensBefore)} → ${humanCount(tokensAfter)} tokens\n`;
  return `${clearedLine(cleared)}\n${context}  because    ${because}\nto go back: palimpsest undo ${session} ${entries[0] ?? ""}\n`;
}
