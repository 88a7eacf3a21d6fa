import { onTestFinished } from "vitest";
import type { Responder, Move, MoveBlock } from "../../../packages/simulator/src/responder/responder.ts";
import { serveSimulator } from "../../../packages/simulator/src/http/serve-simulator.ts";
import type { SimulatorOptions } from "../../../packages/simulator/src/simulator-options.ts";
import { Simulator } from "../../../packages/simulator/src/simulator.ts";

/** A responder that makes these moves, the last one again and again. A move is spent when its reply has arrived. */
export function playing(...moves: readonly (Move | readonly MoveBlock[])[]): Responder {
  let at = 0;
  return {
    name: "playing",
    respond: () => {
      const chosen = moves[Math.min(at, moves.length - 1)] ?? [];
      const move: Move = "kind" in chosen ? chosen : { kind: "say", blocks: chosen };
      return { move, delivered: () => void (at += 1) };
    },
  };
}

export const says = (text: string): readonly MoveBlock[] => [{ type: "text", text }];

export interface Served {
  readonly simulator: Simulator;
  readonly url: string;
}

/** A simulator on a free port, closed when the test ends. */
export async function served(options: SimulatorOptions = {}): Promise<Served> {
  const simulator = new Simulator(options);
  const serving = await serveSimulator(simulator, { port: 0 });
  if (serving.kind === "failed") throw new Error(serving.message);
  onTestFinished(() => serving.close());
  return { simulator, url: serving.url };
}
