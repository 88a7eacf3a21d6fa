import type { Agent } from "../agent/agent.ts";
import type { DemoPlace } from "./demo-agent.ts";
import type { ScriptedModel } from "./scripted-model.ts";
import type { Detail, ShownItems } from "./shown-items.ts";
import type { Task } from "./step.ts";
import type { Teller } from "./teller.ts";
import { type Watched, watchTurn } from "./watched-turn.ts";

/** What the chapters of the demo work with. */
export interface Stage {
  readonly teller: Teller;
  readonly shown: ShownItems;
  readonly place: DemoPlace;
  readonly model: ScriptedModel;
  readonly watched: Watched;
  readonly signal: AbortSignal;
}

export interface Played {
  readonly agent: Agent;
  readonly task: Task;
  readonly detail?: Detail;
}

/** A message of the person's, and all that the agent makes of it. */
export async function play(stage: Stage, { agent, task, detail = "full" }: Played): Promise<void> {
  const { teller, shown, model, watched, signal } = stage;
  model.take(task);
  shown.rest();
  await watchTurn({ agent, says: task.says, signal, watched }, { teller, shown, detail });
}
