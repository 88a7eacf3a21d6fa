import { join } from "node:path";
import type { Agent } from "../../agent/open-agent.ts";
import type { SessionId } from "../../schema/brand.ts";
import type { CommandContext } from "../command.ts";
import { clipped, counted, humanCount, humanPercent, humanUsd } from "../human.ts";
import { demoAgent, type DemoPlace, placeIn } from "./demo-agent.ts";
import { expandLog } from "./expanded-log.ts";
import { fingerprint } from "./fingerprint.ts";
import { receiptLines } from "./receipt-lines.ts";
import { gaugeCount, lastLine, repairedIn, writeProject } from "./project.ts";
import { crashAndResume } from "./resumed.ts";
import { codeword, question, type Task, tasks } from "./script.ts";
import { scriptedModel, type ScriptedModel } from "./scripted-model.ts";
import { compactByHand, undoAndRedo } from "./taken-back.ts";
import { demoTeller, labelled, type Teller } from "./teller.ts";
import { type Bill, unmanagedBill } from "./unmanaged.ts";
import { nothingWatched, type Watched, watchTurn } from "./watched-turn.ts";

/** A tenth of the smallest that models have, so that a session of seconds is a long one. */
const windowTokens = 20_000;

export interface DemoOptions {
  /** Removed by the caller. */
  readonly home: string;
  readonly signal: AbortSignal;
}

interface Stage {
  readonly context: CommandContext;
  readonly teller: Teller;
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly watched: Watched;
  readonly signal: AbortSignal;
}

/** How many of its claims did not come out. Throws where it is stopped. */
export async function runDemo(context: CommandContext, { home, signal }: DemoOptions): Promise<number> {
  const teller = demoTeller(context);
  const place = placeIn(home, await writeProject(join(home, "project")));
  const stage: Stage = { context, teller, place, model: scriptedModel(), watched: nothingWatched(), signal };
  const worked = await work(stage);
  await teller.title("Crash", "the machine dies in the middle of a write, and the session is resumed");
  await crashAndResume(teller, { place, ...worked });
  const session = { kind: "resume", id: worked.session } as const;
  const agent = await demoAgent({ ...stage, ...managed, session, automatic: "off" });
  try {
    await recall(stage, agent);
    await takeBack(stage, agent);
  } finally {
    await agent.close();
  }
  await receipts(stage, worked.session);
  await teller.title("The bill", "the same messages and steps once more, with nothing managed");
  await compare(teller, { managed: worked.bill, unmanaged: await unmanagedBill(teller, { home, signal }) });
  await end(stage);
  return teller.surprises();
}

const managed = { policy: "palimpsest", windowTokens } as const;

interface Worked {
  readonly session: SessionId;
  /** Of the view. */
  readonly before: string;
  readonly bill: Bill;
}

async function work(stage: Stage): Promise<Worked> {
  const { teller, place, watched } = stage;
  await teller.title(
    "An agent at work",
    `real tools, a simulated model, and a window of ${humanCount(windowTokens)} tokens: too small on purpose`,
  );
  const agent = await demoAgent({ ...stage, ...managed, session: { kind: "new" }, automatic: "on" });
  try {
    for (const task of tasks()) await turn(stage, { agent, task });
    const before = fingerprint(agent.session);
    const { totalNanos, hitRate } = agent.conversation.costs.session;
    const { rounds, peakTokens, offloads, clears, compactions } = watched;
    const repaired = await repairedIn(place.cwd);
    await teller.claim({
      label: "project",
      isSo: repaired === gaugeCount,
      text: `${repaired} of ${gaugeCount} modules repaired`,
    });
    await teller.claim({
      label: "window",
      isSo: peakTokens < windowTokens && offloads > 0 && clears > 0 && compactions > 1,
      text: `${counted(rounds, "round")}, none over ${humanCount(peakTokens)} tokens: ${counted(offloads, "offload")}, ${counted(clears, "clear")}, ${counted(compactions, "compaction")}`,
    });
    await teller.say(labelled("cache", `${humanPercent(hitRate)} of the prompts were read from it`));
    return { session: agent.session.id, before, bill: { costUsd: totalNanos / 1e9, rounds, peakTokens } };
  } finally {
    await agent.close();
  }
}

const messageChars = 70;

async function turn(stage: Stage, { agent, task }: { readonly agent: Agent; readonly task: Task }): Promise<void> {
  const { teller, model, context, watched, signal } = stage;
  await teller.say(labelled("user", context.out.style("cyan", clipped(task.says, messageChars))));
  model.take(task);
  await watchTurn(teller, { agent, says: task.says, signal, windowTokens, watched });
}

async function recall(stage: Stage, agent: Agent): Promise<void> {
  const { teller, place, watched } = stage;
  await teller.title("Recall", "what no summary holds: the first message, and a log that went to disk");
  const view = JSON.stringify(agent.session.view().messages);
  await teller.claim({ label: "log", isSo: !view.includes(lastLine()), text: "its last line is nowhere in the view" });
  await turn(stage, { agent, task: question() });
  const isTold = [codeword, lastLine()].every((word) => watched.reply.includes(word));
  await teller.claim({ label: "model", isSo: isTold, text: watched.reply });
  await expandLog(teller, { place, session: agent.session.id });
}

async function takeBack({ teller, signal }: Stage, agent: Agent): Promise<void> {
  await teller.title(
    "Compact, undo, redo",
    "by hand this time; every edit is an entry of the log and can be taken back",
  );
  const done = await compactByHand(teller, { agent, signal });
  if (done !== undefined) await undoAndRedo(teller, { ...done, session: agent.session, windowTokens });
}

async function receipts({ teller, place }: Stage, session: SessionId): Promise<void> {
  await teller.title(
    "Receipts",
    "what every edit did (messages alone, estimated); `palimpsest receipts` also says why and how to undo it",
  );
  for (const line of await receiptLines(place, session)) await teller.say(line);
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

const end = ({ context }: Stage): Promise<void> =>
  context.out.write(
    [
      "",
      "The transcript only grew; what the model saw was a projection of it. Try it on a session of yours:",
      "",
      `  ${me} view <a Claude Code transcript.jsonl>     the exact request the model would get`,
      `  ${me} replay <the same>                         what it would have cost, managed and not`,
      `  ${me} --help                                    everything else`,
      "",
    ].join("\n"),
  );
