import { join } from "node:path";
import { demoAgent, placeIn } from "./demo-agent.ts";
import { writeProject } from "./project.ts";
import { tasks } from "./script.ts";
import { scriptedModel } from "./scripted-model.ts";
import type { Teller } from "./teller.ts";
import { nothingWatched, watchTurn } from "./watched-turn.ts";

export interface Bill {
  readonly costUsd: number;
  readonly rounds: number;
  readonly peakTokens: number;
}

/** The largest that the model has: nothing stands in the way of an ever longer prompt. */
const windowTokens = 1_000_000;

/** The same messages, the same steps, a project of its own: nothing is offloaded, cleared or compacted. */
export async function unmanagedBill(
  teller: Teller,
  { home, signal }: { readonly home: string; readonly signal: AbortSignal },
): Promise<Bill> {
  const folder = join(home, "unmanaged");
  const place = placeIn(folder, await writeProject(join(folder, "project")));
  const model = scriptedModel();
  const agent = await demoAgent({
    place,
    model,
    session: { kind: "new" },
    policy: "none",
    windowTokens,
    automatic: "off",
  });
  const watched = nothingWatched();
  try {
    for (const task of tasks()) {
      model.take(task);
      await watchTurn(teller, { agent, says: task.says, signal, windowTokens, watched });
    }
  } finally {
    await agent.close();
  }
  const { totalNanos } = agent.conversation.costs.session;
  return { costUsd: totalNanos / 1e9, rounds: watched.rounds, peakTokens: watched.peakTokens };
}
