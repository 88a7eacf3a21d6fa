import { appendFile, mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Mailboxes } from "../../packages/palimpsest/src/ports/mailbox.ts";
import { teammateAddress } from "../../packages/palimpsest/src/schema/agent-address.ts";
import { envelopeId } from "../../packages/palimpsest/src/schema/brand.ts";
import { fileMailboxes } from "../../packages/palimpsest/src/store/files/file-mailboxes.ts";
import { memoryMailboxes } from "../../packages/palimpsest/src/store/memory/memory-mailboxes.ts";
import { ann, lead, mailboxesContract, openBox, readAll, sendText, textOf } from "./mailbox.ts";
import { storeDeps } from "./store-deps.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const openFiles = (folder: string): Mailboxes => fileMailboxes({ deps: storeDeps, folder, durability: "never" });

mailboxesContract({ name: "files", make: async () => openFiles(join(await temporaryFolder(), "mail")) });
mailboxesContract({ name: "memory", make: async () => memoryMailboxes() });

/** Two processes, as far as the files can tell. */
async function makePair() {
  const folder = join(await temporaryFolder(), "mail");
  const own = join(folder, "teams", "docs", "ann");
  const [sender, receiver] = [openFiles(folder), openFiles(folder)];
  const box = await openBox(receiver, ann);
  const paths = { messages: join(own, "messages.jsonl"), marks: join(own, "read.jsonl") };
  return { folder, own, sender, receiver, box, ...paths };
}

describe("a mailbox in files", () => {
  it("is one line a message, for its owner alone whatever the umask is", async () => {
    const before = process.umask(0);
    try {
      const { own, folder, sender, box, messages, marks } = await makePair();
      await sendText(sender, { id: "m1", to: "ann", text: "hi" });
      await box.markRead([envelopeId("m1")]);
      expect((await readFile(messages, "utf8")).split("\n").slice(1)).toEqual([
        '{"id":"m1","from":"lead@docs","to":"ann@docs","at":1,"sequence":1,"body":{"type":"text","text":"hi"}}',
        "",
      ]);
      expect((await readFile(marks, "utf8")).split("\n").slice(1)).toEqual(['{"read":["m1"]}', ""]);
      for (const path of [messages, marks]) expect((await stat(path)).mode & 0o777).toBe(0o600);
      for (const path of [folder, join(folder, "teams"), own]) expect((await stat(path)).mode & 0o777).toBe(0o700);
      expect((await readdir(own)).toSorted()).toEqual(["messages.jsonl", "read.jsonl"]);
    } finally {
      process.umask(before);
    }
  });

  it("delivers no torn line, at whichever byte it was cut, and the next sender repairs it", async () => {
    const { sender, box, messages, folder } = await makePair();
    await sendText(sender, { id: "whole", to: "ann" });
    const whole = (await stat(messages)).size;
    await sendText(sender, { id: "torn", to: "ann", text: "é👩‍💻\n" });
    const all = await readFile(messages);
    for (let cut = whole; cut < all.byteLength; cut += 3) {
      await writeFile(messages, all);
      await truncate(messages, cut);
      expect((await readAll(box)).map(textOf)).toEqual(["whole"]);
      // Its sender has no answer, and sends it again.
      await sendText(cut % 2 === 0 ? sender : openFiles(folder), { id: "torn", to: "ann" });
      expect((await readAll(box)).map(({ id, sequence }) => `${id} ${sequence}`)).toEqual(["whole 1", "torn 2"]);
    }
  });

  it("begins again if only a part of its first line was written", async () => {
    const { sender, box, messages } = await makePair();
    await writeFile(messages, '{"log":"12');
    await sendText(sender, { id: "1", to: "ann" });
    expect((await readAll(box)).map(textOf)).toEqual(["1"]);
  });

  it("shows a message again whose mark was torn, and a mark is repaired", async () => {
    const { sender, receiver, box, marks } = await makePair();
    for (const id of ["1", "2"]) await sendText(sender, { id, to: "ann" });
    await box.markRead([envelopeId("1")]);
    await appendFile(marks, '{"read":["2');
    expect((await readAll(await openBox(receiver, ann))).map(textOf)).toEqual(["2"]);
    await box.markRead([envelopeId("2")]);
    expect(await readAll(box)).toEqual([]);
  });

  it("counts lines that are no messages, keeps them, and shows the others", async () => {
    const { sender, box, messages } = await makePair();
    await sendText(sender, { id: "1", to: "ann" });
    const odd = [
      "\0\0\0",
      '{"id":"x"}',
      '{"id":"n","from":"a@b","to":"c@d","at":1,"sequence":1,"body":{"type":"later"}}',
    ];
    await appendFile(messages, `${odd.join("\n")}\n`);
    await sendText(sender, { id: "2", to: "ann" });
    const outcome = await box.unread();
    expect(outcome).toMatchObject({ kind: "unread", damagedLines: 3 });
    expect(outcome.kind === "unread" ? outcome.envelopes.map(textOf) : []).toEqual(["1", "2"]);
    await fillAndRead(sender, box, 280);
    expect(await readFile(messages, "utf8")).toContain(odd[2]);
    expect(await box.unread()).toMatchObject({ damagedLines: 3 });
  });

  it("removes read messages, keeps unread ones, the counts and what was sent lately", async () => {
    const { sender, receiver, box, messages, marks } = await makePair();
    await sendText(sender, { id: "kept", to: "ann", from: teammateAddress("bob", "docs") });
    const small = (await stat(messages)).size;
    await fillAndRead(sender, box, 280, ["kept"]);
    expect((await stat(messages)).size).toBeLessThan(small + 200 * 120);
    expect((await stat(marks)).size).toBeLessThan(200 * 20);
    expect((await readAll(box)).map(({ id }) => id)).toEqual(["kept"]);
    await sendText(sender, { id: "m279", to: "ann" });
    await sendText(sender, { id: "next", to: "ann" });
    for (const reader of [box, await openBox(receiver, ann)])
      expect((await readAll(reader)).map(({ id, sequence }) => `${id} ${sequence}`)).toEqual(["kept 1", "next 281"]);
  });

  it("is the same if a kill came between the two files of a removal", async () => {
    const { sender, box, marks, folder } = await makePair();
    await fillAndRead(sender, box, 240);
    const before = await readFile(marks);
    await fillAndRead(sender, box, 40, [], 240);
    expect((await stat(marks)).size).toBeLessThan(before.byteLength / 2);
    // Marks of messages that are gone.
    await writeFile(marks, before);
    const again = openFiles(folder);
    await sendText(again, { id: "m279", to: "ann" });
    await sendText(again, { id: "new", to: "ann" });
    for (const reader of [box, await openBox(again, ann)]) expect((await readAll(reader)).map(textOf)).toEqual(["new"]);
  });

  it("returns large messages a part at a time", async () => {
    const { sender, box } = await makePair();
    const text = "\u0001".repeat(1_000_000);
    for (const id of ["1", "2", "3", "4"]) await sendText(sender, { id, to: "ann", text });
    const seen: string[] = [];
    for (let look = await readAll(box); look.length > 0; look = await readAll(box)) {
      expect(look.length).toBeLessThan(4);
      seen.push(...look.map(({ id }) => id));
      await box.markRead(look.map(({ id }) => id));
    }
    expect(seen).toEqual(["1", "2", "3", "4"]);
  });

  it("follows no link in place of its files or its folder", async () => {
    const { folder, sender, messages } = await makePair();
    await symlink(await temporaryFolder(), join(folder, "teams", "docs", "bob"));
    expect(await sender.open(teammateAddress("bob", "docs"))).toMatchObject({ kind: "failed" });
    expect(await sender.list()).toEqual([ann]);
    const victim = join(await temporaryFolder(), "victim");
    await writeFile(victim, "text");
    await symlink(victim, messages);
    expect(await sendText(sender, { id: "1", to: "ann" })).toMatchObject({ kind: "failed", delivered: [] });
    expect(await readFile(victim, "utf8")).toBe("text");
  });

  it("says so if the disk refuses, and has the message later", async () => {
    const { sender, box, messages } = await makePair();
    await mkdir(messages);
    expect(await sendText(sender, { id: "1", to: "ann" })).toMatchObject({
      kind: "failed",
      message: expect.stringContaining("ann") as unknown,
    });
    expect(await box.unread()).toMatchObject({ kind: "failed" });
    await rm(messages, { recursive: true });
    expect(await sendText(sender, { id: "1", to: "ann" })).toMatchObject({ kind: "sent" });
    expect((await readAll(box)).map(textOf)).toEqual(["1"]);
  });

  it("takes over the lock of a sender that died", async () => {
    const { own, sender, box } = await makePair();
    const deadPid = 2 ** 22 + 1;
    const record = { token: "t", pid: deadPid, processStarted: null, host: hostname(), since: "then" };
    await writeFile(join(own, "lock"), JSON.stringify(record));
    await sendText(sender, { id: "1", to: "ann" });
    expect((await readAll(box)).map(textOf)).toEqual(["1"]);
  });

  it("can't be sent to while another process removes it, and loses nothing", async () => {
    const { sender, receiver } = await makePair();
    const [removed, ...sent] = await Promise.all([
      receiver.remove(ann),
      ...Array.from({ length: 5 }, (_, n) => sendText(sender, { id: `m${n}`, to: "ann", from: lead })),
    ]);
    const stored = sent.filter(({ kind }) => kind === "sent").length;
    expect(sent.every(({ kind }) => kind === "sent" || kind === "unknown-receiver")).toBe(true);
    expect(removed.kind === "removed" ? removed.unread.length : -1).toBe(stored);
  });
});

/** Sends so many and reads all but those to keep, some at a time. */
async function fillAndRead(
  sender: Mailboxes,
  box: Awaited<ReturnType<typeof openBox>>,
  count: number,
  keep: readonly string[] = [],
  from = 0,
): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    await sendText(sender, { id: `m${n}`, to: "ann" });
    if (n % 40 !== 39 && n !== from + count - 1) continue;
    const outcome = await box.unread();
    if (outcome.kind !== "unread") throw new Error(outcome.message);
    await box.markRead(outcome.envelopes.map(({ id }) => id).filter((id) => !keep.includes(id)));
  }
}
