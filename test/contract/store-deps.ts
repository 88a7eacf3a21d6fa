import { randomUUID } from "node:crypto";
import type { ClockDep, IdsDep } from "../../packages/palimpsest/src/ports/clock-dep.ts";
import { millis } from "../../packages/palimpsest/src/schema/brand.ts";

export const storeDeps: ClockDep & IdsDep = { now: () => millis(Date.now()), uuid: () => randomUUID() };
