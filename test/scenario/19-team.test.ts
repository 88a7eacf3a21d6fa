import { expect, test } from "vitest";
import { lookAtProcess } from "../../packages/palimpsest/src/store/files/look-at-process.ts";
import type { ListedAgent } from "../../packages/cli/src/team/find-agents.ts";
import { called } from "./support/called.ts";
import { json } from "./support/cli-world.ts";
import { call, say, type TeamPlay, type TeamWorld, teamWorld, until } from "./support/team-world.ts";

const names = ["ann", "ben", "cid"];

/** Takes open tasks one after the other, and says so when there is none. */
const worker: TeamPlay = ({ who, last }) => {
  const claimed = new RegExp(`(task-[0-9a-f]{8}) \\[claimed, ${who}\\]`).exec(last)?.[1];
  const open = /(task-[0-9a-f]{8}) \[open\]/.exec(last)?.[1];
  if (claimed !== undefined) return { blocks: [call("task", { do: "complete", id: claimed, text: `by ${who}` })] };
  if (open !== undefined) return { blocks: [call("task", { do: "claim", id: open })] };
  if (last.includes("Task 0") && last.includes("Task 6")) return { blocks: [say("Nothing is left.")] };
  return { blocks: [call("task", { do: "list" })] };
};

const leader: TeamPlay = ({ last }) => {
  if (last.includes("Begin."))
    return {
      blocks: [
        ...Array.from({ length: 7 }, (_, at) => call("task", { do: "create", text: `Task ${at}` })),
        ...names.map((name) => call("team", { do: "start", name, message: "Do the open tasks." })),
      ],
    };
  if (last.includes("Bring ben back."))
    return { blocks: [call("team", { do: "start", name: "ben", message: "Do the open tasks." })] };
  if (last.includes("End ann.")) return { blocks: [call("team", { do: "shutdown", name: "ann" })] };
  if (last.includes("Look.")) return { blocks: [call("team", { do: "list" })] };
  return { blocks: [say("Noted.")] };
};

/** Ids and senders of the messages in a session's log, in order. */
const findArrived = async (world: TeamWorld, session: string): Promise<readonly { id: string; from: string }[]> =>
  (await world.log(session)).flatMap(({ agentMessage }) =>
    agentMessage === undefined ? [] : [agentMessage as { id: string; from: string }],
  );

/** Ben does not finish his first task, and nobody is so fast that none is left for him. */
function slowBen() {
  const state = { ben: "slow", hasBegun: false };
  const play: TeamPlay = (input) => {
    if (input.who === "leader") return leader(input);
    const next = worker(input);
    const isHeld = input.who === "ben" && state.ben === "slow" && JSON.stringify(next.blocks).includes("complete");
    state.hasBegun ||= isHeld;
    if (isHeld) return { ...next, delayMs: 60_000 };
    const mayGo = state.hasBegun || input.who === "ben";
    return mayGo ? next : { blocks: [call("task", { do: "list" })], delayMs: 200 };
  };
  return { state, play };
}

test("a leader and three teammates do each task once and say each thing once, whoever is killed", async () => {
  const { state, play } = slowBen();
  const world = await teamWorld(play);
  const chat = world.lead();
  chat.say("Begin.");
  const isOwnedByBen = ({ owner }: { owner?: unknown }): boolean => owner === "ben@docs";
  await until(async () => (await world.tasks()).filter(({ state: now }) => now === "done").length === 6, chat.output);
  const held = (await world.tasks()).find(isOwnedByBen);
  expect(held).toMatchObject({ state: "claimed" });

  // Killed in the middle of his task: it is open again, and he goes on with the same conversation.
  const ben = await until(async () => await world.member("ben"), chat.output);
  process.kill(ben.process?.pid ?? 0, "SIGKILL");
  await until(
    async () => (await world.tasks()).some(({ id, state: now }) => id === held?.id && now === "open"),
    chat.output,
  );
  expect(await world.member("ben")).toMatchObject({ state: "stopped", session: ben.session });
  await until(() => chat.output().includes("Its process ended (SIGKILL)"), chat.output);
  state.ben = "well";
  chat.say("Bring ben back.");
  await until(async () => (await world.tasks()).every(({ state: now }) => now === "done"), chat.output);
  expect((await world.member("ben"))?.session).toBe(ben.session);
  const tasks = await world.tasks();
  expect(tasks.map(({ result }) => `${result}@docs`)).toEqual(tasks.map(({ owner }) => `by ${owner}`));

  // Asked to stop, while idle: no request to the model, but an answer.
  chat.say("End ann.");
  await until(async () => (await world.member("ann"))?.process === undefined, chat.output);
  const session = (await world.member("leader"))?.session ?? "";
  await until(async () => JSON.stringify(await world.log(session)).includes("shutdown_response"), chat.output);
  const arrived = await findArrived(world, session);
  expect(new Set(arrived.map(({ from }) => from))).toEqual(new Set(names.map((name) => `${name}@docs`)));
  expect(new Set(arrived.map(({ id }) => id)).size).toBe(arrived.length);

  // From the shell: who is there, what ann said, and the end of cid.
  const calling = { home: world.home, cwd: world.work };
  const listed = json<ListedAgent[]>(await called(calling, "agents", "list", "--json"));
  expect(listed.map(({ address, state: now }) => `${address} ${now}`)).toEqual([
    expect.stringMatching(/^leader@docs (idle|working)$/),
    "ann@docs stopped",
    expect.stringMatching(/^ben@docs (idle|working)$/),
    expect.stringMatching(/^cid@docs (idle|working)$/),
  ]);
  const attached = await called(calling, "agents", "attach", "ann");
  expect(attached).toMatchObject({ code: 0, err: "ann@docs is not running\n" });
  expect(attached.out).toMatch(/Message from leader@docs: Do the open tasks\.[^]*\* task claim[^]*Nothing is left\./);
  const killed = await called(calling, "agents", "kill", "cid", "--yes", "--json");
  expect(json(killed)).toMatchObject({ agent: "cid@docs", how: "ended" });
  expect(await world.member("cid")).toMatchObject({ state: "stopped" });

  // Teammates of a killed leader end by themselves, and the next leader finds everything in order.
  const pid = (await world.member("ben"))?.process?.pid ?? 0;
  chat.child.kill("SIGKILL");
  await until(async () => (await lookAtProcess(pid)).kind === "dead", chat.output);
  const next = world.lead();
  next.say("Look.");
  await until(() => next.output().includes("Noted."), next.output);
  for (const name of names) {
    const member = await world.member(name);
    expect(member).toMatchObject({ state: "stopped" });
    expect(member?.process).toBeUndefined();
  }
  next.child.stdin.end();
  await until(() => next.child.exitCode !== null, next.output);
  expect(next.child.exitCode).toBe(0);
}, 60_000);
