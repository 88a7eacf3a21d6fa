import { describe, expect, it } from "vitest";
import { replyCostDraft, compactionCostDraft } from "../../packages/palimpsest/src/context/past-costs.ts";
import { appendBoundary } from "../../packages/palimpsest/src/session/append-boundary.ts";
import { SessionFactBook } from "../../packages/palimpsest/src/context/compact/session-fact-book.ts";
import type { Session, SessionDeps } from "../../packages/palimpsest/src/session/session.ts";
import { undo } from "../../packages/palimpsest/src/session/undo.ts";
import { blobId, messageId, tokens, toolUseId } from "../../packages/palimpsest/src/schema/brand.ts";
import { replyDraft } from "../../packages/palimpsest/src/transcript/draft.ts";
import {
  append,
  call,
  cleared,
  logBytes,
  offloaded,
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

async function start(): Promise<{ deps: SessionDeps; session: Session }> {
  const deps = testDeps();
  return { deps, session: await openedForTest(deps) };
}

async function lines(deps: SessionDeps): Promise<string[]> {
  return new TextDecoder()
    .decode(await logBytes(deps))
    .trimEnd()
    .split("\n");
}

const breaker = { type: "setting", name: "compaction.breaker" } as const;

const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const frame = (parent: number | null): string =>
  `{"parentUuid":${parent === null ? "null" : `"${id(parent)}"`},"isSidechain":false,"userType":"external","sessionId":"test-session","cwd":"/project","version":"0.0.0",`;
const end = (uuid: number, second: number): string =>
  `"uuid":"${id(uuid)}","timestamp":"2026-01-01T00:00:${String(second).padStart(2, "0")}.000Z"`;

/** Logs that are on people's disks: what we wrote once we must read for ever. */
describe("the form on disk", () => {
  it("a user's message, a reply and a result", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", text("looking"), call("toolu_1")));
    await append(session, result("toolu_1", "out"));
    const seconds = (await lines(deps)).map((line) => Number(/00:00:(\d\d)/.exec(line)?.[1]));
    expect(await lines(deps)).toEqual([
      `${frame(null)}"type":"user","message":{"role":"user","content":"hi"},${end(1, seconds[0] ?? 0)}}`,
      `${frame(1)}"type":"assistant","message":{"type":"message","role":"assistant","id":"msg_1","model":"test-model","content":[{"type":"text","text":"looking"},{"type":"tool_use","id":"toolu_1","name":"Read","input":{"path":"toolu_1"}}]},${end(2, seconds[1] ?? 0)}}`,
      `${frame(2)}"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"out"}]},${end(3, seconds[2] ?? 0)}}`,
    ]);
  });

  it("a repair", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", call("toolu_1")));
    await session.settle();
    expect((await lines(deps)).at(-1)).toContain(
      '"type":"repair","results":[{"toolUse":"toolu_1","shown":"[The call was interrupted: no result was recorded.]"}],"uuid"',
    );
  });

  it("an edit has its receipt's totals behind it", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", call("toolu_1")), result("toolu_1", "out put out put"));
    await session.edit({ drafts: [cleared("toolu_1")], cause: "asked", nature: "reduced" });
    const line = (await lines(deps)).at(-1) ?? "";
    expect(line).toContain(
      '"type":"clear","results":[{"toolUse":"toolu_1","shown":"[cleared toolu_1]"}],"attachments":[],"cause":"asked","uuid"',
    );
    expect(line.slice(line.indexOf('"receipt"'))).toBe(
      '"receipt":{"cause":"asked","tokensBefore":15,"tokensAfter":16,"tokensBehind":5,"price":{"writeRate":1.25,"readRate":0.1,"now":5.85,"perRound":-0.1},"entries":{"kept":2,"stubbed":1}}}',
    );
  });

  it("a receipt has its reason and the figures behind it, if there are any", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", call("toolu_1")), result("toolu_1", "out put out put"));
    const reason = { because: "it pays", figures: { rent: 12, neededRent: 9 } };
    await session.edit({ drafts: [cleared("toolu_1")], cause: "clear.price", nature: "reduced", ...reason });
    expect((await lines(deps)).at(-1)).toContain(
      '"receipt":{"cause":"clear.price","because":"it pays","figures":{"rent":12,"neededRent":9},"tokensBefore":15,',
    );
  });

  it("an offload", async () => {
    const { deps, session } = await start();
    await append(
      session,
      user("hi"),
      reply("msg_1", call("toolu_1")),
      ...(await offloaded(deps, "toolu_1", "the whole text")),
    );
    expect((await lines(deps)).at(-1)).toMatch(
      /"blob":"[0-9a-f]{64}","media":"text","bytes":14,"shown":"\[14 bytes kept as toolu_1\] the whole "\}\]/,
    );
  });

  it("an undo and a branch", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", call("toolu_1")), result("toolu_1", "out"));
    await session.edit({ drafts: [cleared("toolu_1")], cause: "asked", nature: "reduced" });
    await undo(session, { mode: "path", blockingTokens: tokens(1e6), thinking: "bound" });
    expect((await lines(deps)).at(-1)).toContain(`"type":"undo","edit":"${id(4)}","dropsThinking":true,"uuid"`);
    await session.edit({ drafts: [cleared("toolu_1")], cause: "asked", nature: "reduced" });
    await undo(session, { mode: "branch", blockingTokens: tokens(1e6), thinking: "free" });
    expect((await lines(deps)).at(-1)).toContain(`"type":"branch","before":"${id(6)}","from":"${id(6)}","uuid"`);
    expect((await lines(deps)).at(-1)).toContain(`{"parentUuid":"${id(5)}"`);
  });

  it("a boundary and its summary", async () => {
    const { deps, session } = await start();
    const asked = await say(session, user("hi"));
    await appendBoundary(deps, session, {
      summary: "what happened",
      trigger: "manual",
      kept: { head: asked, tail: asked },
      metadata: { preTokens: 7 },
    });
    const [, boundary, summary] = await lines(deps);
    expect(boundary).toContain(
      `${frame(null)}"type":"system","subtype":"compact_boundary","content":"Conversation compacted","level":"info","isMeta":false,"logicalParentUuid":"${id(1)}","compactMetadata":{"preTokens":7,"trigger":"manual","preservedSegment":{"headUuid":"${id(1)}","anchorUuid":"${id(3)}","tailUuid":"${id(1)}"},"checkpoint":"`,
    );
    expect(summary).toContain(
      `${frame(2)}"type":"user","message":{"role":"user","content":"what happened"},"isMeta":true,"isCompactSummary":true,"isVisibleInTranscriptOnly":true,"uuid"`,
    );
  });

  it("a checkpoint", async () => {
    const { deps, session } = await start();
    await append(session, user("hi"), reply("msg_1", call("toolu_1")), result("toolu_1", "out"));
    await append(
      session,
      cleared("toolu_1"),
      { type: "pin", entry: id(1) },
      { type: "setting", name: "size", value: 3 },
    );
    const [first] = session.fold.path.entries;
    await appendBoundary(deps, session, {
      summary: "what happened",
      trigger: "manual",
      kept: {
        head: session.fold.path.entries[1]?.id ?? first?.id ?? ("" as never),
        tail: session.fold.path.entries[2]?.id ?? ("" as never),
      },
    });
    const named = /"checkpoint":"([0-9a-f]{64})"/.exec((await lines(deps)).join("\n"))?.[1] ?? "";
    const stored = JSON.parse(new TextDecoder().decode(await deps.blobs.get(blobId(named)))) as object;
    const log = new TextDecoder().decode(await logBytes(deps)).split("\n");
    const ends = [log[0]?.length ?? 0, (log[0]?.length ?? 0) + 1 + (log[1]?.length ?? 0)];
    const third = (ends[1] ?? 0) + 1 + (log[2]?.length ?? 0);
    expect(stored).toEqual({
      version: 1,
      items: [
        { entry: id(1), start: 0, end: ends[0], thinking: "kept", foreign: false, at: -6 },
        { entry: id(2), start: (ends[0] ?? 0) + 1, end: ends[1], thinking: "kept", foreign: false, at: -5 },
        { entry: id(3), start: (ends[1] ?? 0) + 1, end: third, thinking: "kept", foreign: false, at: -4 },
      ],
      decisions: [{ by: id(4), kind: "clear", shown: "[cleared toolu_1]", toolUse: "toolu_1", at: -3 }],
      pins: [id(1)],
      settings: { size: 3 },
      userMessages: [{ entry: id(1), start: 0, end: ends[0] }],
      foreignUntil: 0,
    });
  });

  it("a checkpoint that still holds the count of failures is read: it is in a setting", async () => {
    const deps = testDeps({ tailBytes: 64 });
    const put: SessionDeps["blobs"]["put"] = (bytes) => {
      const checkpoint = JSON.parse(new TextDecoder().decode(bytes)) as object;
      return deps.blobs.put(new TextEncoder().encode(JSON.stringify({ ...checkpoint, breaker: { failures: 2 } })));
    };
    const blobs = Object.assign(Object.create(deps.blobs) as SessionDeps["blobs"], { put });
    const session = await openedForTest(deps);
    await append(session, user("x".repeat(2_000)), reply("msg_1", text("ok")), { ...breaker, value: { failures: 1 } });
    await appendBoundary({ blobs }, session, { summary: "what happened", trigger: "manual" });
    const again = await reopened(deps, session);
    expect(again.read.from).toBe("boundary");
    expect(again.fold.projection.settings.get(breaker.name)).toEqual({ failures: 1 });
  });

  it("the facts in a checkpoint", async () => {
    const { deps, session } = await start();
    await append(
      session,
      user("hi"),
      reply(
        "msg_1",
        { type: "tool_use", id: toolUseId("toolu_1"), name: "Bash", input: { command: "make" } },
        call("toolu_2"),
      ),
      result("toolu_2", "out"),
    );
    const facts = await new SessionFactBook(deps, session).facts();
    await appendBoundary(deps, session, { summary: "what happened", trigger: "manual", facts });
    const named = /"checkpoint":"([0-9a-f]{64})"/.exec((await lines(deps)).join("\n"))?.[1] ?? "";
    const stored = JSON.parse(new TextDecoder().decode(await deps.blobs.get(blobId(named)))) as { facts: object };
    expect(stored.facts).toEqual({
      filesModified: [],
      filesRead: [{ path: "toolu_2", entry: id(2) }],
      commands: [{ command: "make", entry: id(2), outcome: { kind: "unanswered" } }],
      errors: [],
      openTodos: [],
      decisions: [],
      tools: [
        { name: "Bash", calls: 1 },
        { name: "Read", calls: 1 },
      ],
      looseEnds: {
        waiting: [
          { id: "toolu_1", name: "Bash", entry: id(2), subject: { kind: "command", command: "make" }, input: {} },
        ],
        commandCalls: ["toolu_1"],
        tasks: [],
        reply: "msg_1",
        awaits: "results",
      },
    });
  });

  it("calls for a summary that was never installed", async () => {
    const { deps, session } = await start();
    await append(session, compactionCostDraft([{ path: "stream", model: "m", usage: { input_tokens: 3 } }], "manual"));
    expect((await lines(deps)).at(-1)).toContain(
      `"type":"setting","name":"compaction.spent","value":{"calls":[{"path":"stream","model":"m","usage":{"input_tokens":3}}],"trigger":"manual"},"uuid"`,
    );
  });

  it("a request of whose reply nothing came, and who was asked for one that names another model", async () => {
    const { deps, session } = await start();
    await append(session, replyCostDraft({ model: "m", usage: { input_tokens: 3 } }));
    expect((await lines(deps)).at(-1)).toContain(
      `"type":"setting","name":"reply.spent","value":{"calls":[{"path":"main","model":"m","usage":{"input_tokens":3}}]},"uuid"`,
    );
    await append(session, replyDraft({ id: messageId("msg_9"), model: "m-1", asked: "m", content: [text("Done.")] }));
    const written = (await lines(deps)).at(-1);
    expect(written).toContain(`"message":{"type":"message","role":"assistant","id":"msg_9","model":"m-1","content"`);
    expect(written).toContain(`},"askedModel":"m","uuid"`);
  });

  it("unknown fields and unknown kinds survive opening and appending byte for byte", async () => {
    const old =
      '{"type":"user","uuid":"1","parentUuid":null,"message":{"content":"hi","of":1.0},"x":{"é":[1e3]}}\n{"type":"of-next-year","uuid":"2","payload":"\\u00e9"}\n';
    const bytes = new TextEncoder().encode(old);
    const deps = testDeps({ seed: new Map([[testSession, bytes]]) });
    const session = await openedForTest(deps, "resume");
    await say(session, user("more"));
    expect(new TextDecoder().decode((await logBytes(deps)).subarray(0, bytes.length))).toBe(old);
  });
});
