import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { sourceOf } from "../../test/fixture/log.ts";
import { append, testDeps, user } from "../../test/fixture/session.ts";
import { blobId } from "../schema/brand.ts";
import { adopt } from "./adopt.ts";
import { scanChunkBytes } from "./limits.ts";
import { readLog, Session, type SessionDeps } from "./session.ts";

const sha256 = () => {
  const hash = createHash("sha256");
  return { update: (chunk: Uint8Array) => void hash.update(chunk), digest: () => blobId(hash.digest("hex")) };
};

const thinking = { type: "thinking", thinking: "hm", signature: "theirs" };
const theirs = [
  { type: "user", uuid: "u1", parentUuid: null, message: { role: "user", content: "hello" } },
  {
    type: "assistant",
    uuid: "a1",
    parentUuid: "u1",
    message: { id: "m1", role: "assistant", content: [thinking, { type: "text", text: "hi" }] },
  },
]
  .map((entry) => JSON.stringify(entry))
  .join("\n");

async function adopted(deps: SessionDeps, bytes: Uint8Array) {
  const made = await adopt(
    { ...deps, sha256 },
    { path: "/theirs.jsonl", format: "claude-code", source: sourceOf(bytes) },
  );
  if (made.kind !== "open") throw new Error(made.kind);
  const { writer } = made;
  const source = await deps.transcripts.openForReading(writer.id);
  const log = await readLog(deps, writer.id);
  if (source === undefined || log === undefined) throw new Error("the copy is not there");
  const copy = Buffer.from(await source.read({ start: 0, end: source.size }));
  const circumstances = { sessionId: writer.id, cwd: "/", version: "0" };
  return { copy, session: new Session(deps, { writer, log, circumstances }), originEnd: copy.indexOf("\n") + 1 };
}

describe("adopting another tool's log", () => {
  it.each([
    ["ends with a newline", `${theirs}\n`, 0],
    ["lacks its last newline", theirs, 1],
    ["is torn", `${theirs}\n{"type":"us`, 1],
    ["is empty", "", 0],
  ])("copies every byte behind an origin line, where the source %s", async (_, text, added) => {
    const bytes = Buffer.from(text);
    const { copy, originEnd } = await adopted(testDeps(), bytes);
    expect(copy.subarray(originEnd, originEnd + bytes.length).equals(bytes)).toBe(true);
    expect(copy.length).toBe(originEnd + bytes.length + added);
    expect(JSON.parse(copy.subarray(0, originEnd).toString())).toMatchObject({
      type: "origin",
      format: "claude-code",
      path: "/theirs.jsonl",
      length: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    });
  });

  it("hashes sources of several chunks", async () => {
    const bytes = Buffer.alloc(scanChunkBytes + 17, `${theirs}\n`);
    const { copy, originEnd } = await adopted(testDeps(), bytes);
    expect(copy.subarray(0, originEnd).toString()).toContain(createHash("sha256").update(bytes).digest("hex"));
  });

  it("leaves thinking that was signed for another out, keeps our own, and goes on where the other stopped", async () => {
    const { session } = await adopted(testDeps(), Buffer.from(theirs));
    const own = { type: "thinking", thinking: "mine", signature: "ours" };
    await append(session, user("go on"), {
      type: "assistant",
      message: { id: "m2", role: "assistant", content: [own, { type: "text", text: "ok" }] },
    });
    const { messages, path } = session.view();
    expect(JSON.stringify(messages)).toMatch(/hello.*hi.*go on.*mine.*ok/);
    expect(JSON.stringify(messages)).not.toContain("theirs");
    expect(path.thinkingLeftOut).toBe(1);
    await session.close();
  });
});
