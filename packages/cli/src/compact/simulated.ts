import type { ModelChoice } from "../agent/model-choice.ts";
import { humanUsd } from "../human.ts";

/** Who is asked: the simulator charges what nobody pays, and `none` is nobody. */
export type Answerer = ModelChoice["kind"];

export const usdBy = (answerer: Answerer, nanos: number): string =>
  `${humanUsd(nanos / 1e9)}${answerer === "simulator" ? " (simulated)" : ""}`;
