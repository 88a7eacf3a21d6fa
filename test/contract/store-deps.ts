import { randomUUID } from "node:crypto";
import type { ClockDep } from "../../src/ports/clock.ts";
import type { IdsDep } from "../../src/ports/ids.ts";
import { millis } from "../../src/schema/brand.ts";

export const storeDeps: ClockDep & IdsDep = { now: () => millis(Date.now()), uuid: () => randomUUID() };
