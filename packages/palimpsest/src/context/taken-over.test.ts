import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { testAgent } from "../../../../test/fixture/agent.ts";
import { sourceOf } from "../../../../test/fixture/log.ts";
import {
  append,
  call,
  openedForTest,
  reopened,
  reply,
  result,
  testDeps,
  testSession,
  text,
  user,
} from "../../../../test/fixture/session.ts";
import { playing, says } from "../../../../test/scenario/support/simulated.ts";
import { defaultOffloadLimits } from "../layers/1-offload/plan.ts";
import { blobId, toolUseId } from "../schema/brand.ts";
import type { JsonObject } from "../schema/json.ts";
import { Simulator } from "@palimpsest/simulator/internal/simulator";
import { adoptOnce } from "../session/adopt-once.ts";
import { appendBoundary } from "../session/append-boundary.ts";
import type { Session, SessionDeps } from "../session/session.ts";
import { SessionLine } from "./line.ts";

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

const long = "a line of output\n".repeat(20_000);
const short = "a line of output\n".repeat(2_000);

/** Another tool's log: two calls in a round, with their results shown whole. */
const recorded = (): Uint8Array => {
  let parent: string | null = null;
  const line = (uuid: string, type: string, content: string | readonly JsonObject[]): string => {
    const message = type === "user" ? { role: type, content } : { id: `msg_${uuid}`, role: type, model: "m", content };
    const raw = JSON.stringify({ type, uuid, parentUuid: parent, message });
    parent = uuid;
    return raw;
  };
  const called = (id: string): JsonObject => ({ type: "tool_use", id, name: "Bash", input: {} });
  const answered = (id: string, content: string): JsonObject => ({ type: "tool_result", tool_use_id: id, content });
  const lines = [
    line("u1", "user", "Look into it."),
    line("a1", "assistant", [called("toolu_long"), called("toolu_short")]),
    line("u2", "user", [answered("toolu_long", long), answered("toolu_short", short)]),
    line("a2", "assistant", [{ type: "text", text: "Seen." }]),
  ];
  return Buffer.from(`${lines.join("\n")}\n`);
};

async function takenOver(): Promise<{ deps: SessionDeps; session: Session }> {
  const deps = testDeps();
  const once = { ...deps, sha256, sessionOf: () => testSession, wait: () => Promise.resolve() };
  const adopted = await adoptOnce(once, { path: "/theirs.jsonl", format: "claude-code", source: sourceOf(recorded()) });
  if (adopted.kind !== "open") expect.unreachable();
  await adopted.writer.close();
  return { deps, session: await openedForTest(deps, "resume") };
}

const shownOf = (session: Session, id: string): string =>
  session
    .view()
    .messages.flatMap(({ content }) => content)
    .flatMap((block) => (block.type === "tool_result" && block.tool_use_id === toolUseId(id) ? [block.content] : []))
    .find((content) => typeof content === "string") ?? "";

const limits = defaultOffloadLimits();
const simulator = (): Simulator => new Simulator({ responder: playing(says("Done.")) });

describe("a session that another tool recorded", () => {
  it("has what is too big offloaded before its first request, and told", async () => {
    const { deps, session } = await takenOver();
    const events = await testAgent({ deps, session, simulator: simulator() }).turn("Go on.");
    expect(events.filter(({ kind }) => kind === "edit")).toMatchObject([{ what: "offload" }]);
    expect(events.at(-1)).toMatchObject({ reason: "answered" });
    expect(shownOf(session, "toolu_long").length).toBeLessThan(4_000);
    expect(shownOf(session, "toolu_short")).toBe(short);
  });

  it("is decided about once: what a request showed whole stays, whatever the limits are now, also after it was opened again", async () => {
    const { deps, session } = await takenOver();
    const agent = testAgent({ deps, session, simulator: simulator() });
    await agent.turn("Go on.");
    const shown = [shownOf(session, "toolu_long"), shownOf(session, "toolu_short")];
    const narrow = { offloadLimits: () => ({ ...limits, resultChars: 3_000, roundChars: 3_000 }) };
    await testAgent({ deps, session, simulator: simulator(), over: narrow }).turn("And on.");
    const again = await reopened(deps, session);
    await testAgent({ deps, session: again, simulator: simulator(), over: narrow }).turn("And on.");
    expect([shownOf(again, "toolu_long"), shownOf(again, "toolu_short")]).toEqual(shown);
    await again.close();
  });

  it("is another matter than one of our own, whose results were decided about when they arrived", async () => {
    const deps = testDeps();
    const session = await openedForTest(deps);
    await append(session, user("Go."), reply("msg_1", call("toolu_1")), result("toolu_1", long));
    expect(new SessionLine(session).unsentRounds({})).toEqual([]);
  });

  it("is shown by no words that a client put in a model's place", async () => {
    const { session } = await takenOver();
    await append(session, { ...reply("msg_s", text("An error.")), isApiErrorMessage: true });
    expect(new SessionLine(session).unsentRounds({}).flat()).toHaveLength(2);
    await append(session, reply("msg_r", text("A reply.")));
    expect(new SessionLine(session).unsentRounds({})).toEqual([]);
  });

  it("is another matter also where only a boundary is left of our own replies", async () => {
    const deps = testDeps({ tailBytes: 64 });
    let session = await openedForTest(deps);
    const ids = await append(session, user("Go."), reply("msg_1", call("toolu_1")), result("toolu_1", long));
    const [head, tail] = [ids[1], ids[2]];
    if (head === undefined || tail === undefined) expect.unreachable();
    await appendBoundary(deps, session, { summary: "So far.", trigger: "manual", kept: { head, tail } });
    session = await reopened(deps, session);
    expect(shownOf(session, "toolu_1")).toBe(long);
    expect(new SessionLine(session).unsentRounds({})).toEqual([]);
    await session.close();
  });

  it("takes over no further round once the user has interrupted", async () => {
    const { deps, session } = await takenOver();
    const agent = testAgent({ deps, session, simulator: simulator() });
    const events = await agent.turn("Go on.", AbortSignal.abort());
    expect(events.map(({ kind }) => kind)).toEqual(["turn-start", "turn-end"]);
    expect(events.at(-1)).toMatchObject({ reason: "aborted" });
    expect(shownOf(session, "toolu_long")).toBe(long);
  });
});
