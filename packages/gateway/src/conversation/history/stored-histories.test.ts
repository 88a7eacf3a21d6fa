import { describe, expect, it } from "vitest";
import type { JsonObject } from "palimpsest/internal/schema/json";
import { StoredHistories, type HistoryOutcome } from "./stored-histories.ts";

const encode = (body: object): Buffer => Buffer.from(JSON.stringify(body));
const said = (text: string): JsonObject => ({ role: "assistant", content: text });
const asked = (content: string): JsonObject => ({ role: "user", content });

function settle(outcome: HistoryOutcome, id: string, text = "Yes."): void {
  if (outcome.kind !== "stored") throw new Error(`not stored: ${outcome.kind}`);
  void outcome.settle({ id, elements: [said(text)], kind: "added" });
}

const bodyOf = (outcome: HistoryOutcome): unknown =>
  outcome.kind === "stored" || outcome.kind === "elsewhere"
    ? JSON.parse(Buffer.from(outcome.bytes).toString())
    : outcome.kind;

const begin = (histories: StoredHistories, text: string): HistoryOutcome =>
  histories.openThread({
    user: "ann",
    bytes: encode({ system: "Be kind.", messages: [asked(text)], thread: { type: "create" } }),
  });
const goOn = (histories: StoredHistories, id: string, user = "ann"): HistoryOutcome =>
  histories.openThread({
    user,
    bytes: encode({ messages: [asked("On.")], thread: { type: "continue", previous_message_id: id } }),
  });

describe("a thread", () => {
  it("goes on with what it was begun with", () => {
    const histories = new StoredHistories();
    settle(begin(histories, "One."), "msg_1");
    expect(bodyOf(goOn(histories, "msg_1"))).toEqual({
      messages: [asked("One."), said("Yes."), asked("On.")],
      system: "Be kind.",
    });
  });

  it("can be gone on with from each of its replies", () => {
    const histories = new StoredHistories();
    settle(begin(histories, "One."), "msg_1");
    settle(goOn(histories, "msg_1"), "msg_2", "Once.");
    settle(goOn(histories, "msg_1"), "msg_3", "Again.");
    const [first, second] = [goOn(histories, "msg_2"), goOn(histories, "msg_3")].map(bodyOf);
    const start = [asked("One."), said("Yes."), asked("On.")];
    expect(first).toMatchObject({ messages: [...start, said("Once."), asked("On.")] });
    expect(second).toMatchObject({ messages: [...start, said("Again."), asked("On.")] });
  });

  it("is known to its own user only", () => {
    const histories = new StoredHistories();
    settle(begin(histories, "One."), "msg_1");
    expect(goOn(histories, "msg_1", "bob")).toEqual({ kind: "not-found", id: "msg_1" });
    expect(goOn(histories, "msg_1").kind).toBe("stored");
  });

  it("begins with the summary once it was compacted", () => {
    const histories = new StoredHistories();
    settle(begin(histories, "One."), "msg_1");
    const next = goOn(histories, "msg_1");
    if (next.kind === "stored") void next.settle({ id: "msg_2", elements: [said("Summary.")], kind: "compacted" });
    expect(bodyOf(goOn(histories, "msg_2"))).toMatchObject({ messages: [said("Summary."), asked("On.")] });
  });

  it("is dropped when others need the room: the one that was used least recently first", () => {
    const histories = new StoredHistories(undefined, { bytesMax: 2_500, repliesMax: 100 });
    const long = "word ".repeat(200);
    settle(begin(histories, long), "msg_1");
    settle(begin(histories, long), "msg_2");
    settle(goOn(histories, "msg_1"), "msg_3");
    settle(begin(histories, long), "msg_4");
    expect(["msg_1", "msg_2", "msg_3", "msg_4"].map((id) => goOn(histories, id).kind)).toEqual([
      "stored",
      "not-found",
      "stored",
      "stored",
    ]);
    expect(histories.bytes).toBeLessThanOrEqual(2_500);
  });
});

describe("what is stored is bounded", () => {
  const words = "word ".repeat(200);
  /** Threads of these users, one after the other; which of them can be gone on with. */
  const findStored = (users: readonly string[], limits: ConstructorParameters<typeof StoredHistories>[1]) => {
    const histories = new StoredHistories(undefined, limits);
    const start = (user: string, system = "Be kind."): HistoryOutcome =>
      histories.openThread({ user, bytes: encode({ system, messages: [asked(words)], thread: { type: "create" } }) });
    for (const [at, user] of users.entries()) settle(start(user), `msg_${at}`);
    const left = users.filter((user, at) => goOn(histories, `msg_${at}`, user).kind === "stored");
    return { histories, left: left.join("") };
  };

  it.each([
    ["bytes in all", { bytesMax: 3_500 }, "aab", "aab"],
    ["bytes in all", { bytesMax: 2_500 }, "aab", "ab"],
    ["bytes of a user", { userBytesMax: 2_500 }, "baaa", "baa"],
    ["bytes of a user, whose own are dropped", { bytesMax: 3_700, userBytesMax: 2_500 }, "baaaaa", "baa"],
    ["replies in all", { repliesMax: 2 }, "abc", "bc"],
    ["replies of a user", { userRepliesMax: 2 }, "baaa", "baa"],
  ])("%s: %j, %s", (_, limits, users, left) => {
    const found = findStored(users.split(""), limits);
    expect(found.left).toBe(left);
    expect(found.histories.bytes).toBeLessThanOrEqual("bytesMax" in limits ? limits.bytesMax : Infinity);
  });

  it("bytes of one history: it is dropped when it could not be sent any more", () => {
    const histories = new StoredHistories(undefined, { historyBytesMax: 2_500 });
    settle(begin(histories, words), "msg_1");
    settle(goOn(histories, "msg_1"), "msg_2", words);
    expect(goOn(histories, "msg_2").kind).toBe("stored");
    settle(goOn(histories, "msg_2"), "msg_3", words);
    expect(["msg_1", "msg_3"].map((id) => goOn(histories, id).kind)).toEqual(["not-found", "not-found"]);
    expect(histories.bytes).toBe(0);
  });

  it("fields that are not sent again count, once", () => {
    const histories = new StoredHistories();
    const system = "x".repeat(10_000);
    const body = { system, messages: [asked("One.")], thread: { type: "create" } };
    settle(histories.openThread({ user: "ann", bytes: encode(body) }), "msg_1");
    expect(histories.bytes).toBeGreaterThan(10_000);
    const again = { ...body, thread: { type: "continue", previous_message_id: "msg_1" } };
    settle(histories.openThread({ user: "ann", bytes: encode(again) }), "msg_2");
    expect(histories.bytes).toBeLessThan(11_000);
    const other = { ...again, system: "y".repeat(10_000) };
    settle(histories.openThread({ user: "ann", bytes: encode(other) }), "msg_3");
    expect(histories.bytes).toBeGreaterThan(20_000);
  });

  it("a client that always sends its list in other branches has no more stored than the limit", () => {
    const histories = new StoredHistories(undefined, { bytesMax: 20_000, repliesMax: 50 });
    settle(begin(histories, words), "msg_0");
    for (let nth = 1; nth < 300; nth += 1) {
      const from = goOn(histories, "msg_0");
      settle(from.kind === "stored" ? from : begin(histories, words), nth % 7 === 0 ? "msg_0" : `msg_${nth}`, words);
      expect(histories.bytes).toBeLessThanOrEqual(20_000);
    }
  });
});

describe("a reply of a deleted session", () => {
  const put = async (outcome: HistoryOutcome, id: string, session: string): Promise<void> => {
    if (outcome.kind !== "stored") throw new Error(`not stored: ${outcome.kind}`);
    await outcome.settle({ id, elements: [said(`I am ${id}.`)], kind: "added" }, session);
  };
  /** A request goes on from a reply of a session that is deleted before the request has its own reply. */
  const deleteMeanwhile = async () => {
    const histories = new StoredHistories();
    await put(begin(histories, "One."), "msg_1", "kept");
    await put(goOn(histories, "msg_1"), "msg_2", "deleted");
    const inFlight = goOn(histories, "msg_2");
    await histories.forget({ user: "ann", sessions: ["deleted"] });
    return { histories, inFlight };
  };
  const whole = [
    asked("One."),
    said("I am msg_1."),
    asked("On."),
    said("I am msg_2."),
    asked("On."),
    said("I am msg_3."),
    asked("On."),
  ];

  it("stays in the list of a request that went on from it before the deletion", async () => {
    const { histories, inFlight } = await deleteMeanwhile();
    await put(inFlight, "msg_3", "other");
    expect(bodyOf(goOn(histories, "msg_3"))).toMatchObject({ messages: whole });
    expect(goOn(histories, "msg_2").kind).toBe("not-found");
  });

  it("is not replaced in that list by what the history goes on with after the deletion", async () => {
    const { histories, inFlight } = await deleteMeanwhile();
    await put(goOn(histories, "msg_1"), "msg_9", "kept");
    await put(inFlight, "msg_3", "other");
    expect(bodyOf(goOn(histories, "msg_3"))).toMatchObject({ messages: whole });
    expect(JSON.stringify(bodyOf(goOn(histories, "msg_9")))).not.toMatch(/msg_[23]/);
  });

  it("leaves another history its reply of the same id", async () => {
    const histories = new StoredHistories();
    await put(begin(histories, "One."), "msg_1", "deleted");
    await put(begin(histories, "Two."), "msg_1", "kept");
    await histories.forget({ user: "ann", sessions: ["deleted"] });
    expect(bodyOf(goOn(histories, "msg_1"))).toMatchObject({ messages: [asked("Two."), {}, {}] });
  });

  it("leaves the order in which histories are dropped as it was", async () => {
    const long = "word ".repeat(200);
    const histories = new StoredHistories(undefined, { bytesMax: 3_000 });
    await put(begin(histories, long), "msg_1", "kept");
    await put(goOn(histories, "msg_1"), "msg_2", "deleted");
    await put(begin(histories, long), "msg_3", "kept");
    await histories.forget({ user: "ann", sessions: ["deleted"] });
    await put(begin(histories, long), "msg_4", "kept");
    expect(["msg_1", "msg_3", "msg_4"].map((id) => goOn(histories, id).kind)).toEqual([
      "not-found",
      "stored",
      "stored",
    ]);
  });
});

describe("a response", () => {
  const open = (histories: StoredHistories, body: object): HistoryOutcome =>
    histories.openResponse({ user: "ann", bytes: encode(body) });

  it("is gone on with by its whole list", () => {
    const histories = new StoredHistories();
    settle(open(histories, { input: "One.", instructions: "Be kind." }), "resp_1");
    settle(open(histories, { input: "Two.", previous_response_id: "resp_1" }), "resp_2", "No.");
    expect(bodyOf(open(histories, { previous_response_id: "resp_2", input: [asked("Three.")] }))).toEqual({
      input: [asked("One."), said("Yes."), asked("Two."), said("No."), asked("Three.")],
    });
  });

  it("is not stored if its client keeps the list or stores nothing", () => {
    const kinds = [
      { input: "Hi", store: false },
      { input: [asked("Hi"), said("Yes?")] },
      { input: 'Say "assistant".' },
      { input: "Hi", previous_response_id: null },
      { input: "Hi", conversation: { id: "conv_1" } },
      { input: "Hi", previous_response_id: "resp_0" },
    ].map((body) => open(new StoredHistories(), body).kind);
    expect(kinds).toEqual(["whole", "whole", "stored", "stored", "elsewhere", "elsewhere"]);
  });

  it("that is no longer stored goes on upstream from the last of the replies that it was made of", () => {
    const histories = new StoredHistories();
    histories.linkReplies("ann", { first: "resp_1", last: "resp_2" });
    const body = { input: "On.", previous_response_id: "resp_1" };
    expect(bodyOf(open(histories, body))).toEqual({ input: "On.", previous_response_id: "resp_2" });
    expect(bodyOf(histories.openResponse({ user: "bob", bytes: encode(body) }))).toEqual(body);
    const compacted = histories.nameResponse({ user: "ann", bytes: encode({ previous_response_id: "resp_1" }) });
    expect(Buffer.from(compacted).toString()).toBe('{"previous_response_id":"resp_2"}');
  });
});
