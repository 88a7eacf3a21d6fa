import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import type { Recording } from "../packages/lab/src/recording/recording.ts";
import { sum } from "../packages/lab/src/statistics.ts";
import { deferAfterConversations } from "../packages/gateway/src/conversation/limits.ts";
import { isObject, listField, tryParseJson } from "../packages/palimpsest/src/schema/json.ts";
import { wireTool } from "../packages/palimpsest/src/schema/wire/wire-tool.ts";
import { countToolTokens } from "../packages/simulator/src/prompt/count-tokens.ts";
import { recordingsBelow } from "./need-table.ts";

/**
 * What the definitions of tools cost in recorded sessions, and what deferring those that are never called would have saved
 * (docs/gateway-tools.md). Recordings have no definitions: they are taken from the body of a request of the same client.
 * `node scripts/tool-deferral.ts <folder> <request.json>` prints it; nothing is written.
 */
export interface ToolSession {
  readonly user: string;
  readonly at: number;
  readonly headerTokens: number;
  readonly rounds: readonly ToolRound[];
}

export interface ToolRound {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly called: readonly string[];
}

/** In prices of an input token: those of nearly all models with a cache of five minutes. */
const price = { read: 0.1, write: 1.25, output: 5 };

/** A search is a short call, and the request after it reads the conversation once more. */
const searchOutputTokens = 60;
/** The definition of the tool that finds others, without the names. */
const finderTokens = 110;

export interface DeferralRow {
  readonly bill: number;
  readonly header: number;
  readonly tools: number;
  /** Of the tools that the session never calls. */
  readonly uncalled: number;
  /** By the gateway's rule: can be negative. */
  readonly saved: number;
  readonly deferredTools: number;
  /** Deferred tools that the session called nevertheless. */
  readonly searches: number;
}

/** `tokensByTool`: sizes of definitions. `deferred`: names. */
export function costOfTools(
  session: ToolSession,
  {
    tokensByTool,
    deferred,
  }: { readonly tokensByTool: ReadonlyMap<string, number>; readonly deferred: ReadonlySet<string> },
): DeferralRow {
  const called = new Set(session.rounds.flatMap((round) => round.called));
  const names = [...tokensByTool.keys()];
  const tokensOf = (chosen: readonly string[]): number => sum(chosen.map((name) => tokensByTool.get(name) ?? 0));
  const [all, uncalled] = [tokensOf(names), tokensOf(names.filter((name) => !called.has(name)))];
  const loaded = new Set<string>();
  const row = { bill: 0, header: 0, tools: 0, uncalled: 0, saved: 0, searches: 0 };
  for (const { input, cacheRead, cacheWrite, output, called: calls } of session.rounds) {
    const rate = cacheRead >= session.headerTokens / 2 ? price.read : price.write;
    row.bill += input + cacheRead * price.read + cacheWrite * price.write + output * price.output;
    row.header += session.headerTokens * rate;
    row.tools += all * rate;
    row.uncalled += uncalled * rate;
    const away = [...deferred].filter((name) => !loaded.has(name));
    row.saved += (tokensOf(away) - (deferred.size > 0 ? finderTokens : 0)) * rate;
    for (const name of calls) {
      if (!deferred.has(name) || loaded.has(name)) continue;
      loaded.add(name);
      row.searches += 1;
      const context = input + cacheRead + cacheWrite;
      row.saved -= context * price.read + searchOutputTokens * price.output + tokensOf([name]) * price.write;
    }
  }
  return { ...row, deferredTools: deferred.size };
}

/** Tools that at least so many earlier sessions of the user began with, and none of them called. */
export function chooseDeferred(earlier: readonly ToolSession[], names: readonly string[]): ReadonlySet<string> {
  if (earlier.length < deferAfterConversations) return new Set();
  const called = new Set(earlier.flatMap(({ rounds }) => rounds.flatMap((round) => round.called)));
  return new Set(names.filter((name) => !called.has(name)));
}

/** Names that tools had in earlier versions of Claude Code. */
const newNames: Readonly<Record<string, string>> = { Task: "Agent" };

function readSession({ file, headerTokens, rounds }: Recording): ToolSession {
  // Files are named after their repository: its sessions are taken for those of one user.
  const [, user = basename(file)] = /^(.*?)-[0-9a-f]{2}-/.exec(basename(file)) ?? [];
  return {
    user,
    at: rounds[0]?.at ?? 0,
    headerTokens,
    rounds: rounds.flatMap(({ usage, reply }) => {
      if (usage === undefined) return [];
      const blocks = reply.flatMap((entry) => entry.blocks);
      const called = blocks.flatMap((block) => (block.type === "tool_use" ? [newNames[block.name] ?? block.name] : []));
      return [{ ...usage, called }];
    }),
  };
}

function readTools(path: string): ReadonlyMap<string, number> {
  const request = tryParseJson(readFileSync(path, "utf8"));
  const inner = isObject(request) && isObject(request["body"]) ? request["body"] : request;
  const tools = isObject(inner) ? listField(inner, "tools") : [];
  return new Map(
    tools.flatMap((tool) => {
      const parsed = wireTool.safeParse(tool);
      if (!parsed.success || parsed.data.defer_loading === true) return [];
      return [[parsed.data.name ?? "", countToolTokens(parsed.data)] as const];
    }),
  );
}

const percent = (part: number, whole: number): string => `${((100 * part) / whole).toFixed(1)} %`;

async function main(folder: string, request: string): Promise<void> {
  const tokensByTool = readTools(request);
  const names = [...tokensByTool.keys()];
  const sessions: ToolSession[] = [];
  for await (const recording of recordingsBelow(resolve(folder))) sessions.push(readSession(recording));
  const counted = sessions.filter(({ rounds }) => rounds.length > 0).toSorted((one, other) => one.at - other.at);
  const rows = counted.map((session, at) => {
    const earlier = counted.slice(0, at).filter(({ user }) => user === session.user);
    return costOfTools(session, { tokensByTool, deferred: chooseDeferred(earlier, names) });
  });
  const total = (pick: (row: DeferralRow) => number, chosen = rows): number => sum(chosen.map(pick));
  const bill = total((row) => row.bill);
  const ruled = rows.filter(({ deferredTools }) => deferredTools > 0);
  const never = names.filter((name) =>
    counted.every(({ rounds }) => rounds.every(({ called }) => !called.includes(name))),
  );
  console.log(`${counted.length} sessions, ${sum(counted.map(({ rounds }) => rounds.length))} requests`);
  console.log(
    `${names.length} tools with ${sum([...tokensByTool.values()])} tokens; never called: ${never.join(", ")}`,
  );
  console.log(
    `header of the bill: ${percent(
      total((row) => row.header),
      bill,
    )}`,
  );
  console.log(
    `tools of the bill: ${percent(
      total((row) => row.tools),
      bill,
    )}; of the header: ${percent(
      total((row) => row.tools),
      total((row) => row.header),
    )}`,
  );
  console.log(
    `tools that the session never calls, of the bill: ${percent(
      total((row) => row.uncalled),
      bill,
    )}`,
  );
  const called = counted.map(
    ({ rounds }) => names.filter((name) => rounds.some((round) => round.called.includes(name))).length,
  );
  console.log(
    `tools called in a session, median: ${called.toSorted((one, other) => one - other)[called.length >> 1] ?? 0}`,
  );
  const ruledBill = total((row) => row.bill, ruled);
  console.log(
    `by the rule (after ${deferAfterConversations} sessions of the user): ${ruled.length} sessions, ${percent(
      total((row) => row.saved, ruled),
      ruledBill,
    )} of their bill saved, ${total((row) => row.searches, ruled)} searches, worst session ${percent(Math.min(...ruled.map(({ saved, bill: paid }) => saved / paid)), 1)}`,
  );
}

if (import.meta.main) {
  const [, , folder, request] = process.argv;
  if (folder === undefined || request === undefined)
    console.error("Name the folder of recorded sessions and the file of a request.");
  else await main(folder, request);
}
