import type { Actor } from "../simulator/actor/actor.ts";

/** Who answers in the simulator. */
export interface Chosen {
  readonly kind: "actor";
  readonly actor: Actor;
  /** The scenario's, where it names one. */
  readonly seed?: number;
}
