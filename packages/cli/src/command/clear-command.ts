import type { ClearedEvent } from "palimpsest/internal/layers/layer";
import { flagValues } from "../settings/flag-values.ts";
import { formatCleared } from "../tui/text/event-lines.ts";
import { flagsFromOptions, sessionOptions, modelOption, serverOption } from "../program/setting-options.ts";
import {
  clearResults,
  clearTargetSummary,
  tokensChangeText,
  nothingToClear,
  parseClearTarget,
} from "../compact/clear-results.ts";
import { command } from "../program/command.ts";
import { openToCompact } from "../compact/open-to-compact.ts";
import { exitCode, failure } from "../program/failure.ts";
import { sessionOperand } from "../program/parse-arguments.ts";
import { printProblems, wrongFlag, warningLine } from "../program/report-problems.ts";
import { sessionFailure } from "../session/session-failure.ts";

export const clearCommand = command({
  name: "clear",
  summary: "remove old tool results from the view, down to a target",
  operands: { session: sessionOperand },
  options: {
    target: { type: "string", shown: "tokens", summary: clearTargetSummary },
    ...sessionOptions,
    ...modelOption,
    ...serverOption,
  },
  json: "session, edit (null if there was nothing to clear), results, tokensBefore, tokensAfter, tokensSaved, because",
  details: [
    "The oldest results are removed first; the newest three, pinned ones and results of tools that can't be run again stay. A marker with the id of the original replaces each, and `undo` brings all of them back.",
    "Another tool's transcript is never written: a session of our own that holds a copy of it is made first, and its id is printed.",
  ],
  run: async (context, { operands, options, format }) => {
    const target = parseClearTarget(options.target);
    if (target.kind !== "target") {
      const hint = "For example --target 20000; 0 clears everything that may be cleared.";
      return failure({ code: exitCode.usage, message: `--target ${target.message}`, hint });
    }
    const wrong = wrongFlag(context, flagValues(flagsFromOptions(options)).problems);
    if (wrong !== undefined) return wrong;
    const model = { kind: "none", message: "Nobody is asked for this.", baseUrl: options["base-url"] } as const;
    const request = {
      session: operands.session,
      from: undefined,
      upTo: undefined,
      flags: flagsFromOptions(options),
      model,
    };
    const opened = await openToCompact(context, request);
    if (opened.kind === "failure") return opened;
    const { agent } = opened;
    const session = agent.session.id;
    try {
      await printProblems(context, agent.settingsProblems);
      const outcome = await clearResults(agent.context, target.tokens);
      if (outcome.kind === "failed") return sessionFailure(outcome, session);
      const { cleared, events } = outcome;
      for (const event of events) if (event.kind === "warning") await context.err.write(warningLine(event));
      if (format === "json") await context.out.json(asJson(session, cleared));
      else if (cleared === undefined) await context.out.write(`${nothingToClear(target.tokens)}.\n`);
      else await context.out.write(clearReportText(session, cleared));
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

const clearReportText = (session: string, cleared: ClearedEvent): string =>
  [
    formatCleared(cleared),
    `  context    ${tokensChangeText(cleared)}`,
    `  because    ${cleared.because}`,
    `to go back: palimpsest undo ${session} ${cleared.entries[0] ?? ""}`,
    "",
  ].join("\n");
