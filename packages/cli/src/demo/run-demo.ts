import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { openCounted } from "palimpsest/internal/session/counted-log";
import { expand } from "palimpsest/internal/session/expand";
import { pastReceipts, type RecordedEdit } from "palimpsest/internal/session/past-receipts";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { CommandContext } from "../program/command.ts";
import { quantity, formatNumber, formatPercent, formatUsd } from "../text/format.ts";
import { readBoundaryFacts, type BoundaryFacts } from "../text/receipt-text.ts";
import { nightLogCallId, nightLogPath } from "./facts.ts";
import { windowTokens } from "./limits.ts";
import { createNarrator, formatLabelled } from "./narrator.ts";
import { createDemoPlace, copySampleProject, openDemoStore } from "./open-demo-agent.ts";
import type { Pace } from "./pace.ts";
import { resumeSession } from "./resume-session.ts";
import { type Bill, runMainSession, runUnmanaged } from "./run-main-session.ts";
import { createScriptedModel } from "./scripted-model.ts";
import { ChatPrinter, TurnTotals, type DemoContext } from "./watch-turn.ts";

interface DemoOptions {
  /** Created and removed by the caller. */
  readonly home: string;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/** Returns how many claims failed. Throws if it is aborted. */
export async function runDemo(context: CommandContext, { home, pace, signal }: DemoOptions): Promise<number> {
  const narrator = createNarrator(context, pace);
  const place = createDemoPlace(home, await copySampleProject(join(home, "project")));
  const printer = new ChatPrinter(narrator, place.cwd);
  const demo = { narrator, printer, place, model: createScriptedModel(), totals: new TurnTotals(), signal };
  // Runs in parallel, so that the last chapter need not wait for it.
  const unmanaged = runUnmanaged(join(home, "unmanaged"), signal);
  // After an abort it rejects long before it is awaited: without a handler that would end the process.
  unmanaged.catch(() => {});
  try {
    const main = await runMainSession(demo);
    await resumeSession(demo, main);
    await showReceipts(demo, main.session);
    await narrator.title("The bill", "The same messages and the same script once more, with nothing managed.");
    const [saved, plain] = [main.bill, await unmanaged];
    await narrator.say(formatLabelled("unmanaged", formatBill(plain)));
    await narrator.say(formatLabelled("managed", formatBill(saved)));
    await narrator.claim({ saved: [saved.costUsd < plain.costUsd, formatPercent(1 - saved.costUsd / plain.costUsd)] });
  } finally {
    // It still writes to the folder that the caller removes next.
    await Promise.allSettled([unmanaged]);
  }
  await context.out.write(endText);
  return narrator.failedClaims();
}

async function showReceipts({ narrator, place, totals }: DemoContext, session: SessionId): Promise<void> {
  await narrator.title(
    "What happened",
    "Every edit has a receipt (messages alone, estimated); `palimpsest receipts` also says why and how to undo it.",
  );
  const store = await openDemoStore(place);
  const log = await store.transcripts.openForReading(session);
  if (log === undefined) throw new Error("the demo's session is gone");
  try {
    const { fold } = await openCounted(store, { source: log, origin: "ours", tailBytes: log.size });
    const boundaries = readBoundaryFacts(fold.path.entries);
    for (const edit of await pastReceipts(fold, log)) await narrator.say(formatEdit(edit, boundaries.get(edit.id)));
    await narrator.say("");
    const { rounds, peakTokens, offloads, clears, compactions, ahead, reactive, auditScores } = totals;
    await narrator.claim({
      layers: [
        [offloads, clears, ahead, reactive].every((count) => count > 0),
        `${quantity(offloads, "offload")}, ${quantity(clears, "clear")}, ${quantity(compactions, "compaction")}: ${ahead} prepared ahead, ${reactive} after a refusal`,
      ],
      window: [
        peakTokens < windowTokens,
        `${quantity(rounds, "round")}, none over ${formatNumber(peakTokens)} of ${formatNumber(windowTokens)} tokens`,
      ],
      audit: [
        auditScores.length > 0 && auditScores.every((score) => score < 1),
        `every summary that the model wrote had forgotten something (${formatPercent(Math.min(...auditScores))} at worst): it was added`,
      ],
    });
    // Whatever the view shows, the log holds every message and, under its id, every result.
    const logText = new TextDecoder().decode(await log.read({ start: 0, end: log.size }));
    const messages = totals.messages.filter((text) => logText.includes(JSON.stringify(text).slice(1, -1)));
    const results = [];
    for (const call of totals.calls) if ("bytes" in (await expand(store, log, call))) results.push(call);
    const nightLog = await expand(store, log, nightLogCallId);
    const nightLogText = await readFile(join(place.cwd, nightLogPath), "utf8");
    await narrator.claim({
      lost: [
        messages.length === totals.messages.length && results.length === totals.calls.length,
        `nothing: all ${quantity(messages.length, "message")} and ${quantity(results.length, "result")} are there, each under its id`,
      ],
      expanded: [
        "bytes" in nightLog && new TextDecoder().decode(nightLog.bytes).trimEnd() === nightLogText.trimEnd(),
        "the whole log comes back byte for byte",
      ],
    });
  } finally {
    await log.close();
  }
}

/** One line per edit, without the undo command that `palimpsest receipts` prints: the session is removed in a moment. */
function formatEdit({ kind, count, cause, state, receipt }: RecordedEdit, boundary: BoundaryFacts | undefined): string {
  const trigger = cause ?? boundary?.trigger;
  const name = `${kind}${count === undefined ? "" : ` of ${formatNumber(count)}`}${trigger === undefined ? "" : ` (${trigger})`}`;
  const facts = [
    ...(receipt === undefined
      ? ["before anything was sent"]
      : [
          `${formatNumber(receipt.tokensBefore)} → ${formatNumber(receipt.tokensAfter)} tokens`,
          formatBreakEven(receipt.price.breakEvenRounds),
        ]),
    ...(boundary?.auditScore === undefined ? [] : [`audit ${formatPercent(boundary.auditScore)}`]),
    ...(state === "undone" ? ["undone"] : []),
  ];
  return `${name.padEnd(26)}${facts.join(", ")}`;
}

function formatBreakEven(rounds: number | undefined): string {
  if (rounds === undefined) return "saves nothing";
  return rounds === 0 ? "pays at once" : `pays after ${quantity(rounds, "round")}`;
}

const formatBill = ({ costUsd, rounds, peakTokens }: Bill): string =>
  `${formatUsd(costUsd)} for ${quantity(rounds, "round")}, the largest prompt ${formatNumber(peakTokens)} tokens`;

/** In a checkout the command is started by its path. */
const commandName = import.meta.url.endsWith(".ts") ? "bin/palimpsest" : "palimpsest";

const endText = `
The transcript only grew; what the model saw was a projection of it. Talk to it, or try it on a session of yours:

  ${commandName}                                           talk to it: an agent in this terminal
  ${commandName} view <a Claude Code transcript.jsonl>     the exact request the model would get
  ${commandName} replay <the same>                         what it would have cost, managed and not
  ${commandName} --help                                    everything else
`;
