import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Agent } from "../agent/agent.ts";
import type { EntryId, SessionId } from "palimpsest/internal/schema/brand";
import { quantity, formatNumber } from "../text/format.ts";
import { openDemoAgent, runProjectTests, createDemoPlace, copySampleProject } from "./open-demo-agent.ts";
import { windowTokens, unmanagedWindowTokens } from "./limits.ts";
import { hiddenLogLine, nightLogPath, pinnedText, releaseName } from "./facts.ts";
import { fixTask, logTask, changelogTask, tidyTask, sessionTasks } from "./script.ts";
import { runTask, type DemoContext, emptyTotals, watchTurn } from "./watch-turn.ts";
import { createScriptedModel } from "./scripted-model.ts";

export interface MainSessionOutcome {
  readonly session: SessionId;
  /** The messages of the view. */
  readonly messages: readonly unknown[];
  readonly bill: Bill;
}

export const managedOptions = { policy: "palimpsest", windowTokens } as const;

/** Four messages, and between them what a person does. */
export async function runMainSession(stage: DemoContext): Promise<MainSessionOutcome> {
  const { shown, watched } = stage;
  const agent = await openDemoAgent({ ...stage, ...managedOptions, session: { kind: "new" }, automatic: "on" });
  try {
    shown.open(agent);
    await fixFailingTest(stage, agent);
    await lookIntoLog(stage, agent);
    await tidyUp(stage, agent);
    await writeChangelog(stage, agent);
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

async function fixFailingTest(stage: DemoContext, agent: Agent): Promise<void> {
  const { teller, place, signal } = stage;
  await teller.title(
    "A failing test",
    `Real tools on a real project, a simulated model, and a window of ${formatNumber(windowTokens)} tokens: too small on purpose. Watch the reads being cleared when that pays.`,
  );
  const before = await runProjectTests(place.cwd, signal);
  await teller.claim({
    label: "before",
    isSo: before.failed === 1,
    text: `${quantity(before.passed, "test")} pass, ${before.failed} fails`,
  });
  await runTask(stage, { agent, task: fixTask() });
  const after = await runProjectTests(place.cwd, signal);
  await teller.claim({
    label: "after",
    isSo: after.failed === 0 && after.passed === before.passed + 2,
    text: `${quantity(after.passed, "test")} pass, the new one too, 0 fail`,
  });
}

async function lookIntoLog(stage: DemoContext, agent: Agent): Promise<void> {
  const { teller, place, watched } = stage;
  await teller.title(
    "A log that no window should hold",
    "The result goes to disk whole; a preview and its id stay. Then the person pins the answer they want to keep.",
  );
  await runTask(stage, { agent, task: logTask() });
  const log = await readFile(join(place.cwd, nightLogPath), "utf8");
  const view = JSON.stringify(agent.session.view().messages);
  await teller.claim({
    label: "offload",
    isSo: watched.offloads === 1 && log.includes(hiddenLogLine) && !view.includes(hiddenLogLine),
    text: `of ${formatNumber(log.length)} characters the view holds both ends`,
  });
  await teller.claim({
    label: "pin",
    isSo: await pinAnswer(agent),
    text: "the answer that names the cause stays as it is, whatever is compacted",
  });
}

/** Whether the answer was there to be pinned. */
async function pinAnswer({ session, view }: Agent): Promise<boolean> {
  const entry: EntryId | undefined = session.fold.projection.items.find(({ blocks }) =>
    blocks.some((block) => block.type === "text" && block.text.includes(pinnedText)),
  )?.entry;
  if (entry === undefined) return false;
  const edited = await view.pin(entry);
  return edited.kind !== "failed";
}

async function tidyUp(stage: DemoContext, agent: Agent): Promise<void> {
  const { teller, watched } = stage;
  await teller.title(
    "Longer than the window",
    "Summaries are prepared beside the work and swapped in when they are due. What the agent works with is told again behind each: plan, tasks, skill, files.",
  );
  await runTask(stage, { agent, task: tidyTask(), detail: "brief" });
  const view = JSON.stringify(agent.session.view().messages);
  const { compactions, ahead } = watched;
  await teller.claim({
    label: "compacted",
    isSo: compactions >= 2 && ahead > 0,
    text: `${compactions} times; ${ahead} of the summaries were ready before they were due`,
  });
  const told = [
    "# Times by their names",
    `note the change for ${releaseName}`,
    "Change the cause alone",
    "src/trend.js",
  ];
  await teller.claim({
    label: "restored",
    isSo: told.every((words) => view.includes(words)),
    text: "plan, tasks, skill and files are in the view",
  });
  await teller.claim({
    label: "pinned",
    isSo: view.includes(pinnedText),
    text: "word for word, behind every summary",
  });
}

async function writeChangelog(stage: DemoContext, agent: Agent): Promise<void> {
  const { teller, model, place, watched } = stage;
  await teller.title(
    "Refused",
    "Now the provider refuses a request as too long, though there was room (the demo orders that). Whatever it takes, a summary without a model if need be: the turn goes on.",
  );
  const before = watched.reactive;
  model.refuseNext();
  await runTask(stage, { agent, task: changelogTask() });
  const changes = await readFile(join(place.cwd, "CHANGES.md"), "utf8");
  await teller.claim({
    label: "refused",
    isSo: watched.reactive === before + 1,
    text: "once, and answered all the same",
  });
  await teller.claim({
    label: "release",
    isSo: changes.startsWith(`# ${releaseName}\n`),
    text: `${releaseName} was said once, in the first message, ${quantity(watched.compactions, "compaction")} ago`,
  });
}

export interface Bill {
  readonly costUsd: number;
  readonly rounds: number;
  readonly peakTokens: number;
}

/** The same messages, the same script, a project of its own: nothing is offloaded, cleared or compacted. */
export async function runUnmanaged({
  home,
  signal,
}: {
  readonly home: string;
  readonly signal: AbortSignal;
}): Promise<Bill> {
  const folder = join(home, "unmanaged");
  const place = createDemoPlace(folder, await copySampleProject(join(folder, "project")));
  const model = createScriptedModel();
  const agent = await openDemoAgent({
    place,
    model,
    session: { kind: "new" },
    policy: "none",
    windowTokens: unmanagedWindowTokens,
    automatic: "off",
  });
  const watched = emptyTotals();
  try {
    for (const task of sessionTasks()) {
      model.startTask(task);
      await watchTurn({ agent, says: task.says, signal, watched });
    }
  } finally {
    await agent.close();
  }
  const { totalNanos } = agent.conversation.costs.session;
  return { costUsd: totalNanos / 1e9, rounds: watched.rounds, peakTokens: watched.peakTokens };
}
