import { rmSync } from "node:fs";
import { appendFile, cp, mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ContextEvent, fileStore } from "palimpsest";
import { type Agent, openAgent } from "./agent.ts";
import { formatNumber, formatPrice, formatUsd, Narrator } from "./narrator.ts";
import { facts, tasks } from "./script.ts";
import { runTests } from "./tools.ts";

/** A tenth of the smallest window of current models. With nothing managed, the prompt grows to several times as much. */
const contextTokens = 20_000;

const home = await mkdtemp(join(tmpdir(), "palimpsest-demo-"));
process.once("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const narrator = new Narrator();
const events: ContextEvent[] = [];
const cwd = await copyProject("project");
const options = {
  cwd,
  contextTokens,
  session: "demo",
  store: fileStore({ folder: join(home, "store") }),
  show: narrator.show,
  onEvent: (event: ContextEvent): void => {
    events.push(event);
    narrator.tell(event);
  },
};

const agent = await openAgent(options);
await fixFailingTest(agent);
await readLargeLog(agent);
await outgrowWindow(agent);
await answerRefusal(agent);
const bill = { ...agent.record, nanos: agent.context.costs().session.totalNanos };
await agent.context.close();
const reopened = await reopenTorn();
await recallHidden(reopened);
await undoCompaction(reopened);
await showReceipts(reopened);
await reopened.context.close();
await compareBills();
narrator.say(`
The transcript only grew; what the model saw was a projection of it. Next:

  examples/demo/agent.ts               the loop of this demo
  bin/palimpsest                       an agent in this terminal; without a key: --model simulator
  bin/palimpsest replay <a session>    what a session of yours would have cost`);
process.exitCode = narrator.failedClaims === 0 ? 0 : 1;

async function fixFailingTest({ ask, context }: Agent): Promise<void> {
  const window = `a window of ${formatNumber(contextTokens)} tokens`;
  narrator.title("A failing test", `Real files and tests, a simulated model, and ${window}: too small on purpose.`);
  const before = await runTests(cwd);
  narrator.claim("before", before.text.includes("ℹ fail 1\n"), "one test fails");
  await ask(tasks.fix);
  narrator.claim("after", !(await runTests(cwd)).isError, "all tests pass");
  const [hit] = await context.recall(`"${facts.cause}"`);
  if (hit !== undefined) await context.pin(hit.id);
  narrator.claim("pinned", hit?.kind === "reply", "that answer stays word for word, whatever is compacted");
}

async function readLargeLog({ ask, record }: Agent): Promise<void> {
  narrator.title("A log that no window should hold", "It goes to the store whole; a preview and an id stay.");
  await ask(tasks.log);
  const log = await readFile(join(cwd, "logs/night.log"), "utf8");
  const isHidden = log.includes(facts.hiddenLine) && !record.sent.join("\n").includes(facts.hiddenLine);
  narrator.claim("offloaded", isHidden, `of ${formatNumber(log.length)} characters the model sees both ends`);
}

async function outgrowWindow({ ask }: Agent): Promise<void> {
  narrator.title("Longer than the window", "Stale results are cleared before the window is full; each keeps an id.");
  await ask(tasks.review);
  const counts = events.map((event) => (event.kind === "cleared" ? event.count : 0));
  const cleared = counts.reduce((sum, count) => sum + count, 0);
  narrator.claim("cleared", cleared > 10, `${cleared} results so far, each with an id by which it comes back`);
}

async function answerRefusal({ ask, model, record }: Agent): Promise<void> {
  narrator.title("Refused", "The provider calls a request too long, though there was room: it is compacted.");
  model.refuseNext();
  await ask(tasks.release);
  const changes = await readFile(join(cwd, "CHANGES.md"), "utf8");
  const isCompacted = events.some((event) => event.kind === "compacted" && event.path === "fork");
  narrator.claim("compacted", isCompacted, "by a summary that the model wrote, and the turn went on");
  narrator.claim("kept", record.sent.join("\n").includes(facts.cause), "the pinned answer, behind the summary");
  const isNamed = changes.startsWith(`# ${facts.release}\n`);
  narrator.claim("release", isNamed, `${facts.release} was said once, in the first message`);
}

/** The log's end as a machine leaves it that dies in the middle of a write. */
async function reopenTorn(): Promise<Agent> {
  narrator.title("Torn", "A write breaks off in the middle of a line; then the session is opened again.");
  const folder = join(home, "store");
  const files = await readdir(folder, { recursive: true });
  const log = join(folder, files.find((file) => file.endsWith("demo.jsonl")) ?? "");
  await appendFile(log, '{"type":"user","message":{"role":"user","cont');
  return await openAgent(options);
}

async function recallHidden({ ask, record }: Agent): Promise<void> {
  const before = agent.record.sent;
  const sought = [facts.error, facts.hiddenLine];
  const answer = await ask(tasks.recall);
  const isSame = record.sent.slice(0, before.length).join() === before.join();
  narrator.claim("reopened", isSame, "every message is there, byte for byte");
  const isHidden = !sought.some((text) => before.join().includes(text));
  narrator.claim("hidden", isHidden, "neither answer was in the view any more");
  const isFound = sought.every((text) => answer.includes(text));
  narrator.claim("recalled", isFound, "both, as they were");
}

async function undoCompaction({ context, nextMessages }: Agent): Promise<void> {
  narrator.title("Compact, undo, redo", "By hand this time. An edit is an entry of the log, and so is its undo.");
  await context.user("Sum up where we are.");
  const before = await nextMessages();
  const compacted = await context.compact();
  if (compacted.kind === "failed") throw new Error(compacted.message);
  const after = await nextMessages();
  const isCarried = after.includes(facts.release) && after.includes(facts.cause);
  narrator.claim("carried", isCarried, "the user's words and the pinned answer");
  const boundary = context.receipts().findLast(({ kind }) => kind === "boundary");
  const undone = await context.undo(boundary?.id);
  narrator.claim("undone", (await nextMessages()) === before, "byte for byte the view before it");
  await context.undo(undone.kind === "undone" ? undone.undos[0] : undefined);
  narrator.claim("redone", (await nextMessages()) === after, "byte for byte the view after it");
}

async function showReceipts({ context, record }: Agent): Promise<void> {
  narrator.title("What happened", "Every edit has a receipt, in tokens and in money.");
  const { nanosByKind, tokensByKind } = context.costs().session;
  const nanosPerToken = nanosByKind.input / tokensByKind.input;
  for (const { kind, count, state, receipt } of context.receipts()) {
    const name = `${kind}${count === undefined ? "" : ` of ${count}`}${state === "undone" ? ", undone" : ""}`;
    const price = receipt === undefined ? "before anything was sent" : formatPrice(receipt, nanosPerToken);
    narrator.say(`  ${name.padEnd(18)}${price}`);
  }
  const results = [...agent.record.resultByCall, ...record.resultByCall];
  let same = 0;
  for (const [id, text] of results) {
    const found = await context.expand(id);
    if (found.kind === "result" && new TextDecoder().decode(found.bytes) === text) same += 1;
  }
  narrator.say("");
  narrator.claim("lost", same === results.length, `nothing: all ${same} results come back byte for byte, by their ids`);
  // A request for a summary carries all that the summary covers.
  const peak = Math.max(
    bill.peakTokens,
    ...events.map((event) => (event.kind === "compaction-start" ? event.tokens : 0)),
  );
  const sizes = `none over ${formatNumber(peak)} of ${formatNumber(contextTokens)} tokens`;
  narrator.claim("window", peak < contextTokens, `${bill.rounds} rounds, ${sizes}`);
}

async function compareBills(): Promise<void> {
  narrator.title("The bill", "The same messages once more, nothing managed, in a window of a million tokens.");
  const plain = await openAgent({ cwd: await copyProject("unmanaged"), policy: "none", contextTokens: 1_000_000 });
  for (const task of [tasks.fix, tasks.log, tasks.review, tasks.release]) await plain.ask(task);
  const nanos = plain.context.costs().session.totalNanos;
  await plain.context.close();
  narrator.say(`  unmanaged ${formatUsd(nanos)} with prompts of up to ${formatNumber(plain.record.peakTokens)} tokens`);
  narrator.say(`  managed   ${formatUsd(bill.nanos)} with prompts of up to ${formatNumber(bill.peakTokens)} tokens`);
  narrator.claim("saved", bill.nanos < nanos, `${Math.round(100 * (1 - bill.nanos / nanos))}%`);
}

async function copyProject(name: string): Promise<string> {
  await cp(join(import.meta.dirname, "project"), join(home, name), { recursive: true });
  return join(home, name);
}
