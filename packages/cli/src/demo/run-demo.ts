import { join } from "node:path";
import type { Agent } from "../agent/agent.ts";
import { millis, type SessionId } from "palimpsest/internal/schema/brand";
import type { CommandContext } from "../program/command.ts";
import { quantity, formatNumber, formatPercent, formatUsd } from "../text/format.ts";
import {
  openDemoAgent,
  createDemoPlace,
  copySampleProject,
  openSessionLog,
  openDemoStore,
  type DemoPlace,
} from "./open-demo-agent.ts";
import { hiddenLogLine, nightLogCallId, nightLogPath } from "./facts.ts";
import { killAndResume } from "./kill-and-resume.ts";
import { windowTokens } from "./limits.ts";
import type { Pace } from "./pace.ts";
import { recallTask } from "./script.ts";
import { createScriptedModel } from "./scripted-model.ts";
import { ChatPrinter, emptyTotals, runTask, type DemoContext } from "./watch-turn.ts";
import { compactByHand, undoAndRedo } from "./compact-by-hand.ts";
import { createNarrator, formatLabelled, type Narrator } from "./narrator.ts";
import {
  type Bill,
  runUnmanaged,
  managedOptions,
  runMainSession,
  type MainSessionOutcome,
} from "./run-main-session.ts";
import { readFile } from "node:fs/promises";
import { expand } from "palimpsest/internal/session/expand";
import { openCounted } from "palimpsest/internal/session/counted-log";
import { pastReceipts, type RecordedEdit } from "palimpsest/internal/session/past-receipts";
import { readBoundaryFacts, type BoundaryFacts } from "../text/receipt-text.ts";

interface DemoOptions {
  /** Removed by the caller. */
  readonly home: string;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/** How many of its claims did not come out. Throws where it is stopped. */
export async function runDemo(context: CommandContext, { home, pace, signal }: DemoOptions): Promise<number> {
  const teller = createNarrator(context, pace);
  const place = createDemoPlace(home, await copySampleProject(join(home, "project")));
  const shown = new ChatPrinter({ teller, cwd: place.cwd, now: () => millis(Date.now()) });
  const stage: DemoContext = { teller, shown, place, model: createScriptedModel(), watched: emptyTotals(), signal };
  // Beside the rest, so that nobody waits for it at the end.
  const unmanaged = runUnmanaged({ home, signal });
  // Stopped, it fails long before anybody asks what became of it.
  unmanaged.catch(() => {});
  try {
    const worked = await runMainSession(stage);
    await resumeSession(stage, worked);
    await showReceipts(stage, worked.session);
    await teller.title("The bill", "The same messages and the same script once more, with nothing managed.");
    await compareBills(teller, { managed: worked.bill, unmanaged: await unmanaged });
  } finally {
    // It writes into the folder that is removed next. What became of it was asked above.
    await Promise.allSettled([unmanaged]);
  }
  await writeEnd(context);
  return teller.failedClaims();
}

/** In the session that was killed. */
async function resumeSession(stage: DemoContext, { session: id, messages }: MainSessionOutcome): Promise<void> {
  const { teller, shown } = stage;
  await teller.title("Killed", "Another process goes on with the session, and dies in the middle of a call.");
  await killAndResume(stage, { session: id, before: messages });
  const agent = await openDemoAgent({ ...stage, ...managedOptions, session: { kind: "resume", id }, automatic: "off" });
  try {
    shown.open(agent);
    await recallHidden(stage, agent);
    await compactUndoRedo(stage, agent);
  } finally {
    await agent.close();
  }
}

async function recallHidden(stage: DemoContext, agent: Agent): Promise<void> {
  const { teller, watched } = stage;
  await teller.title(
    "Recall",
    "What no summary holds is looked up in all that was ever said: by its words, or by its id.",
  );
  const view = JSON.stringify(agent.session.view().messages);
  const sought = ["399 !== 412", hiddenLogLine];
  await teller.claim({
    label: "hidden",
    isSo: sought.every((words) => !view.includes(words)),
    text: "neither of what is asked for now is in the view",
  });
  await runTask(stage, { agent, task: recallTask() });
  await teller.claim({
    label: "recalled",
    isSo: sought.every((words) => watched.reply.includes(words)),
    text: "both, as they were",
  });
}

async function compactUndoRedo({ teller, signal }: DemoContext, agent: Agent): Promise<void> {
  await teller.title(
    "Compact, undo, redo",
    "By hand this time. Every edit is an entry of the log and can be taken back.",
  );
  const done = await compactByHand(teller, { agent, signal });
  if (done !== undefined) await undoAndRedo(teller, { ...done, agent });
}

async function showReceipts(stage: DemoContext, session: SessionId): Promise<void> {
  const { teller, place, watched } = stage;
  await teller.title(
    "What happened",
    "Every edit has a receipt (messages alone, estimated); `palimpsest receipts` also says why and how to undo it.",
  );
  for (const line of await readReceiptLines(place, session)) await teller.say(line);
  const { rounds, peakTokens, offloads, clears, compactions, ahead, reactive, auditScores } = watched;
  await teller.say("");
  await teller.claim({
    label: "layers",
    isSo: [offloads, clears, ahead, reactive].every((count) => count > 0),
    text: `${quantity(offloads, "offload")}, ${quantity(clears, "clear")}, ${quantity(compactions, "compaction")}: ${ahead} prepared ahead, ${reactive} after a refusal`,
  });
  await teller.claim({
    label: "window",
    isSo: peakTokens < windowTokens,
    text: `${quantity(rounds, "round")}, none over ${formatNumber(peakTokens)} of ${formatNumber(windowTokens)} tokens`,
  });
  await teller.claim({
    label: "audit",
    isSo: auditScores.length > 0 && auditScores.every((score) => score < 1),
    text: `every summary that the model wrote had forgotten something (${formatPercent(Math.min(...auditScores))} at worst): it was added`,
  });
  await claimNothingLost(stage, session);
}

async function compareBills(
  teller: Narrator,
  bills: { readonly managed: Bill; readonly unmanaged: Bill },
): Promise<void> {
  await teller.say(formatLabelled("unmanaged", formatBill(bills.unmanaged)));
  await teller.say(formatLabelled("managed", formatBill(bills.managed)));
  await teller.claim({
    label: "saved",
    isSo: bills.managed.costUsd < bills.unmanaged.costUsd,
    text: formatPercent(1 - bills.managed.costUsd / bills.unmanaged.costUsd),
  });
}

const formatBill = ({ costUsd, rounds, peakTokens }: Bill): string =>
  `${formatUsd(costUsd)} for ${quantity(rounds, "round")}, the largest prompt ${formatNumber(peakTokens)} tokens`;

/** How the command is called from where these sources are: a checkout, or an installed package. */
const commandName = import.meta.url.endsWith(".ts") ? "bin/palimpsest" : "palimpsest";

const writeEnd = ({ out }: CommandContext): Promise<void> =>
  out.write(
    [
      "",
      "The transcript only grew; what the model saw was a projection of it. Talk to it, or try it on a session of yours:",
      "",
      `  ${commandName}                                           talk to it: an agent in this terminal`,
      `  ${commandName} view <a Claude Code transcript.jsonl>     the exact request the model would get`,
      `  ${commandName} replay <the same>                         what it would have cost, managed and not`,
      `  ${commandName} --help                                    everything else`,
      "",
    ].join("\n"),
  );

/** Every message and every result is still there, whatever the view shows, under the id that stands for it. */
async function claimNothingLost({ teller, place, watched }: DemoContext, session: SessionId): Promise<void> {
  const deps = await openDemoStore(place);
  const source = await openSessionLog(deps, session);
  try {
    const text = new TextDecoder().decode(await source.read({ start: 0, end: source.size }));
    const said = watched.says.filter((says) => text.includes(JSON.stringify(says).slice(1, -1)));
    const results = [];
    for (const call of watched.calls) if ("bytes" in (await expand(deps, source, call))) results.push(call);
    await teller.claim({
      label: "lost",
      isSo: said.length === watched.says.length && results.length === watched.calls.length,
      text: `nothing: all ${quantity(said.length, "message")} and ${quantity(results.length, "result")} are there, each under its id`,
    });
    const whole = await expand(deps, source, nightLogCallId);
    const log = await readFile(join(place.cwd, nightLogPath), "utf8");
    await teller.claim({
      label: "expanded",
      isSo: "bytes" in whole && new TextDecoder().decode(whole.bytes).trimEnd() === log.trimEnd(),
      text: "the whole log comes back byte for byte",
    });
  } finally {
    await source.close();
  }
}

/** A line an edit: the session is gone in a moment, so nobody needs what `receipts` says of taking it back. */
async function readReceiptLines(place: DemoPlace, session: SessionId): Promise<readonly string[]> {
  const deps = await openDemoStore(place);
  const source = await openSessionLog(deps, session);
  try {
    const { fold } = await openCounted(deps, { source, origin: "ours", tailBytes: source.size });
    const facts = readBoundaryFacts(fold.path.entries);
    return (await pastReceipts(fold, source)).map((edit) => formatReceiptLine(edit, facts.get(edit.id)));
  } finally {
    await source.close();
  }
}

const headColumns = 26;

function formatReceiptLine(
  { kind, count, cause, state, receipt }: RecordedEdit,
  boundary: BoundaryFacts | undefined,
): string {
  const why = cause ?? boundary?.trigger;
  const what = `${kind}${count === undefined ? "" : ` of ${formatNumber(count)}`}${why === undefined ? "" : ` (${why})`}`;
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
  return `${what.padEnd(headColumns)}${facts.join(", ")}`;
}

function formatBreakEven(rounds: number | undefined): string {
  if (rounds === undefined) return "saves nothing";
  return rounds === 0 ? "pays at once" : `pays after ${quantity(rounds, "round")}`;
}
