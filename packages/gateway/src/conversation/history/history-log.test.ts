import { appendFile, mkdtemp, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { StoredHistories, type HistoryOutcome } from "./stored-histories.ts";
import { HistoryLog } from "./history-log.ts";

const encode = (body: object): Buffer => Buffer.from(JSON.stringify(body));
const folder = (): Promise<string> => mkdtemp(join(tmpdir(), "histories-"));
const openIn = (path: string, bytesMax?: number): StoredHistories =>
  new StoredHistories(new HistoryLog((user) => join(path, user, "histories.jsonl"), { bytesMax }));

const settle = async (outcome: HistoryOutcome, id: string, kind: "added" | "compacted" = "added"): Promise<void> => {
  if (outcome.kind !== "stored") throw new Error(`not stored: ${outcome.kind}`);
  await outcome.settle({ id, elements: [{ role: "assistant", content: `I am ${id}.` }], kind });
};

const begin = (histories: StoredHistories, text = "One."): HistoryOutcome =>
  histories.openThread({
    user: "ann",
    bytes: Buffer.from(`{"system": "Be kind.", "messages": [{"role":  "user", "content": ${JSON.stringify(text)}}],
      "thread": {"type": "create"}}`),
  });
const goOn = async (histories: StoredHistories, id: string, user = "ann"): Promise<HistoryOutcome> => {
  await histories.restore(user);
  return histories.openThread({
    user,
    bytes: encode({ messages: [{ role: "user", content: "On." }], thread: { previous_message_id: id } }),
  });
};
const respond = (histories: StoredHistories, body: object): HistoryOutcome =>
  histories.openResponse({ user: "ann", bytes: encode(body) });
const sent = (outcome: HistoryOutcome): string =>
  "bytes" in outcome ? Buffer.from(outcome.bytes).toString("utf8") : outcome.kind;

it("restores each place of a thread, with its fields and the client's own bytes", async () => {
  const path = await folder();
  const first = openIn(path);
  await settle(begin(first), "msg_1");
  await settle(await goOn(first, "msg_1"), "msg_2");
  await settle(await goOn(first, "msg_1"), "msg_3");
  await settle(await goOn(first, "msg_3"), "msg_4", "compacted");
  const second = openIn(path);
  for (const id of ["msg_1", "msg_2", "msg_3", "msg_4"])
    expect(sent(await goOn(second, id))).toBe(sent(await goOn(first, id)));
  expect(sent(await goOn(second, "msg_2"))).toContain('{"role":  "user", "content": "One."}');
  expect(sent(await goOn(second, "msg_4"))).toContain('"system":"Be kind."');
  await settle(await goOn(second, "msg_2"), "msg_5");
  expect(sent(await goOn(openIn(path), "msg_5"))).toBe(sent(await goOn(second, "msg_5")));
});

it("restores a response whose body nobody has read, and which reply upstream ends it", async () => {
  const path = await folder();
  const first = openIn(path);
  first.linkReplies("ann", { first: "resp_0", last: "resp_00" });
  await settle(respond(first, { input: "One.", instructions: "Be kind." }), "resp_1");
  const second = openIn(path);
  await second.restore("ann");
  expect(JSON.parse(sent(respond(second, { input: "Two.", previous_response_id: "resp_1" })))).toMatchObject({
    input: [{ role: "user", content: "One." }, { content: "I am resp_1." }, { role: "user", content: "Two." }],
  });
  expect(sent(respond(second, { input: "Two.", previous_response_id: "resp_0" }))).toContain("resp_00");
});

it("restores nothing of another user, and writes for its owner alone", async () => {
  const path = await folder();
  await settle(begin(openIn(path)), "msg_1");
  expect((await goOn(openIn(path), "msg_1", "bob")).kind).toBe("not-found");
  expect((await stat(join(path, "ann", "histories.jsonl"))).mode & 0o777).toBe(0o600);
  expect((await stat(join(path, "ann"))).mode & 0o777).toBe(0o700);
});

it("a line that was cut off is lost, with what goes on from it, and no other", async () => {
  const path = await folder();
  const file = join(path, "ann", "histories.jsonl");
  await settle(begin(openIn(path)), "msg_1");
  await appendFile(file, '{"id":"msg_2","from":"msg_1","added":["{\\"ro');
  const second = openIn(path);
  await settle(await goOn(second, "msg_1"), "msg_3");
  await appendFile(file, `${JSON.stringify({ id: "msg_4", from: "msg_2", added: [], said: [] })}\n`);
  const third = openIn(path);
  const kinds = await Promise.all(["msg_1", "msg_2", "msg_3", "msg_4"].map(async (id) => (await goOn(third, id)).kind));
  expect(kinds).toEqual(["stored", "not-found", "stored", "not-found"]);
});

it("a file that would be too large keeps the newest histories, each whole", async () => {
  const path = await folder();
  const bytesMax = 10_000;
  const first = openIn(path, bytesMax);
  await settle(begin(first, "old ".repeat(500)), "msg_old");
  await settle(begin(first), "msg_0");
  for (let nth = 0; nth < 20; nth += 1) await settle(await goOn(first, `msg_${nth}`), `msg_${nth + 1}`);
  await settle(begin(first, "long ".repeat(1_000)), "msg_long");
  expect((await readFile(join(path, "ann", "histories.jsonl"))).length).toBeLessThanOrEqual(bytesMax);
  const second = openIn(path, bytesMax);
  expect((await goOn(second, "msg_old")).kind).toBe("not-found");
  expect((await goOn(second, "msg_long")).kind).toBe("stored");
  const newest = await goOn(second, "msg_20");
  expect([newest.kind, sent(newest).includes('"content": "One."')]).toEqual(["stored", true]);
});

it("a folder that can't be written costs nothing but the restoration", async () => {
  const path = join(await folder(), "file");
  await appendFile(path, "");
  const first = openIn(path);
  await settle(begin(first), "msg_1");
  expect((await goOn(first, "msg_1")).kind).toBe("stored");
  expect((await goOn(openIn(path), "msg_1")).kind).toBe("not-found");
});

const put = async (outcome: HistoryOutcome, id: string, session?: string): Promise<void> => {
  if (outcome.kind !== "stored") throw new Error(`not stored: ${outcome.kind}`);
  await outcome.settle({ id, elements: [{ role: "assistant", content: `I am ${id}.` }], kind: "added" }, session);
};

it("removes what belongs to deleted sessions alone, also from what a restart reads", async () => {
  const path = await folder();
  const first = openIn(path);
  await put(begin(first, "Of one."), "msg_1", "one");
  await put(await goOn(first, "msg_1"), "msg_2", "one");
  // An older gateway wrote no session.
  await put(await goOn(first, "msg_2"), "msg_3");
  await put(begin(first, "Of both."), "msg_4", "one");
  await put(await goOn(first, "msg_4"), "msg_5", "two");
  first.linkReplies("ann", { first: "msg_2", last: "msg_22" });
  await first.forget({ user: "ann", sessions: ["one"] });
  const text = await readFile(join(path, "ann", "histories.jsonl"), "utf8");
  expect(text).not.toMatch(/Of one|msg_[123]\b|msg_22/);
  expect(text).toMatch(/Of both/);
  for (const histories of [first, openIn(path)]) {
    const kinds = await Promise.all(["msg_1", "msg_2", "msg_5"].map(async (id) => (await goOn(histories, id)).kind));
    expect(kinds).toEqual(["not-found", "not-found", "stored"]);
  }
});

it("leaves a session what another one went on from, if that one is deleted", async () => {
  const path = await folder();
  const first = openIn(path);
  await put(begin(first, "Of one."), "msg_1", "one");
  await put(await goOn(first, "msg_1"), "msg_2", "two");
  await put(await goOn(first, "msg_2"), "msg_3", "two");
  const before = sent(await goOn(first, "msg_1"));
  await first.forget({ user: "ann", sessions: ["two"] });
  for (const histories of [first, openIn(path)]) {
    const outcomes = await Promise.all(["msg_1", "msg_2", "msg_3"].map((id) => goOn(histories, id)));
    expect(outcomes.map(({ kind }) => kind)).toEqual(["stored", "not-found", "not-found"]);
    expect(outcomes.slice(0, 1).map(sent)).toEqual([before]);
  }
  // It goes on as if the other one had never been.
  await put(await goOn(first, "msg_1"), "msg_4", "one");
  expect(sent(await goOn(first, "msg_4"))).not.toMatch(/I am msg_[23]/);
  await first.forget({ user: "ann", sessions: ["one"] });
  expect([first.bytes, (await goOn(first, "msg_1")).kind]).toEqual([0, "not-found"]);
});

it("restores nothing of a session that is deleted meanwhile", async () => {
  const path = await folder();
  await put(begin(openIn(path)), "msg_1", "one");
  for (const user of ["ann", undefined]) {
    const second = openIn(path);
    const restored = second.restore("ann");
    await Promise.all([restored, second.forget({ user, sessions: ["one"] })]);
    expect([(await goOn(second, "msg_1")).kind, second.bytes]).toEqual(["not-found", 0]);
    await put(begin(openIn(path)), "msg_1", "one");
  }
});

it("removes deleted sessions also while nothing is written", async () => {
  const path = await folder();
  let isWritten = true;
  const log = new HistoryLog((user) => join(path, user, "histories.jsonl"), { isWritten: () => isWritten });
  const histories = new StoredHistories(log);
  await put(begin(histories, "Of one."), "msg_1", "one");
  isWritten = false;
  await put(begin(histories, "Of two."), "msg_2", "two");
  histories.linkReplies("ann", { first: "msg_3", last: "msg_33" });
  expect((await log.read("ann")).map((line) => "id" in line && line.id)).toEqual(["msg_1"]);
  await histories.forget({ user: "ann", sessions: ["one"] });
  expect(await readFile(join(path, "ann", "histories.jsonl"), "utf8")).toBe("");
});

it("keeps lines without a session if a session with an empty id is deleted", async () => {
  const path = await folder();
  const log = new HistoryLog((user) => join(path, `${user}.jsonl`));
  await log.append("ann", { id: "msg_1", added: [], said: [] });
  await log.remove({ user: "ann", sessions: [""] });
  expect(await log.read("ann")).toHaveLength(1);
});
