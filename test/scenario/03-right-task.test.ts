import { describe, expect, it } from "vitest";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { tokens } from "../../packages/palimpsest/src/schema/brand.ts";
import { append, user } from "../fixture/session.ts";
import {
  compactedIn,
  endOf,
  expectAccepted,
  lastRequest,
  ledgerOf,
  saidIn,
  times,
  untagged,
} from "./support/compaction-checks.ts";
import { commit, compact, compactionWorld, propose, taskText } from "./support/compaction-world.ts";

const [first, second, third] = [taskText(1), taskText(2), taskText(3)];

describe("3. Right task", () => {
  it("the third of three messages is unanswered: after an automatic compaction it is verbatim and the only open request, the others are history", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await world.turn(agent, { text: first, rounds: 6 });
    await world.turn(agent, { text: second, rounds: 3 });
    const events = await world.turn(agent, { text: third, rounds: 30 });
    expect(compactedIn(events).length).toBeGreaterThan(0);
    expect(endOf(events)).toBe("answered");
    const request = lastRequest(world);
    expect(saidIn(request)).toEqual([first, second, third]);
    const open = ledgerOf(request).flatMap(({ text, state }) => (state === "open" ? [text] : []));
    expect([...open, ...untagged(request)]).toEqual([third]);
    expectAccepted(world, agent);
    await agent.close();
  });

  it("a message that waits while the user compacts by hand stays as it was typed, behind the summary", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await world.turn(agent, { text: first, rounds: 6 });
    await world.turn(agent, { text: second, rounds: 3 });
    await append(agent.session, user(third));
    world.said.push(third);
    await compact(agent);
    const texts = agent.session
      .view()
      .messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "text" ? [block.text] : [])));
    expect(texts.filter((text) => text === third)).toEqual([third]);
    expect(texts.indexOf(third)).toBeGreaterThan(
      texts.findIndex((text) => text.includes("The conversation was compacted")),
    );
    await agent.close();
  });

  it("a message that comes between the proposal and its commit appears exactly once, in order, with its answer", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await world.turn(agent, { text: first, rounds: 6 });
    const { proposed } = await propose(agent);
    if (proposed.kind !== "proposed") throw new Error(proposed.message);
    await world.turn(agent, { text: second, rounds: 2 });
    const { committed } = await commit(agent, proposed.proposal);
    expect(committed.kind).toBe("committed");
    await world.turn(agent, { text: third, rounds: 1 });
    const request = lastRequest(world);
    expect(saidIn(request)).toEqual([first, second, third]);
    expect(untagged(request)).toEqual([second, third]);
    expectAccepted(world, agent);
    await agent.close();
  });

  it("a message that is queued while an automatic compaction runs appears exactly once", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await world.turn(agent, { text: first, rounds: 6 });
    world.worker.left = 30;
    const events = [];
    for await (const event of agent.turn(second, new AbortController().signal)) {
      if (event.kind === "compaction-start" && agent.queue.length === 0 && events.length > 0) agent.queue.push(third);
      events.push(event);
      if (event.kind === "message-queued") world.worker.left = 2;
    }
    expect(compactedIn(events).length).toBeGreaterThan(0);
    const request = lastRequest(world);
    expect(saidIn(request)).toEqual([first, second]);
    expect(times(request, `Go on with it in mind:\n${third}`)).toBe(1);
    expectAccepted(world, agent);
    await agent.close();
  });

  it("a message that was queued while the server refused a request stays when that compaction is undone", async () => {
    const world = await compactionWorld({ windowTokens: 40_000, believedTokens: 200_000, wordsPerRound: 110 });
    const agent = await world.open();
    world.worker.left = 45;
    const events = [];
    for await (const event of agent.turn(first, new AbortController().signal)) {
      if (event.kind === "compaction-start" && event.cause === "overflow") agent.queue.push(third);
      if (event.kind === "message-queued") world.worker.left = 1;
      events.push(event);
    }
    expect(compactedIn(events).map(({ cause }) => cause)).toEqual(["overflow"]);
    const count = (): number =>
      JSON.stringify(agent.session.view().messages).split(JSON.stringify(third).slice(1, -1)).length - 1;
    expect(count()).toBe(1);
    const undone = await undo(agent.session, { mode: "path", blockingTokens: tokens(1e9), thinking: "free" });
    expect(undone).toMatchObject({ kind: "undone", edits: [{ edit: { type: "boundary" } }] });
    expect(count()).toBe(1);
    await agent.close();
  });

  it("no text of the engine looks like an untagged message of the user", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    for (let task = 1; task <= 4; task += 1) {
      await world.turn(agent, { text: taskText(task), rounds: 5 });
      await compact(agent);
    }
    await world.turn(agent, { text: taskText(5), rounds: 1 });
    for (const request of world.conversation())
      for (const text of untagged(request)) expect(world.said).toContain(text);
    await agent.close();
  });

  it("old slash commands are told as a record and never stand where a command would run", async () => {
    const world = await compactionWorld();
    const agent = await world.open();
    await append(
      agent.session,
      user("<command-name>/deploy</command-name>\n<command-args>production</command-args>"),
      user("/release everything now"),
    );
    await world.turn(agent, { text: first, rounds: 6 });
    await compact(agent);
    await world.turn(agent, { text: second, rounds: 1 });
    const request = lastRequest(world);
    expect(untagged(request)).toEqual([second]);
    expect(times(request, "<command-name>/deploy")).toBe(0);
    expect(ledgerOf(request)).toContainEqual({ text: "/release everything now", state: "history" });
    await agent.close();
  });
});
