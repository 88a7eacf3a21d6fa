import { expect } from "vitest";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import { undo } from "../../../packages/palimpsest/src/session/undo.ts";
import { tokens } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import { compactedIn, expectAccepted, lastRequest, times } from "./compaction-checks.ts";
import {
  compact,
  type CompactionWorld,
  compactionWorld,
  type CompactionWorldOptions,
  taskText,
} from "./compaction-world.ts";

/** An agent with something that has to stay in its view. */
export interface Living {
  readonly world: CompactionWorld;
  readonly agent: Agent;
}

/** Its summariser only ever says "ok": what survives is not what a summary tells. */
export async function forgetfulWorld(options: CompactionWorldOptions = {}): Promise<CompactionWorld> {
  const world = await compactionWorld({ wordsPerRound: 110, ...options });
  world.summariser.answers = ["ok"];
  return world;
}

/** In the newest request each stands byte for byte, exactly once. */
export function expectOnce({ world }: Pick<Living, "world">, words: readonly string[]): void {
  for (const word of words) expect({ word, times: times(lastRequest(world), word) }).toEqual({ word, times: 1 });
}

export async function compactedOnce({ world, agent }: Living, task: number): Promise<void> {
  await world.turn(agent, { text: taskText(task), rounds: 3 });
  expect((await compact(agent)).committed.kind).toBe("committed");
}

interface Words {
  readonly words: readonly string[];
}

/** Through so many compactions by hand. */
export async function survivesByHand(
  { world, agent }: Living,
  { words, rounds }: Words & { rounds: number },
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    await compactedOnce({ world, agent }, round);
    await world.turn(agent, { text: taskText(100 + round), rounds: 1 });
    expectOnce({ world }, words);
  }
  expectAccepted(world, agent);
  await agent.close();
}

export async function survivesAutomatic({ world, agent }: Living, { words }: Words): Promise<void> {
  const events: LoopEvent[] = [];
  for (let task = 1; task <= 4; task += 1) {
    events.push(...(await world.turn(agent, { text: taskText(task), rounds: 20 })));
    expectOnce({ world }, words);
  }
  expect(compactedIn(events).filter(({ trigger }) => trigger === "auto").length).toBeGreaterThan(1);
  expectAccepted(world, agent);
  await agent.close();
}

/** The server refuses a request as too long. */
export async function survivesReactive({ world, agent }: Living, { words }: Words): Promise<readonly LoopEvent[]> {
  const events = await world.turn(agent, { text: taskText(1), rounds: 45 });
  expect(compactedIn(events).map(({ cause }) => cause)).toContain("overflow");
  expectOnce({ world }, words);
  await agent.close();
  return events;
}

export async function survivesUndoAndRedo({ world, agent }: Living, { words }: Words): Promise<void> {
  await compactedOnce({ world, agent }, 1);
  const options = { mode: "path", blockingTokens: tokens(1e9), thinking: "free" } as const;
  const undone = await undo(agent.session, options);
  const [target] = undone.kind === "undone" ? undone.undos : [];
  expect(target).toBeDefined();
  await world.turn(agent, { text: taskText(2), rounds: 1 });
  expectOnce({ world }, words);
  await undo(agent.session, { ...options, ...(target === undefined ? {} : { target }) });
  await world.turn(agent, { text: taskText(3), rounds: 1 });
  expectOnce({ world }, words);
  await agent.close();
}
