import type { Actor } from "../actor/actor.ts";
import { realClock } from "../clock.ts";
import { Simulator } from "../simulator.ts";
import { simulatorFetch } from "./fetch.ts";

export interface Simulating {
  readonly actor: Actor;
  readonly seed: number;
}

/** A simulator of its own, reached without a socket, in real time. */
export const simulatedFetch = ({ actor, seed }: Simulating): typeof fetch =>
  simulatorFetch(new Simulator({ actor, seed, clock: realClock() }));
