import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { chatRequest } from "../../packages/palimpsest/src/model/openai/chat-request.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import type { EntryId } from "../../packages/palimpsest/src/schema/brand.ts";
import type { Block, Message } from "../../packages/palimpsest/src/schema/block.ts";
import type { JsonObject } from "../../packages/palimpsest/src/schema/json.ts";
import { Simulator } from "../../packages/simulator/src/simulator.ts";
import { cutPoints } from "../../packages/palimpsest/src/transcript/first-messages.ts";
import { mend, violations } from "../../packages/palimpsest/src/transcript/violations.ts";
import { firstUserLine, interruptedText } from "../../packages/palimpsest/src/transcript/repair.ts";
import { bytesOf, flat, foldOf, loggedOf } from "../fixture/log.ts";
import { openaiFace } from "../fixture/openai-api.ts";
import {
  append,
  call,
  opened,
  openedForTest,
  reopened,
  reply,
  result,
  say,
  testDeps,
  testSession,
  text,
  user,
} from "../fixture/session.ts";
import { anyHistory } from "../property/history.ts";
import { parametersFor } from "../property/runs.ts";
import { playing, says } from "./support/simulated.ts";

const runs = parametersFor({ quick: 150, long: 10_000 });
const fewer = parametersFor({ quick: 25, long: 1_000 });

/** A turn with parallel calls, their results in some order, some missing, some twice, some with text beside them. */
interface Turn {
  readonly calls: number;
  readonly order: "as-called" | "reversed";
  readonly missing: readonly number[];
  readonly twice: readonly number[];
  readonly withText: boolean;
}
const turn: fc.Arbitrary<Turn> = fc.record({
  calls: fc.integer({ min: 1, max: 8 }),
  order: fc.constantFrom("as-called", "reversed"),
  missing: fc.array(fc.nat({ max: 7 }), { maxLength: 2 }),
  twice: fc.array(fc.nat({ max: 7 }), { maxLength: 2 }),
  withText: fc.boolean(),
});

async function playTurn(session: Session, turn: Turn, n: number): Promise<EntryId[]> {
  const ids = Array.from({ length: turn.calls }, (_, at) => `toolu_${n}_${at}`);
  const said = [
    await say(session, user(`question ${n}`)),
    ...(await append(session, ...ids.map((id) => reply(`msg_${n}`, call(id))))),
  ];
  const answered = ids.filter((_, at) => !turn.missing.includes(at));
  for (const id of turn.order === "reversed" ? answered.toReversed() : answered) {
    said.push(await say(session, turn.withText ? mixed(id) : result(id, `output of ${id}`)));
    if (turn.twice.includes(ids.indexOf(id))) said.push(await say(session, result(id, `output of ${id} again`)));
  }
  return said;
}

const mixed = (id: string) => ({
  type: "user",
  message: {
    role: "user",
    content: [
      { type: "text", text: `about ${id}` },
      { type: "tool_result", tool_use_id: id, content: `output of ${id}` },
    ],
  },
});

/** As JSON, the way it goes over the wire. */
const requestOf = (messages: readonly Message[]): JsonObject =>
  JSON.parse(
    JSON.stringify({
      model: "claude-sonnet-5-5",
      max_tokens: 1_000,
      stream: true,
      tools: [{ name: "read", input_schema: { type: "object" } }],
      messages,
    }),
  ) as JsonObject;

const blocksOf = (messages: readonly Message[]): Block[] => flat(messages).map(([, block]) => block);
const callsIn = (messages: readonly Message[]): string[] =>
  blocksOf(messages).flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
const syntheticIn = (messages: readonly Message[]): string[] =>
  blocksOf(messages).flatMap((block) =>
    block.type === "tool_result" && block.content === interruptedText ? [block.tool_use_id] : [],
  );

describe("6. Pairing", () => {
  it("generated histories (1–8 parallel calls, results out of order, missing, duplicated, mixed with text) give valid requests", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const session = await opened(testDeps());
        for (const [n, one] of turns.entries()) {
          await playTurn(session, one, n);
          expect(violations(session.view().messages, { end: "any" })).toEqual([]);
        }
        await session.settle();
        expect(session.view().sendable).toBe(true);
        expect(violations(session.view().messages)).toEqual([]);
      }),
      runs,
    );
  });

  it("what the fold gives is taken by the simulator, in its own form and in that of OpenAI", async () => {
    const simulator = new Simulator({ responder: playing(says("Seen.")) });
    const { ask } = openaiFace({ responder: playing(says("Seen.")) });
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
        const session = await opened(testDeps());
        for (const [n, one] of turns.entries()) await playTurn(session, one, n);
        await session.settle();
        const request = requestOf(session.view().messages);
        const answer = await simulator.messages({
          body: request,
          headers: new Headers({ "x-api-key": "any", "anthropic-version": "2023-06-01" }),
        });
        expect("status" in answer ? [answer.status, answer.body] : answer.kind).toEqual("stream");
        const chat = {
          ...chatRequest(request, { outputLimit: "max_completion_tokens" }),
          model: "gpt-4o",
          stream: false,
          stream_options: null,
        };
        const told = await ask("chatCompletions", chat);
        expect([told.status, told.body["error"]]).toEqual([200, undefined]);
      }),
      fewer,
    );
  });

  it("for every cut index the validators pass on both sides of the cut", () => {
    fc.assert(
      fc.property(anyHistory, ({ lines }) => {
        const { messages } = foldOf(loggedOf(lines)).view();
        for (const cut of cutPoints(messages)) {
          expect(violations(messages.slice(0, cut), { end: "any" })).toEqual([]);
          const behind = messages.slice(cut);
          const opening: Message[] =
            behind[0]?.role === "user" ? [] : [{ role: "user", content: [text("what came before")] }];
          expect(violations([...opening, ...behind], { end: "any" })).toEqual([]);
        }
      }),
      runs,
    );
  });

  it("a compaction that keeps from any entry to any later one leaves a valid request", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 2 }), async (turns) => {
        const said = await entriesOf(turns);
        for (const head of said.keys()) {
          const deps = testDeps();
          const session = await opened(deps);
          const entries = await playAll(session, turns);
          await compact(deps, session, { head: entries[head], tail: entries.at(-1) });
          expect(violations(session.view().messages, { end: "any" })).toEqual([]);
        }
      }),
      fewer,
    );
  });

  it("three nested compactions, each cut at any entry, leave valid requests, live and after a reopening", async () => {
    const cuts = fc.record({
      turns: fc.array(turn, { minLength: 3, maxLength: 3 }),
      heads: fc.array(fc.nat({ max: 60 }), { minLength: 3, maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(cuts, async ({ turns, heads }) => {
        const deps = testDeps({ tailBytes: 500 });
        let session = await opened(deps);
        const entries: EntryId[] = [];
        for (const [n, one] of turns.entries()) {
          entries.push(...(await playTurn(session, one, n)));
          await compact(deps, session, { head: entries[(heads[n] ?? 0) % entries.length], tail: entries.at(-1) });
          const live = session.view().messages;
          expect(violations(live, { end: "any" })).toEqual([]);
          session = await reopened(deps, session);
          expect(session.view().messages).toEqual(live);
        }
      }),
      runs,
    );
  });

  it("a boundary between call and result: a kept call gets its real result when that comes", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await say(session, user("go"));
    const [asked] = await append(session, reply("msg_1", call("toolu_1")));
    await compact(deps, session, { head: asked, tail: asked });
    await say(session, result("toolu_1", "the real output"));
    expect(session.view().sendable).toBe(true);
    expect(violations(session.view().messages)).toEqual([]);
    expect(JSON.stringify(session.view().messages)).toContain("the real output");
    expect(syntheticIn(session.view().messages)).toEqual([]);
  });

  it("a boundary between call and result: the result of a covered call is left out, and the drop is noted", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await say(session, user("go"));
    await say(session, reply("msg_1", call("toolu_1")));
    await compact(deps, session, {});
    await say(session, result("toolu_1", "too late"));
    expect(violations(session.view().messages)).toEqual([]);
    expect(session.view().repairs).toContainEqual(
      expect.objectContaining({ kind: "orphan-result", toolUse: "toolu_1" }),
    );
  });

  it("no real result is replaced by a synthetic one while its call is kept", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 3 }), fc.nat({ max: 60 }), async (turns, head) => {
        const deps = testDeps();
        const session = await opened(deps);
        const entries = await playAll(session, turns);
        await compact(deps, session, { head: entries[head % entries.length], tail: entries.at(-1) });
        const { messages } = session.view();
        const answered = new Set(turns.flatMap((one, n) => idsAnswered(one, n)));
        for (const id of callsIn(messages)) if (answered.has(id)) expect(syntheticIn(messages)).not.toContain(id);
      }),
      runs,
    );
  });

  it("a repair that a request was sent with stays, and the real result is said behind it", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("msg_1", call("toolu_1")));
    await session.settle();
    const sent = flat(session.view().messages).map((block) => JSON.stringify(block));
    await append(session, result("toolu_1", "the real output"));
    const now = flat(session.view().messages).map((block) => JSON.stringify(block));
    expect(now.slice(0, sent.length)).toEqual(sent);
    expect(now.slice(sent.length).join()).toContain("the real output");
    expect(violations(session.view().messages)).toEqual([]);
  });

  it("repair always succeeds and is idempotent", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
        const once = mend(messages).messages;
        expect(violations(once, { end: "any" })).toEqual([]);
        expect(mend(once).messages).toEqual(once);
        expect(mend(once).repairs.filter(({ kind }) => kind !== "synthetic-result")).toEqual([]);
      }),
      runs,
    );
  });

  it("settling twice appends one repair", async () => {
    const session = await openedForTest(testDeps());
    await append(session, user("go"), reply("msg_1", call("toolu_1"), call("toolu_2")));
    const first = await session.settle();
    const second = await session.settle();
    expect(first.kind === "appended" && first.entries.length).toBe(1);
    expect(second.kind === "appended" && second.entries.length).toBe(0);
  });

  it("a broken log heals on load: calls without results, results without calls, a reply before any question", async () => {
    const lines = [
      {
        type: "assistant",
        uuid: "1",
        parentUuid: null,
        message: { id: "m1", content: [{ type: "tool_use", id: "toolu_1", name: "Read", input: {} }] },
      },
      {
        type: "user",
        uuid: "2",
        parentUuid: "1",
        message: { content: [{ type: "tool_result", tool_use_id: "toolu_9", content: "of nothing" }] },
      },
      { type: "user", uuid: "3", parentUuid: "2", message: { content: "and now?" } },
    ].map((raw) => JSON.stringify(raw));
    const deps = testDeps({ seed: new Map([[testSession, bytesOf(lines)]]) });
    const session = await openedForTest(deps, "resume");
    const { messages, repairs } = session.view();
    expect(violations(messages)).toEqual([]);
    expect(messages[0]?.content).toEqual([{ type: "text", text: firstUserLine }]);
    expect(repairs.map(({ kind }) => kind).toSorted()).toEqual([
      "first-user-line",
      "orphan-result",
      "synthetic-result",
    ]);
    await session.settle();
    expect(session.view().sendable).toBe(true);
  });
});

async function playAll(session: Session, turns: readonly Turn[]): Promise<EntryId[]> {
  const entries: EntryId[] = [];
  for (const [n, one] of turns.entries()) entries.push(...(await playTurn(session, one, n)));
  return entries;
}

async function entriesOf(turns: readonly Turn[]): Promise<EntryId[]> {
  return playAll(await opened(testDeps()), turns);
}

function idsAnswered(turn: Turn, n: number): string[] {
  return Array.from({ length: turn.calls }, (_, at) => at).flatMap((at) =>
    turn.missing.includes(at) ? [] : [`toolu_${n}_${at}`],
  );
}

async function compact(
  deps: SessionDeps,
  session: Session,
  kept: { readonly head?: EntryId | undefined; readonly tail?: EntryId | undefined },
): Promise<void> {
  const { head, tail } = kept;
  const edited = await appendBoundary(deps, session, {
    summary: "what happened",
    trigger: "auto",
    ...(head === undefined || tail === undefined ? {} : { kept: { head, tail } }),
  });
  if (edited.kind === "failed") throw new Error(edited.message);
}

const id = fc.constantFrom("a", "b", "c", "d:1", "d|1");
const words = fc.constantFrom("x", "y", "", "  ");
const anyBlock = fc.oneof(
  fc.record({ type: fc.constant("text"), text: words }),
  fc.record({ type: fc.constant("tool_use"), id, name: fc.constant("Read"), input: fc.constant({}) }),
  fc.record({ type: fc.constant("tool_result"), tool_use_id: id, content: words }),
  fc.record({ type: fc.constant("thinking"), thinking: words, signature: words }),
  fc.record({ type: fc.constant("redacted_thinking"), data: words }),
  fc.record({ type: fc.constantFrom("image", "server_tool_use") }),
  fc.record({ type: fc.constant("unknown"), was: fc.constant(1) }),
) as fc.Arbitrary<Block>;
const anyMessage: fc.Arbitrary<Message> = fc.record({
  role: fc.constantFrom("user", "assistant"),
  content: fc.array(anyBlock, { maxLength: 5 }),
});
