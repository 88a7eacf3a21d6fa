import type { Json } from "palimpsest/internal/schema/json";
import type { Level } from "palimpsest/internal/cache/prompt";
import { levels } from "./level.ts";
import { extension } from "../extension.ts";
import type { TraceRequest } from "./reader.ts";

export interface ParameterChange {
  readonly name: string;
  /** Null where it was not given. */
  readonly old: Json;
  readonly now: Json;
  /** From which level on it makes another cache entry; null if it makes none. */
  readonly breaks: Level | null;
}

/**
 * Everything besides the blocks in which two requests differ, what breaks the cache first. Of a request that never became
 * a prompt too little is known to compare it.
 */
export function parameterChanges({ from, to, reasons }: ChangesInput): readonly ParameterChange[] {
  if (from.salts === undefined || to.salts === undefined) return [];
  const old = parametersOf(from);
  const now = parametersOf(to);
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  const changes = [...names].flatMap((name): ParameterChange[] => {
    const [before = null, after = null] = [old[name], now[name]];
    if (isSame(before, after)) return [];
    return [{ name, old: before, now: after, breaks: breaksAt(name, { from, to, reasons }) }];
  });
  return changes.toSorted((one, other) => rank(one.breaks) - rank(other.breaks));
}

/** The first level that something besides the blocks breaks, as the cache saw it. */
export const brokenLevel = (from: TraceRequest, to: TraceRequest): Level | undefined =>
  levels.find((level) => saltsDiffer(level, { from, to }));

/** The API's invalidation table. What is not named here is no part of the prompt: `max_tokens`, `stream`, `temperature` … */
const levelByParameter: Readonly<Record<string, Level>> = {
  workspace: "tools",
  model: "tools",
  speed: "system",
  tool_choice: "messages",
  thinking: "messages",
  output_config: "messages",
  output_format: "messages",
  context_management: "messages",
  betas: "messages",
};

interface Pair {
  readonly from: TraceRequest;
  readonly to: TraceRequest;
}

interface ChangesInput extends Pair {
  /** Why the cache missed. */
  readonly reasons: readonly string[];
}

/** The table says where it may matter, the salts whether it did: a default that is spelled out changes nothing. */
function breaksAt(name: string, { reasons, ...pair }: ChangesInput): Level | null {
  // No part of any key: it matters where an entry was written without a result that is not deleted any more.
  if (name === extension.field.path) return reasons.includes("deletion_missing") ? "messages" : null;
  const level = Object.hasOwn(levelByParameter, name) ? levelByParameter[name] : undefined;
  return level !== undefined && saltsDiffer(level, pair) ? level : null;
}

const saltsDiffer = (level: Level, { from, to }: Pair): boolean => from.salts?.[level] !== to.salts?.[level];

const parametersOf = ({ workspace, model, betas, params }: TraceRequest): Readonly<Record<string, Json>> => ({
  workspace,
  model,
  betas: betas.toSorted(),
  ...params,
});

const isSame = (old: Json, now: Json): boolean => JSON.stringify(old) === JSON.stringify(now);

const rank = (level: Level | null): number => (level === null ? levels.length : levels.indexOf(level));
