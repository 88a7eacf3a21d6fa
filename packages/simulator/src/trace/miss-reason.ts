import { extension } from "../extension.ts";
import { lookBackMax } from "palimpsest/internal/cache/limits";
import type { Lifetime } from "palimpsest/internal/cache/lifetime";
import type { Level } from "palimpsest/internal/cache/prompt";
import type { TraceBlock, TraceRequest } from "./read-trace.ts";
import { pathLevel, levels } from "./trace-line.ts";
import type { Json } from "palimpsest/internal/schema/json";
import { messagesRequest } from "palimpsest/internal/schema/wire/messages-request";
import { messageParameters } from "../prompt/prompt-parameters.ts";

/**
 * Why a request did not read what an earlier one left in the cache. The first four are the API's own words.
 * `parameters_changed`: all that was cached is in the prompt again, but a parameter makes it another entry. `too_early`: the reply that wrote it had not begun; `lost`: it should have been there; `no_reply`: one of the two was
 * not answered.
 */
export type MissReason =
  | "model_changed"
  | "tools_changed"
  | "system_changed"
  | "messages_changed"
  | "parameters_changed"
  | "workspace_changed"
  | "not_marked"
  | "below_minimum"
  | "look_back_too_far"
  | "expired"
  | "too_early"
  | typeof extension.trace.missReason
  | "lost"
  | "no_reply"
  | "hit";

interface MissInput {
  readonly from: TraceRequest;
  readonly to: TraceRequest;
  /** Whether all of `to` was read from what `from` left. */
  readonly isAllRead: boolean;
}

/** A change of what was sent comes first, then what kept even the unchanged part from being read. */
export function missReasons({ from, to, isAllRead }: MissInput): readonly MissReason[] {
  if (from.reply?.usage === undefined || to.reply?.usage === undefined) return ["no_reply"];
  const last = listEntries(from).at(-1);
  if (last === undefined) return [from.breakpoints.length === 0 ? "not_marked" : "below_minimum"];
  if (isAllRead) return ["hit"];
  const usable = usableEntry(from, to);
  const change = usable?.at === last.at ? [] : [changeReason(last, { from, to })];
  const kept = usable === undefined ? [] : remainingReasons(usable, { from, to });
  const reasons = [...change, ...kept];
  return reasons.length === 0 ? ["hit"] : reasons;
}

/** The longest entry that `from` left and that is a prefix of `to` for the cache. */
export function usableEntry(from: TraceRequest, to: TraceRequest): CacheEntry | undefined {
  if (from.workspace !== to.workspace || from.model !== to.model) return undefined;
  const shared = to.blocks.sharedWith(from.blocks);
  const broken = brokenLevel(from, to);
  return listEntries(from).findLast(({ at }) => at < shared && isBefore(from.blocks.at(at)?.level, broken));
}

interface CacheEntry {
  /** Position of its last block. */
  readonly at: number;
  readonly lifetime: Lifetime;
}

/** What a request left in the cache: what it wrote and what it found, shortest first. */
export function listEntries({ cache, breakpoints }: TraceRequest): readonly CacheEntry[] {
  const lifetimeByPosition = new Map<number, Lifetime>();
  for (const { at, found, outcome } of cache?.breakpoints ?? []) {
    if (found !== null) lifetimeByPosition.set(found.at, found.lifetime);
    if (outcome === "written") lifetimeByPosition.set(at, breakpoints.find((mark) => mark.at === at)?.lifetime ?? "5m");
  }
  return [...lifetimeByPosition]
    .map(([at, lifetime]) => ({ at, lifetime }))
    .toSorted((one, other) => one.at - other.at);
}

function changeReason(offered: CacheEntry, { from, to }: RequestPair): MissReason {
  if (from.workspace !== to.workspace) return "workspace_changed";
  if (from.model !== to.model) return "model_changed";
  const shared = to.blocks.sharedWith(from.blocks);
  const broken = brokenLevel(from, to);
  const changed = new Set([blockLevel(from.blocks.at(shared)), blockLevel(to.blocks.at(shared)), broken]);
  // The API counts the speed as part of the model.
  if (broken === "system" && JSON.stringify(from.params["speed"]) !== JSON.stringify(to.params["speed"])) {
    if (!changed.has("tools")) return "model_changed";
  }
  if (shared > offered.at && changedParameters({ from, to }).length > 0) return "parameters_changed";
  const level = levels.find((one) => changed.has(one)) ?? "messages";
  return `${level}_changed`;
}

/** Some tools belong to the system level for the cache; for the client they are still tools. */
const blockLevel = (block: TraceBlock | undefined): Level | undefined =>
  block === undefined ? undefined : pathLevel(block.path);

function remainingReasons(entry: CacheEntry, { from, to }: Pick<MissInput, "from" | "to">): readonly MissReason[] {
  if ((to.cache?.hit ?? -1) >= entry.at) return [];
  if (to.breakpoints.length === 0) return ["not_marked"];
  if (to.faults.includes("cache-lost")) return ["lost"];
  if (!to.breakpoints.some(({ at }) => at >= entry.at && at - entry.at < lookBackMax)) return ["look_back_too_far"];
  const elapsedMillis = Date.parse(to.at) - Date.parse(from.at);
  if (elapsedMillis >= millisByLifetime[entry.lifetime]) return ["expired"];
  const { beganAt } = from.reply ?? {};
  if (beganAt !== undefined && Date.parse(to.at) < Date.parse(beganAt)) return ["too_early"];
  if (extension.trace.releases(from.reply, to.params)) return [extension.trace.missReason];
  return ["lost"];
}

const millisByLifetime: Readonly<Record<Lifetime, number>> = { "5m": 5 * 60_000, "1h": 60 * 60_000 };

const isBefore = (level: Level | undefined, broken: Level | undefined): boolean =>
  broken === undefined || (level !== undefined && levels.indexOf(level) < levels.indexOf(broken));

export interface ParameterChange {
  readonly name: string;
  /** Null if it was absent. */
  readonly old: Json;
  readonly now: Json;
  /** The level from which on it changes the cache entry; null if it does not. */
  readonly breaks: Level | null;
}

/**
 * All differences of two requests besides the blocks; those that break the cache come first. Of a request that never
 * became a prompt too little is known to compare it.
 */
export function parameterChanges({ from, to, reasons }: ChangesInput): readonly ParameterChange[] {
  if (from.salts === undefined || to.salts === undefined) return [];
  const old = listParameters(from);
  const now = listParameters(to);
  const names = new Set([...Object.keys(old), ...Object.keys(now)]);
  const changes = [...names].flatMap((name): ParameterChange[] => {
    const [before = null, after = null] = [old[name], now[name]];
    if (isSame(before, after)) return [];
    return [{ name, old: before, now: after, breaks: breaksAt(name, { from, to, reasons }) }];
  });
  return changes.toSorted((one, other) => rank(one.breaks) - rank(other.breaks));
}

/** The first level that something besides the blocks breaks, as the cache saw it. */
const brokenLevel = (from: TraceRequest, to: TraceRequest): Level | undefined =>
  levels.find((level) => saltsDiffer(level, { from, to }));

/**
 * The API's invalidation table. Parameters that are not named here are not part of the prompt: `max_tokens`, `stream`,
 * `temperature` …
 */
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

interface RequestPair {
  readonly from: TraceRequest;
  readonly to: TraceRequest;
}

interface ChangesInput extends RequestPair {
  /** Why the cache missed. */
  readonly reasons: readonly string[];
}

/**
 * The table says where a parameter may matter, the salts whether it did: a default that is spelled out changes nothing.
 */
function breaksAt(name: string, { reasons, ...pair }: ChangesInput): Level | null {
  // Not part of any key: it matters only if an entry was written without a result that is no longer left out.
  if (name === extension.field.path) return reasons.includes(extension.trace.missReason) ? "messages" : null;
  const level = Object.hasOwn(levelByParameter, name) ? levelByParameter[name] : undefined;
  if (level === undefined || !saltsDiffer(level, pair)) return null;
  // The salt of a level is one for all of its parameters.
  return level !== "messages" || changedParameters(pair).includes(name) ? level : null;
}

/** Parameters whose own part of the cache key differs, from the messages on. */
function changedParameters({ from, to }: RequestPair): readonly string[] {
  const [old, now] = [cachedParameters(from), cachedParameters(to)];
  return Object.keys(now).filter((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]));
}

const cachedFields = messagesRequest
  .pick({ tool_choice: true, thinking: true, output_config: true, output_format: true, context_management: true })
  .partial()
  .strip();

/** What another version wrote and this one cannot read is compared as it is. */
function cachedParameters({ params, betas }: TraceRequest): Readonly<Record<string, unknown>> {
  const read = cachedFields.safeParse(params);
  return read.success ? messageParameters(read.data, betas) : { ...params, betas };
}

const saltsDiffer = (level: Level, { from, to }: RequestPair): boolean => from.salts?.[level] !== to.salts?.[level];

const listParameters = ({ workspace, model, betas, params }: TraceRequest): Readonly<Record<string, Json>> => ({
  workspace,
  model,
  betas: betas.toSorted(),
  ...params,
});

const isSame = (old: Json, now: Json): boolean => JSON.stringify(old) === JSON.stringify(now);

const rank = (level: Level | null): number => (level === null ? levels.length : levels.indexOf(level));
