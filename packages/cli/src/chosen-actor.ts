import type { Actor } from "@palimpsest/simulator/internal/actor/actor";

/** Who answers in the simulator. */
export interface Chosen {
  readonly kind: "actor";
  readonly actor: Actor;
  /** The scenario's, where it names one. */
  readonly seed?: number;
}
