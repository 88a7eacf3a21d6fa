import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { cp, mkdir, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { styleText } from "node:util";
import { realClock, serveSimulator, Simulator, TraceWriter } from "@palimpsest/simulator";
import { formatNumber, Narrator } from "./narrator.ts";
import {
  type AgentBill,
  type ChargedReply,
  formatColumns,
  readAgents,
  readBill,
  readCharge,
  type SeenAgent,
} from "./team-bill.ts";
import { createTeamModel, mates, team, victim } from "./team-model.ts";
import { type TeamWork, works } from "./team-script.ts";
import { runTests } from "./tools.ts";

/** Far more than it takes. Then it ends as a failure, and cleans up. */
const wholeMs = 55_000;
const lookMs = 50;

const base = await realpath(await mkdtemp(join(tmpdir(), "palimpsest-team-")));
const [cwd, home] = [join(base, "project"), join(base, "home")];
const launcher = resolve(import.meta.dirname, "../../bin/palimpsest");
const narrator = new Narrator();
const startedAt = Date.now();
const done = new Map<string, number>();
const charged: ChargedReply[] = [];
let held: TeamWork | undefined;
let finalTasks: string | undefined;

await cp(join(import.meta.dirname, "project"), cwd, { recursive: true });
await mkdir(join(base, "tmp"));
const simulator = new Simulator({
  clock: realClock(),
  responder: createTeamModel({
    tell,
    onHeld: (work) => void (held = work),
    onDone: (tasks) => void (finalTasks = tasks),
  }),
  trace: new TraceWriter({
    write: async (line) => {
      const charge = readCharge(line);
      if (charge !== undefined) charged.push(charge);
    },
  }),
});
const served = await serveSimulator(simulator, { port: 0 });
if (served.kind === "failed") throw new Error(served.message);
/** Nothing of the user's own environment: no key, no settings, no home. */
const env = {
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  PALIMPSEST_HOME: home,
  TMPDIR: join(base, "tmp"),
  /** Compiled code goes where the user wants it, else to the folder. */
  ...passOn("NODE_COMPILE_CACHE"),
  ANTHROPIC_API_KEY: "none",
  ANTHROPIC_BASE_URL: served.url,
  PALIMPSEST_FLAG_EXTRACTION: "0",
  PALIMPSEST_FLAG_DREAM: "0",
};
let leader: ChildProcessWithoutNullStreams | undefined;
let printed = "";
let isStopped = false;
/** Of every member that was ever listed. */
const seenPids = new Set<number>();

process.once("exit", () => rmSync(base, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
setTimeout(() => {
  console.error(`It takes too long. The leader has printed:\n${printed}`);
  stop();
}, wholeMs).unref();

try {
  await begin();
  await killOne();
  await finish();
  await showBill();
  narrator.say(`
Each of them was a process of bin/palimpsest, with a transcript of its own. Try it:

  bin/palimpsest --team docs     be the leader's user; without a key: --model simulator
  docs/teams.md                  tasks, messages, permissions, what happens when one dies`);
  await served.close();
  process.exit(narrator.failedClaims === 0 ? 0 : 1);
} catch (error) {
  // Ctrl-C ends a list that is being made before we know of it.
  await wait(2 * lookMs);
  if (!isStopped) console.error(error);
  stop();
}

async function begin(): Promise<void> {
  narrator.title("A team", "A leader and three teammates, each a process; real files, a simulated model.");
  const before = await runTests(cwd);
  narrator.claim("before", before.text.includes("ℹ fail 1\n"), `${countTests(before.text)} tests, one of them fails`);
  leader = spawn(
    process.execPath,
    [launcher, "--no-tui", "--team", team, "--model", "claude-sonnet-5-5", "--permission-mode", "acceptEdits"],
    { cwd, env },
  );
  for (const stream of [leader.stdout, leader.stderr]) stream.on("data", (data) => (printed += String(data)));
  const request = "Share the work among three teammates: one fix, and tests for five modules.";
  narrator.say(styleText("cyan", `> ${request}`));
  leader.stdin.write(`${request}\n`);
}

async function killOne(): Promise<void> {
  const work = await until(() => held);
  const { pid } = (await listAgents()).find(({ address }) => address === `${victim}@${team}`) ?? {};
  if (pid === undefined) throw new Error(`${victim} is not there`);
  process.kill(pid, "SIGKILL");
  tell(victim, styleText("red", `✗ killed (kill -9 ${pid}) in the middle of "${work.subject}"`));
}

async function finish(): Promise<void> {
  const tasks = await until(() => finalTasks);
  for (const one of tasks.matchAll(/task-[0-9a-f]{8} \[done, (?<owner>\w+)\]/g)) {
    const owner = one.groups?.["owner"] ?? "";
    done.set(owner, (done.get(owner) ?? 0) + 1);
  }
  await until(async () => (await listAgents()).every(({ address, state }) => isLeader(address) || state === "stopped"));
  leader?.stdin.end();
  await until(() => leader?.exitCode !== null);
  narrator.title("What they did", "Tasks are claimed under a lock; a message is there once, and handled once.");
  const after = await runTests(cwd);
  narrator.claim("after", !after.isError, `${countTests(after.text)} tests, and all pass`);
  const completed = [...done.values()].reduce((sum, count) => sum + count, 0);
  narrator.claim("once", completed === works.length, `${works.length} tasks, each done by one agent`);
  const heir = new RegExp(`\\[done, (?<owner>\\w+)\\] ${held?.subject}`).exec(tasks)?.groups?.["owner"] ?? victim;
  narrator.claim("taken", heir !== victim, `${heir} did what ${victim} was killed over`);
  const running = (await listAgents()).filter(({ pid }) => pid !== undefined);
  narrator.claim("ended", leader?.exitCode === 0 && running.length === 0, "every process is gone");
}

async function showBill(): Promise<void> {
  const bills = await Promise.all((await listAgents()).map((agent) => readBill(agent, charged)));
  const arrived = bills.flatMap((bill) => bill.arrived);
  const isOnce = bills.every((bill) => new Set(bill.arrived.map(({ id }) => id)).size === bill.arrived.length);
  narrator.claim("messages", isOnce, `${arrived.length} arrived, none of them twice`);
  const total = charged.reduce((sum, { usd }) => sum + usd, 0);
  const booked = bills.reduce((sum, { usd }) => sum + usd, 0);
  narrator.claim("bill", Math.abs(total - booked) < 1e-9, "every charged reply is in one transcript");
  const row = ({ name, requests, tokens, usd, arrived: own }: AgentBill): readonly string[] => [
    name,
    String(done.get(name) ?? 0),
    String(arrived.filter(({ from }) => from === name).length),
    String(own.length),
    String(requests),
    formatNumber(tokens),
    `$${usd.toFixed(4)}`,
  ];
  const sum = (pick: (bill: AgentBill) => number): number => bills.reduce((all, bill) => all + pick(bill), 0);
  narrator.say("");
  narrator.say(
    formatColumns([
      ["agent", "tasks", "sent", "got", "requests", "tokens", "money"],
      ...bills.map(row),
      [
        "all",
        String(works.length),
        String(arrived.length),
        String(arrived.length),
        String(sum(({ requests }) => requests)),
        formatNumber(sum(({ tokens }) => tokens)),
        `$${booked.toFixed(4)}`,
      ],
    ]),
  );
}

function tell(who: string, text: string): void {
  const seconds = ((Date.now() - startedAt) / 1_000).toFixed(1);
  const colour = (["yellow", "magenta", "blue"] as const)[mates.findIndex((name) => name === who)] ?? "bold";
  narrator.say(`${styleText("dim", `${seconds.padStart(5)} s`)}  ${styleText(colour, who.padEnd(7))} ${text}`);
}

function passOn(name: string): Readonly<Record<string, string>> {
  const value = process.env[name];
  return value === undefined ? {} : { [name]: value };
}

function isLeader(address: string): boolean {
  return address === `leader@${team}`;
}

function countTests(output: string): string {
  return /ℹ tests (?<count>\d+)/.exec(output)?.groups?.["count"] ?? "no";
}

/** By the command line, as a user sees them. */
function listAgents(): Promise<readonly SeenAgent[]> {
  return new Promise((found, failed) => {
    execFile(process.execPath, [launcher, "agents", "list", "--json"], { cwd, env }, (error, stdout) => {
      if (error !== null) return failed(error);
      const agents = readAgents(stdout);
      for (const { pid } of agents) if (pid !== undefined) seenPids.add(pid);
      return found(agents);
    });
  });
}

async function until<Value>(look: () => Value | Promise<Value>): Promise<NonNullable<Value>> {
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && seen !== false) return seen;
    await wait(lookMs);
  }
}

/** Whatever happens: no process and no file stays. Asked again, it goes on with the first time. */
function stop(): void {
  if (isStopped) return;
  isStopped = true;
  narrator.say("Every process is ended, and the folder removed.");
  void endAll().finally(() => process.exit(1));
}

/**
 * Teammates have process groups of their own, which Ctrl-C does not reach: each is ended by its id. One that is just
 * starting has none on record yet, so it is waited for; it would end by itself, but later than the folder.
 */
async function endAll(): Promise<void> {
  leader?.kill("SIGKILL");
  for (let looks = 0; looks < 20; looks += 1) {
    // Ctrl-C reaches a list that is being made.
    const agents = await listAgents().catch(() => undefined);
    const isStarting = agents?.some(({ state }) => state === "starting") ?? true;
    // One that has left the team may still be ending.
    const left = [...seenPids].filter(killIfThere);
    if (!isStarting && left.length === 0) return;
    await wait(lookMs);
  }
}

/** Whether it was there. */
function killIfThere(pid: number): boolean {
  try {
    return process.kill(pid, "SIGKILL");
  } catch {
    return false;
  }
}
