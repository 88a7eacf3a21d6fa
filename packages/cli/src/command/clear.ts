import type { ClearedEvent } from "palimpsest/internal/layers/layer";
import { flagValues } from "../settings/flags.ts";
import { clearedLine } from "../tui/text/event-lines.ts";
import { flagsAsked } from "../asked-settings.ts";
import { clearByHand, clearTargetSummary, contextChange, nothingToClear, parseClearTarget } from "../clear-by-hand.ts";
import { command } from "../command.ts";
import { openToCompact } from "../compact/open-to-compact.ts";
import { exitCode } from "../exit-code.ts";
import { failure } from "../failure.ts";
import { modelOption, serverOption } from "../model-options.ts";
import { sessionOperand } from "../session-operand.ts";
import { sessionOptions } from "../setting-options.ts";
import { tellProblems, wrongFlag } from "../settings-problems.ts";
import { hookOrWarning } from "../warning-text.ts";
import { writingFailure } from "../writing-failure.ts";

export const clearCommand = command({
  name: "clear",
  summary: "take old tool results out of the view, down to a target",
  operands: { session: sessionOperand },
  options: {
    target: { type: "string", shown: "tokens", summary: clearTargetSummary },
    ...sessionOptions,
    ...modelOption,
    ...serverOption,
  },
  json: "session, edit (null if there was nothing to clear), results, tokensBefore, tokensAfter, tokensSaved, because",
  details: [
    "The oldest results go first; the newest three, pinned ones and results of tools that can't be run again stay. Each shows a marker that names where the whole of it is, and `undo` brings all of them back.",
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
  ],
  run: async (context, { operands, options, format }) => {
    const target = parseClearTarget(options.target);
    if (target.kind !== "target") {
      const hint = "For example --target 20000; 0 clears all that may go.";
      return failure({ code: exitCode.usage, message: `--target ${target.message}`, hint });
    }
    const wrong = wrongFlag(context, flagValues(flagsAsked(options)).problems);
    if (wrong !== undefined) return wrong;
    const model = { kind: "none", message: "Nobody is asked for this.", baseUrl: options["base-url"] } as const;
    const asked = { session: operands.session, from: undefined, upTo: undefined, flags: flagsAsked(options), model };
    const opened = await openToCompact(context, asked);
    if (opened.kind === "failure") return opened;
    const { agent } = opened;
    const session = agent.session.id;
    try {
      await tellProblems(context, agent.settingsProblems);
      const outcome = await clearByHand({ agent, downToTokens: target.tokens });
      if (outcome.kind === "failed") return writingFailure(outcome, session);
      const { cleared, events } = outcome;
      for (const event of events) if (event.kind === "warning") await context.err.write(hookOrWarning(event));
      if (format === "json") await context.out.json(asJson(session, cleared));
      else if (cleared === undefined) await context.out.write(`${nothingToClear(target.tokens)}.\n`);
      else await context.out.write(clearedText(session, cleared));
      return exitCode.fine;
    } finally {
      await agent.close();
    }
  },
});

const asJson = (session: string, cleared: ClearedEvent | undefined): object => ({
  session,
  edit: cleared?.entries[0] ?? null,
  results: cleared?.count ?? 0,
  tokensBefore: cleared?.tokensBefore ?? null,
  tokensAfter: cleared?.tokensAfter ?? null,
  tokensSaved: cleared?.tokensSaved ?? 0,
  because: cleared?.because ?? null,
});

const clearedText = (session: string, cleared: ClearedEvent): string =>
  [
    clearedLine(cleared),
    `  context    ${contextChange(cleared)}`,
    `  because    ${cleared.because}`,
    `to go back: palimpsest undo ${session} ${cleared.entries[0] ?? ""}`,
    "",
  ].join("\n");
