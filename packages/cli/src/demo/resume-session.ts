import { fork } from "node:child_process";
import { once } from "node:events";
import { appendFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { errorText } from "palimpsest/internal/layers/4-compact/facts/fact-lines";
import type { EntryId } from "palimpsest/internal/schema/brand";
import { openSession } from "palimpsest/internal/session/session";
import type { Agent } from "../agent/agent.ts";
import { drainEvents } from "../compact/clear-results.ts";
import { auditText } from "../compact/preview-text.ts";
import { readOwnVersion } from "../program/read-own-version.ts";
import { formatNumber } from "../text/format.ts";
import { hiddenLogLine, pinnedText, releaseName } from "./facts.ts";
import { killedMillisMax } from "./limits.ts";
import { formatLabelled } from "./narrator.ts";
import { openDemoAgent, openDemoStore } from "./open-demo-agent.ts";
import type { MainSessionOutcome } from "./run-main-session.ts";
import { recallTask, watchTask } from "./script.ts";
import { runTask, viewText, type DemoContext } from "./watch-turn.ts";

/** The chapters after the session was killed: resume, recall, and compaction by hand. */
export async function resumeSession(demo: DemoContext, main: MainSessionOutcome): Promise<void> {
  await killAndRepair(demo, main);
  const agent = await openDemoAgent({ ...demo, session: { kind: "resume", id: main.session }, mode: "manual" });
  try {
    demo.printer.open(agent);
    await recallHidden(demo, agent);
    await compactByHand(demo, agent);
  } finally {
    await agent.close();
  }
}

/** The torn end of a log, as a machine leaves it that dies in the middle of a write. */
const tornLine = '{"type":"user","message":{"role":"user","cont';

/** Another process continues the session and is killed in the middle of a call; then half a line is appended to the log. */
async function killAndRepair(
  { narrator, place, signal }: DemoContext,
  { session, messages: before }: MainSessionOutcome,
): Promise<void> {
  await narrator.title("Killed", "Another process goes on with the session, and dies in the middle of a call.");
  await killInCall([place.home, place.cwd, session], signal);
  await narrator.say("kill -9, while a command was running; and the last write was torn in two");
  const store = await openDemoStore(place);
  const path = store.transcripts.linkTo?.(session);
  if (path === undefined) throw new Error("the demo's session has no file");
  await appendFile(path, tornLine);
  const circumstances = { cwd: place.cwd, version: readOwnVersion() };
  const opened = await openSession(store, { id: session, mode: "resume", circumstances });
  if (opened.kind !== "open") throw new Error(`the demo's session is ${opened.kind}`);
  const { setAside } = opened;
  const { messages } = opened.session.view();
  await opened.session.close();
  const isKept = JSON.stringify(messages.slice(0, before.length)) === JSON.stringify(before);
  const added = JSON.stringify(messages.slice(before.length));
  await narrator.claim({
    torn: [
      setAside !== undefined && setAside.end - setAside.start === tornLine.length,
      `the ${tornLine.length} bytes of half a line are set aside, nothing before them is touched`,
    ],
    resumed: [
      isKept && added.includes(watchTask().says),
      "every message is there, byte for byte, also the one that the dead process had just been given",
    ],
  });
}

const childPath = fileURLToPath(
  new URL(`./killed-turn${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url),
);

/** Throws if the other process ends by itself, or does not begin its call in time. */
async function killInCall(args: readonly string[], stop: AbortSignal): Promise<void> {
  const child = fork(childPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const signal = AbortSignal.any([stop, AbortSignal.timeout(killedMillisMax)]);
  const exit = once(child, "exit");
  try {
    const first = await Promise.race([once(child, "message", { signal }), exit.then(() => undefined)]);
    if (first === undefined) throw new Error("the process that was to be killed has ended by itself");
  } finally {
    child.kill("SIGKILL");
    await exit;
  }
}

async function recallHidden(demo: DemoContext, agent: Agent): Promise<void> {
  const { narrator, totals } = demo;
  await narrator.title(
    "Recall",
    "What no summary holds is looked up in all that was ever said: by its words, or by its id.",
  );
  const view = viewText(agent);
  const sought = ["399 !== 412", hiddenLogLine];
  await narrator.claim({
    hidden: [sought.every((text) => !view.includes(text)), "neither of what is asked for now is in the view"],
  });
  await runTask(demo, { agent, task: recallTask() });
  await narrator.claim({ recalled: [sought.every((text) => totals.reply.includes(text)), "both, as they were"] });
}

/** As a user does it: propose, look at the preview, commit, undo, redo. */
async function compactByHand({ narrator, signal }: DemoContext, agent: Agent): Promise<void> {
  await narrator.title(
    "Compact, undo, redo",
    "By hand this time. Every edit is an entry of the log and can be taken back.",
  );
  const before = viewText(agent);
  const proposed = await drainEvents(agent.context.compaction.propose({ part: { kind: "all" } }, signal));
  if (proposed.kind === "failed") return narrator.claim({ compact: [false, proposed.message] });
  const { audit } = proposed.proposal.preview;
  await narrator.say(formatLabelled("audit", `${auditText(audit)}, before the repair`));
  await narrator.claim({ proposed: [viewText(agent) === before, "the view is as it was until it is committed"] });
  const committed = await drainEvents(agent.context.compaction.commit(proposed.proposal));
  if (committed.kind === "failed") return narrator.claim({ compact: [false, committed.message] });
  const after = viewText(agent);
  const sizes = `${formatNumber(committed.tokensBefore)} → ${formatNumber(committed.tokensAfter)} tokens`;
  await narrator.say(formatLabelled("committed", sizes));
  const forgotten = audit.missing.flatMap((fact) => (fact.kind === "last-error" ? [errorText(fact.fact)] : []));
  const carried = [releaseName, pinnedText, ...forgotten];
  await narrator.claim({
    carried: [
      audit.missing.length > 0 && carried.every((text) => after.includes(text)),
      "what the summary forgot is added, the person's words are there, and what was pinned",
    ],
  });
  const undo = await undoEntry(agent, committed.entries[0]);
  await narrator.claim({ undone: [viewText(agent) === before, "byte-identical to the view before the compaction"] });
  await undoEntry(agent, undo);
  await narrator.claim({ redone: [viewText(agent) === after, "byte-identical to the view after it"] });
}

/** Returns the entry of the undo: undoing that one is the redo. */
async function undoEntry({ context }: Agent, target: EntryId | undefined): Promise<EntryId | undefined> {
  if (target === undefined) throw new Error("there is no entry to undo");
  const undone = await context.view.undo({ target });
  if (undone.kind !== "undone") throw new Error(`undo: ${undone.kind}`);
  return undone.undos[0];
}
