import { join } from "node:path";
import { demoAgent, placeIn } from "./demo-agent.ts";
import { unmanagedWindowTokens } from "./limits.ts";
import { copySample } from "./sample.ts";
import { tasks } from "./script.ts";
import { scriptedModel } from "./scripted-model.ts";
import { nothingWatched, watchTurn } from "./watched-turn.ts";

export interface Bill {
  readonly costUsd: number;
  readonly rounds: number;
  readonly peakTokens: number;
}

export interface Unmanaged {
  readonly home: string;
  readonly signal: AbortSignal;
}

/** The same messages, the same script, a project of its own: nothing is offloaded, cleared or compacted. */
export async function unmanagedBill({ home, signal }: Unmanaged): Promise<Bill> {
  const folder = join(home, "unmanaged");
  const place = placeIn(folder, await copySample(join(folder, "project")));
  const model = scriptedModel();
  const agent = await demoAgent({
    place,
    model,
    session: { kind: "new" },
    policy: "none",
    windowTokens: unmanagedWindowTokens,
    automatic: "off",
  });
  const watched = nothingWatched();
  try {
    for (const task of tasks()) {
      model.take(task);
      await watchTurn({ agent, says: task.says, signal, watched });
    }
  } finally {
    await agent.close();
  }
  const { totalNanos } = agent.conversation.costs.session;
  return { costUsd: totalNanos / 1e9, rounds: watched.rounds, peakTokens: watched.peakTokens };
}
