import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SessionId } from "palimpsest/internal/schema/brand";
import type { Agent } from "../agent/agent.ts";
import { quantity, formatNumber } from "../text/format.ts";
import { hiddenLogLine, nightLogPath, pinnedText, releaseName } from "./facts.ts";
import { windowTokens } from "./limits.ts";
import { openDemoAgent, runProjectTests, createDemoPlace, copySampleProject } from "./open-demo-agent.ts";
import { fixTask, logTask, changelogTask, tidyTask } from "./script.ts";
import { createScriptedModel } from "./scripted-model.ts";
import { runTask, viewText, TurnTotals, type DemoContext } from "./watch-turn.ts";

export interface MainSessionOutcome {
  readonly session: SessionId;
  /** The messages of the view. */
  readonly messages: readonly unknown[];
  readonly bill: Bill;
}

export interface Bill extends Pick<TurnTotals, "rounds" | "peakTokens"> {
  readonly costUsd: number;
}

/** The first four chapters: four messages, and a pin that the user sets between them. */
export async function runMainSession(demo: DemoContext): Promise<MainSessionOutcome> {
  const agent = await openDemoAgent({ ...demo, session: { kind: "new" }, mode: "managed" });
  try {
    demo.printer.open(agent);
    await fixFailingTest(demo, agent);
    await searchLog(demo, agent);
    await tidyModules(demo, agent);
    await writeChangelog(demo, agent);
    await agent.stopAside();
    return { session: agent.session.id, messages: agent.session.view().messages, bill: createBill(agent, demo.totals) };
  } finally {
    await agent.close();
  }
}

/** The same messages and script in a project of its own: nothing is offloaded, cleared or compacted. */
export async function runUnmanaged(home: string, signal: AbortSignal): Promise<Bill> {
  const place = createDemoPlace(home, await copySampleProject(join(home, "project")));
  const model = createScriptedModel();
  const agent = await openDemoAgent({ place, model, session: { kind: "new" }, mode: "unmanaged" });
  const totals = new TurnTotals();
  try {
    for (const task of [fixTask(), logTask(), tidyTask(), changelogTask()])
      await runTask({ model, totals, signal }, { agent, task });
  } finally {
    await agent.close();
  }
  return createBill(agent, totals);
}

const createBill = ({ context }: Agent, { rounds, peakTokens }: TurnTotals): Bill => ({
  costUsd: context.conversation.costs.session.totalNanos / 1e9,
  rounds,
  peakTokens,
});

async function fixFailingTest(demo: DemoContext, agent: Agent): Promise<void> {
  const { narrator, place, signal } = demo;
  await narrator.title(
    "A failing test",
    `Real tools on a real project, a simulated model, and a window of ${formatNumber(windowTokens)} tokens: too small on purpose. Watch the reads being cleared when that pays.`,
  );
  const before = await runProjectTests(place.cwd, signal);
  await narrator.claim({
    before: [before.failed === 1, `${quantity(before.passed, "test")} pass, ${before.failed} fails`],
  });
  await runTask(demo, { agent, task: fixTask() });
  const after = await runProjectTests(place.cwd, signal);
  await narrator.claim({
    after: [
      after.failed === 0 && after.passed === before.passed + 2,
      `${quantity(after.passed, "test")} pass, the new one too, 0 fail`,
    ],
  });
}

async function searchLog(demo: DemoContext, agent: Agent): Promise<void> {
  const { narrator, place, totals } = demo;
  await narrator.title(
    "A log that no window should hold",
    "The result goes to disk whole; a preview and its id stay. Then the person pins the answer they want to keep.",
  );
  await runTask(demo, { agent, task: logTask() });
  const log = await readFile(join(place.cwd, nightLogPath), "utf8");
  const isHidden = log.includes(hiddenLogLine) && !viewText(agent).includes(hiddenLogLine);
  await narrator.claim({
    offload: [totals.offloads === 1 && isHidden, `of ${formatNumber(log.length)} characters the view holds both ends`],
    pin: [await pinAnswer(agent), "the answer that names the cause stays as it is, whatever is compacted"],
  });
}

/** Returns whether the answer was found and pinned. */
async function pinAnswer({ session, context }: Agent): Promise<boolean> {
  const answer = session.fold.projection.items.find(({ blocks }) =>
    blocks.some((block) => block.type === "text" && block.text.includes(pinnedText)),
  );
  return answer !== undefined && (await context.view.pin(answer.entry)).kind !== "failed";
}

async function tidyModules(demo: DemoContext, agent: Agent): Promise<void> {
  const { narrator, totals } = demo;
  await narrator.title(
    "Longer than the window",
    "Summaries are prepared beside the work and swapped in when they are due. What the agent works with is told again behind each: plan, tasks, skill, files.",
  );
  await runTask(demo, { agent, task: tidyTask(), detail: "brief" });
  const view = viewText(agent);
  const { compactions, ahead } = totals;
  const plan = "# Times by their names";
  const todo = `note the change for ${releaseName}`;
  const restored = [plan, todo, "Change the cause alone", "src/trend.js"];
  await narrator.claim({
    compacted: [
      compactions >= 2 && ahead > 0,
      `${compactions} times; ${ahead} of the summaries were ready before they were due`,
    ],
    restored: [restored.every((text) => view.includes(text)), "plan, tasks, skill and files are in the view"],
    pinned: [view.includes(pinnedText), "word for word, behind every summary"],
  });
}

async function writeChangelog(demo: DemoContext, agent: Agent): Promise<void> {
  const { narrator, model, place, totals } = demo;
  await narrator.title(
    "Refused",
    "Now the provider refuses a request as too long, though there was room (the demo orders that). Whatever it takes, a summary without a model if need be: the turn goes on.",
  );
  const reactiveBefore = totals.reactive;
  model.refuseNext();
  await runTask(demo, { agent, task: changelogTask() });
  const changes = await readFile(join(place.cwd, "CHANGES.md"), "utf8");
  await narrator.claim({
    refused: [totals.reactive === reactiveBefore + 1, "once, and answered all the same"],
    release: [
      changes.startsWith(`# ${releaseName}\n`),
      `${releaseName} was said once, in the first message, ${quantity(totals.compactions, "compaction")} ago`,
    ],
  });
}
