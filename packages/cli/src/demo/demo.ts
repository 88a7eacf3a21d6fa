import { join } from "node:path";
import type { Agent } from "../agent/agent.ts";
import { millis, type SessionId } from "palimpsest/internal/schema/brand";
import type { CommandContext } from "../command.ts";
import { counted, humanCount, humanPercent, humanUsd } from "../human.ts";
import { demoAgent, placeIn } from "./demo-agent.ts";
import { hiddenLine } from "./facts.ts";
import { killAndResume } from "./killed.ts";
import { windowTokens } from "./limits.ts";
import { claimNothingLost } from "./nothing-lost.ts";
import type { Pace } from "./pace.ts";
import { receiptLines } from "./receipt-lines.ts";
import { copySample } from "./sample.ts";
import { question } from "./script.ts";
import { scriptedModel } from "./scripted-model.ts";
import { ShownItems } from "./shown-items.ts";
import { play, type Stage } from "./stage.ts";
import { compactByHand, undoAndRedo } from "./taken-back.ts";
import { demoTeller, labelled, type Teller } from "./teller.ts";
import { type Bill, unmanagedBill } from "./unmanaged.ts";
import { nothingWatched } from "./watched-turn.ts";
import { managed, work, type Worked } from "./work.ts";

export interface DemoOptions {
  /** Removed by the caller. */
  readonly home: string;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}

/** How many of its claims did not come out. Throws where it is stopped. */
export async function runDemo(context: CommandContext, { home, pace, signal }: DemoOptions): Promise<number> {
  const teller = demoTeller(context, pace);
  const place = placeIn(home, await copySample(join(home, "project")));
  const shown = new ShownItems({ teller, cwd: place.cwd, now: () => millis(Date.now()) });
  const stage: Stage = { teller, shown, place, model: scriptedModel(), watched: nothingWatched(), signal };
  // Beside the rest, so that nobody waits for it at the end.
  const unmanaged = unmanagedBill({ home, signal });
  // Stopped, it fails long before anybody asks what became of it.
  unmanaged.catch(() => {});
  try {
    const worked = await work(stage);
    await goOn(stage, worked);
    await happened(stage, worked.session);
    await teller.title("The bill", "The same messages and the same script once more, with nothing managed.");
    await compare(teller, { managed: worked.bill, unmanaged: await unmanaged });
  } finally {
    // It writes into the folder that is removed next. What became of it was asked above.
    await Promise.allSettled([unmanaged]);
  }
  await end(context);
  return teller.surprises();
}

/** In the session that was killed. */
async function goOn(stage: Stage, { session: id, messages }: Worked): Promise<void> {
  const { teller, shown } = stage;
  await teller.title("Killed", "Another process goes on with the session, and dies in the middle of a call.");
  await killAndResume(stage, { session: id, before: messages });
  const agent = await demoAgent({ ...stage, ...managed, session: { kind: "resume", id }, automatic: "off" });
  try {
    shown.open(agent);
    await recall(stage, agent);
    await takeBack(stage, agent);
  } finally {
    await agent.close();
  }
}

async function recall(stage: Stage, agent: Agent): Promise<void> {
  const { teller, watched } = stage;
  await teller.title(
    "Recall",
    "What no summary holds is looked up in all that was ever said: by its words, or by its id.",
  );
  const view = JSON.stringify(agent.session.view().messages);
  const sought = ["399 !== 412", hiddenLine];
  await teller.claim({
    label: "hidden",
    isSo: sought.every((words) => !view.includes(words)),
    text: "neither of what is asked for now is in the view",
  });
  await play(stage, { agent, task: question() });
  await teller.claim({
    label: "recalled",
    isSo: sought.every((words) => watched.reply.includes(words)),
    text: "both, as they were",
  });
}

async function takeBack({ teller, signal }: Stage, agent: Agent): Promise<void> {
  await teller.title(
    "Compact, undo, redo",
    "By hand this time. Every edit is an entry of the log and can be taken back.",
  );
  const done = await compactByHand(teller, { agent, signal });
  if (done !== undefined) await undoAndRedo(teller, { ...done, agent });
}

async function happened(stage: Stage, session: SessionId): Promise<void> {
  const { teller, place, watched } = stage;
  await teller.title(
    "What happened",
    "Every edit has a receipt (messages alone, estimated); `palimpsest receipts` also says why and how to undo it.",
  );
  for (const line of await receiptLines(place, session)) await teller.say(line);
  const { rounds, peakTokens, offloads, clears, compactions, ahead, reactive, auditScores } = watched;
  await teller.say("");
  await teller.claim({
    label: "layers",
    isSo: [offloads, clears, ahead, reactive].every((count) => count > 0),
    text: `${counted(offloads, "offload")}, ${counted(clears, "clear")}, ${counted(compactions, "compaction")}: ${ahead} prepared ahead, ${reactive} after a refusal`,
  });
  await teller.claim({
    label: "window",
    isSo: peakTokens < windowTokens,
    text: `${counted(rounds, "round")}, none over ${humanCount(peakTokens)} of ${humanCount(windowTokens)} tokens`,
  });
  await teller.claim({
    label: "audit",
    isSo: auditScores.length > 0 && auditScores.every((score) => score < 1),
    text: `every summary that the model wrote had forgotten something (${humanPercent(Math.min(...auditScores))} at worst): it was added`,
  });
  await claimNothingLost(stage, session);
}

interface Bills {
  readonly managed: Bill;
  readonly unmanaged: Bill;
}

async function compare(teller: Teller, bills: Bills): Promise<void> {
  await teller.say(labelled("unmanaged", billText(bills.unmanaged)));
  await teller.say(labelled("managed", billText(bills.managed)));
  await teller.claim({
    label: "saved",
    isSo: bills.managed.costUsd < bills.unmanaged.costUsd,
    text: humanPercent(1 - bills.managed.costUsd / bills.unmanaged.costUsd),
  });
}

const billText = ({ costUsd, rounds, peakTokens }: Bill): string =>
  `${humanUsd(costUsd)} for ${counted(rounds, "round")}, the largest prompt ${humanCount(peakTokens)} tokens`;

/** How the command is called from where these sources are: a checkout, or an installed package. */
const me = import.meta.url.endsWith(".ts") ? "bin/palimpsest" : "palimpsest";

const end = ({ out }: CommandContext): Promise<void> =>
  out.write(
    [
      "",
      "The transcript only grew; what the model saw was a projection of it. Talk to it, or try it on a session of yours:",
      "",
      `  ${me}                                           talk to it: an agent in this terminal`,
      `  ${me} view <a Claude Code transcript.jsonl>     the exact request the model would get`,
      `  ${me} replay <the same>                         what it would have cost, managed and not`,
      `  ${me} --help                                    everything else`,
      "",
    ].join("\n"),
  );
