import { randomUUID } from "node:crypto";
import type { ClockDep } from "../../packages/palimpsest/src/ports/clock.ts";
import type { IdsDep } from "../../packages/palimpsest/src/ports/ids.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";

export const storeDeps: ClockDep & IdsDep = { now: () => millis(Date.now()), uuid: () => randomUUID() };
