import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import type { Agent } from "../../../packages/cli/src/agent/agent.ts";
import { openWorkspace } from "../../../packages/cli/src/host/workspace.ts";
import { expand } from "../../../packages/palimpsest/src/session/expand.ts";
import type { SessionId } from "../../../packages/palimpsest/src/schema/brand.ts";
import type { LoopEvent } from "../../../packages/palimpsest/src/schema/loop-event.ts";
import {
  messageBlocks as wireBlocks,
  collectToolCalls,
} from "../../../packages/simulator/src/responder/request-text.ts";
import { violations } from "../../../packages/palimpsest/src/transcript/violations.ts";
import { type CompactionWorld, requestOf } from "./compaction-world.ts";
import { asksForSummary } from "./summary-answers.ts";
import { blocksOf, refused, type SeenRequest } from "./whole-agent.ts";

type EventOf<Kind extends LoopEvent["kind"]> = Extract<LoopEvent, { kind: Kind }>;

export const eventsOf = <Kind extends LoopEvent["kind"]>(
  events: readonly LoopEvent[],
  kind: Kind,
): readonly EventOf<Kind>[] => events.filter((event): event is EventOf<Kind> => event.kind === kind);

export const compactedIn = (events: readonly LoopEvent[]): readonly EventOf<"compacted">[] =>
  eventsOf(events, "compacted");

export const endOf = (events: readonly LoopEvent[]): string | undefined => eventsOf(events, "turn-end").at(-1)?.reason;

/** The newest request that was no request for a summary. */
export function lastRequest(world: CompactionWorld): SeenRequest {
  const last = world.conversation().at(-1);
  if (last === undefined) throw new Error("nothing was asked");
  return last;
}

export const summaryRequests = (world: CompactionWorld): readonly SeenRequest[] =>
  world.seen.filter(({ body }) => asksForSummary(requestOf(body)));

/** How often these words stand in what is sent. */
export const times = ({ body }: Pick<SeenRequest, "body">, words: string): number =>
  JSON.stringify(body).split(JSON.stringify(words).slice(1, -1)).length - 1;

const userTexts = ({ body }: SeenRequest): readonly string[] =>
  requestOf(body)
    .messages.filter(({ role }) => role === "user")
    .flatMap((message) => wireBlocks(message).flatMap((block) => (block.type === "text" ? [block.text] : [])));

/** What stands in the user's turns outside of any tag: what a model takes for the user's words. */
export const untagged = (request: SeenRequest): readonly string[] =>
  userTexts(request)
    .map((text) => text.replaceAll(ledgerElement, "").replaceAll(reminderElement, "").trim())
    .filter((text) => text !== "");

const ledgerElement = /<(user-messages(?:-\d+)?)>\n([^]*?)\n<\/\1>/g;
const reminderElement = /<system-reminder>[^]*?<\/system-reminder>/g;
const quotedMessage = /<(user-message(?:-\d+)?) id="[^"]*"(?: open="(yes)")?>\n([^]*?)\n<\/\1>/g;
const leftOut = /\n?\[… \d+ characters left out …\]\n?/;

interface Quoted {
  readonly text: string;
  readonly state: "open" | "history";
}

const quotesIn = (text: string): readonly Quoted[] =>
  [...text.matchAll(quotedMessage)].map(([, , open, words = ""]) => ({
    text: words,
    state: open === "yes" ? "open" : "history",
  }));

/** The ledger of the user's messages, in order. */
export const ledgerOf = (request: SeenRequest): readonly Quoted[] =>
  userTexts(request).flatMap((text) => [...text.matchAll(ledgerElement)].flatMap(([element]) => quotesIn(element)));

/** Messages that the ledger has no room for: it names them by their ids, behind the first message. */
export const countLeftOut = (request: SeenRequest): number =>
  userTexts(request)
    .flatMap((text) => [...text.matchAll(/^\[(\d+) messages? not shown: /gm)])
    .reduce((sum, [, count]) => sum + Number(count), 0);

/** All that the user said, in order: as the ledger has it, and then as it was typed. */
export const saidIn = (request: SeenRequest): readonly string[] => [
  ...ledgerOf(request).map(({ text }) => text),
  ...untagged(request),
];

/** In prose: the user and a word of saying, or an owner's name, and then words in marks. Longer than a name of something. */
const proseQuote =
  /\b(?:user|human|person|they)\b[^\n"“”«»]{0,60}?(?:\b(?:said|says|asked|asks|wrote|wants?|told|requested|demanded)\b|:)[^\n"“”«»]{0,40}["“«]([^"“”«»\n]{8,})["”»]/gi;

const proseQuotesIn = (text: string): readonly string[] =>
  [...text.replaceAll(ledgerElement, "").matchAll(proseQuote)].map(([, words = ""]) => words);

/** Every string that stands as the user's is the user's, and what the user said stands untagged only where it was said. */
export function expectOnlyTrueWords(request: SeenRequest, said: readonly string[]): void {
  for (const { text } of userTexts(request).flatMap(quotesIn))
    for (const part of text.split(leftOut)) expect(said.some((message) => message.includes(part.trim()))).toBe(true);
  for (const text of userTexts(request)
    .filter((words) => !said.includes(words))
    .flatMap(proseQuotesIn))
    expect(said.filter((message) => message.includes(text)).length, text).toBeGreaterThan(0);
  for (const text of untagged(request)) expect(said).toContain(text);
}

/** No request was refused, and the newest view is one that a server takes. */
export function expectAccepted(world: CompactionWorld, agent: Agent): void {
  expect(refused(world.seen)).toEqual([]);
  expect(violations(agent.session.view().messages, { end: "any" })).toEqual([]);
}

/** Blocks at the beginning that both have, as a share of the first one's characters. */
export function sharedShare(before: SeenRequest, now: SeenRequest): number {
  const [one, other] = [blocksOf(before), blocksOf(now)];
  const differs = one.findIndex((block, at) => block !== other[at]);
  const shared = differs === -1 ? one : one.slice(0, differs);
  return charsOf(shared) / charsOf(one);
}

const charsOf = (blocks: readonly string[]): number => blocks.reduce((sum, { length }) => sum + length, 0);

/** Results as the model saw them first, by their calls' ids. */
export function firstShown(seen: readonly SeenRequest[]): ReadonlyMap<string, string> {
  const shown = new Map<string, string>();
  for (const { body } of seen)
    for (const { id, result } of collectToolCalls(requestOf(body)))
      if (result !== undefined && !shown.has(id)) shown.set(id, result.text);
  return shown;
}

export interface Recoverable {
  readonly id: SessionId;
  /** Every so many is looked up; all where it is absent. */
  readonly every?: number;
  readonly results?: ReadonlyMap<string, string>;
}

/** Each entry of the log by its id, and each result as it was shown first, byte for byte. Gives how many. */
export async function expectRecoverable(
  world: CompactionWorld,
  { id, every = 1, results }: Recoverable,
): Promise<number> {
  const found = await openWorkspace({ env: world.env, cwd: world.work }).resolveLog(id);
  if (found.kind !== "ours") throw new Error(found.kind);
  const lines = (await readFile(found.path, "utf8")).split("\n").filter((line) => line !== "");
  const source = await found.deps.transcripts.openForReading(id);
  if (source === undefined) throw new Error("the log is gone");
  let looked = 0;
  for (const [at, line] of lines.entries()) {
    const { uuid } = JSON.parse(line) as { uuid?: string };
    if (uuid === undefined || at % every !== 0) continue;
    const expanded = await expand(found.deps, source, uuid);
    expect(expanded.kind).toBe("entry");
    expect("bytes" in expanded ? new TextDecoder().decode(expanded.bytes).trimEnd() : "").toBe(line);
    looked += 1;
  }
  const asked = [...(results ?? firstShown(world.seen))].filter((_, at) => at % every === 0);
  for (const [toolUse, text] of asked) {
    const expanded = await expand(found.deps, source, toolUse);
    expect("bytes" in expanded ? new TextDecoder().decode(expanded.bytes) : expanded.kind).toBe(text);
  }
  await source.close();
  return looked + asked.length;
}
