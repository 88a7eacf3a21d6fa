import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "../agent/agent.ts";
import type { EntryId, SessionId } from "palimpsest/internal/schema/brand";
import { counted, humanCount } from "../human.ts";
import { demoAgent } from "./demo-agent.ts";
import { windowTokens } from "./limits.ts";
import { testsIn } from "./sample.ts";
import { hiddenLine, logPath, pinnedWords, release } from "./facts.ts";
import { fixing } from "./fixing.ts";
import { asking, closing } from "./script.ts";
import { tidying } from "./tidying.ts";
import { play, type Stage } from "./stage.ts";
import type { Bill } from "./unmanaged.ts";

export interface Worked {
  readonly session: SessionId;
  /** The messages of the view. */
  readonly messages: readonly unknown[];
  readonly bill: Bill;
}

export const managed = { policy: "palimpsest", windowTokens } as const;

/** Four messages, and between them what a person does. */
export async function work(stage: Stage): Promise<Worked> {
  const { shown, watched } = stage;
  const agent = await demoAgent({ ...stage, ...managed, session: { kind: "new" }, automatic: "on" });
  try {
    shown.open(agent);
    await fix(stage, agent);
    await lookIntoLog(stage, agent);
    await tidyUp(stage, agent);
    await close(stage, agent);
    await agent.stopAside();
    const { rounds, peakTokens } = watched;
    const costUsd = agent.conversation.costs.session.totalNanos / 1e9;
    return {
      session: agent.session.id,
      messages: agent.session.view().messages,
      bill: { costUsd, rounds, peakTokens },
    };
  } finally {
    await agent.close();
  }
}

async function fix(stage: Stage, agent: Agent): Promise<void> {
  const { teller, place, signal } = stage;
  await teller.title(
    "A failing test",
    `Real tools on a real project, a simulated model, and a window of ${humanCount(windowTokens)} tokens: too small on purpose. Watch the reads being cleared when that pays.`,
  );
  const before = await testsIn(place.cwd, signal);
  await teller.claim({
    label: "before",
    isSo: before.failed === 1,
    text: `${counted(before.passed, "test")} pass, ${before.failed} fails`,
  });
  await play(stage, { agent, task: fixing() });
  const after = await testsIn(place.cwd, signal);
  await teller.claim({
    label: "after",
    isSo: after.failed === 0 && after.passed === before.passed + 2,
    text: `${counted(after.passed, "test")} pass, the new one too, 0 fail`,
  });
}

async function lookIntoLog(stage: Stage, agent: Agent): Promise<void> {
  const { teller, place, watched } = stage;
  await teller.title(
    "A log that no window should hold",
    "The result goes to disk whole; a preview and its id stay. Then the person pins the answer they want to keep.",
  );
  await play(stage, { agent, task: asking() });
  const log = await readFile(join(place.cwd, logPath), "utf8");
  const view = JSON.stringify(agent.session.view().messages);
  await teller.claim({
    label: "offload",
    isSo: watched.offloads === 1 && log.includes(hiddenLine) && !view.includes(hiddenLine),
    text: `of ${humanCount(log.length)} characters the view holds both ends`,
  });
  await teller.claim({
    label: "pin",
    isSo: await pin(agent),
    text: "the answer that names the cause stays as it is, whatever is compacted",
  });
}

/** Whether the answer was there to be pinned. */
async function pin({ session, view }: Agent): Promise<boolean> {
  const entry: EntryId | undefined = session.fold.projection.items.find(({ blocks }) =>
    blocks.some((block) => block.type === "text" && block.text.includes(pinnedWords)),
  )?.entry;
  if (entry === undefined) return false;
  const edited = await view.pin(entry);
  return edited.kind !== "failed";
}

async function tidyUp(stage: Stage, agent: Agent): Promise<void> {
  const { teller, watched } = stage;
  await teller.title(
    "Longer than the window",
    "Summaries are prepared beside the work and swapped in when they are due. What the agent works with is told again behind each: plan, tasks, skill, files.",
  );
  await play(stage, { agent, task: tidying(), detail: "brief" });
  const view = JSON.stringify(agent.session.view().messages);
  const { compactions, ahead } = watched;
  await teller.claim({
    label: "compacted",
    isSo: compactions >= 2 && ahead > 0,
    text: `${compactions} times; ${ahead} of the summaries were ready before they were due`,
  });
  const told = ["# Times by their names", `note the change for ${release}`, "Change the cause alone", "src/trend.js"];
  await teller.claim({
    label: "restored",
    isSo: told.every((words) => view.includes(words)),
    text: "plan, tasks, skill and files are in the view",
  });
  await teller.claim({
    label: "pinned",
    isSo: view.includes(pinnedWords),
    text: "word for word, behind every summary",
  });
}

async function close(stage: Stage, agent: Agent): Promise<void> {
  const { teller, model, place, watched } = stage;
  await teller.title(
    "Refused",
    "Now the provider refuses a request as too long, though there was room (the demo orders that). Whatever it takes, a summary without a model if need be: the turn goes on.",
  );
  const before = watched.reactive;
  model.refuseNext();
  await play(stage, { agent, task: closing() });
  const changes = await readFile(join(place.cwd, "CHANGES.md"), "utf8");
  await teller.claim({
    label: "refused",
    isSo: watched.reactive === before + 1,
    text: "once, and answered all the same",
  });
  await teller.claim({
    label: "release",
    isSo: changes.startsWith(`# ${release}\n`),
    text: `${release} was said once, in the first message, ${counted(watched.compactions, "compaction")} ago`,
  });
}
