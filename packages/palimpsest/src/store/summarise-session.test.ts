import { describe, expect, it } from "vitest";
import type { MessageCountMode, SessionSummary } from "../ports/store.ts";
import type { ByteSource } from "../ports/transcripts.ts";
import { bytes, sessionId } from "../schema/brand.ts";
import { copyChunkBytes, countedGrowthBytesMax, summaryEndBytes } from "./limits.ts";
import { summariseSession } from "./summarise-session.ts";

const said = (content: unknown, more: object = {}) => ({ type: "user", message: { role: "user", content }, ...more });
const reply = { type: "assistant", message: { role: "assistant", content: [] } };
const filler = { type: "progress", data: "x".repeat(1000) };
const log = (...entries: object[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");

type Earlier = Pick<SessionSummary, "sizeBytes" | "messageCount">;
async function rowOf(
  content: string,
  earlier?: Earlier,
  counting: MessageCountMode = "near",
): Promise<SessionSummary & { readonly bytesRead: number }> {
  const data = Buffer.from(content);
  let bytesRead = 0;
  const read: ByteSource["read"] = async ({ start, end }) => {
    bytesRead += end - start;
    return data.subarray(start, end);
  };
  const source: ByteSource = { size: bytes(data.byteLength), read, close: async () => undefined };
  const row = await summariseSession({
    source,
    sessionId: sessionId("s"),
    mtimeMs: 2000,
    birthtimeMs: 1000,
    earlier,
    counting,
  });
  return { ...row, bytesRead };
}

describe("the first prompt", () => {
  it.each([
    ["the engine's own messages", said("meta", { isMeta: true })],
    ["a summary after compaction", said("summary", { isCompactSummary: true })],
    ["sub-agents", said("side", { isSidechain: true })],
    [
      "tool results",
      said([
        { type: "tool_result", tool_use_id: "t", content: "result" },
        { type: "text", text: "beside it" },
      ]),
    ],
    ["slash commands", said("<command-name>/clear</command-name>")],
    ["output of local commands", said([{ type: "text", text: "<local-command-stdout>x" }])],
    ["blank messages", said("  \n")],
    ["replies", reply],
  ])("is not taken from %s", async (_, entry) => {
    expect((await rowOf(log(entry, said("typed")))).firstPrompt).toBe("typed");
  });

  it("is cut at 200 characters, and no character is split", async () => {
    expect((await rowOf(log(said(`a${"𝄞".repeat(500)}`)))).firstPrompt).toBe(`a${"𝄞".repeat(199)}`);
  });

  it("is empty where nobody typed anything", async () => {
    expect((await rowOf("")).firstPrompt).toBe("");
  });
});

describe("the title", () => {
  const custom = { type: "custom-title", customTitle: "mine" };
  const made = { type: "ai-title", aiTitle: "made" };
  const summary = { type: "summary", summary: "older form" };

  it("is what the user chose, before what a model chose, before an old summary", async () => {
    expect((await rowOf(log(custom, made, summary))).summary).toBe("mine");
    expect((await rowOf(log(made, summary))).summary).toBe("made");
    expect((await rowOf(log(summary))).summary).toBe("older form");
    expect((await rowOf(log(reply))).summary).toBeUndefined();
  });

  it("is the newest of its kind, from either end of a long transcript", async () => {
    const middle = Array.from({ length: 300 }, () => filler);
    expect((await rowOf(log(custom, ...middle, made))).summary).toBe("mine");
    expect((await rowOf(log(custom, ...middle, { ...custom, customTitle: "newer" }))).summary).toBe("newer");
  });
});

describe("circumstances", () => {
  it("come from the entries: first time and folder, newest time and branch", async () => {
    const first = { ...said("a"), timestamp: "2026-01-01T00:00:00Z", cwd: "/first", gitBranch: "main" };
    const last = { ...reply, timestamp: "2026-01-02T00:00:00Z", cwd: "/last", gitBranch: "topic" };
    expect(await rowOf(log(filler, first, last, filler))).toMatchObject({
      created: "2026-01-01T00:00:00.000Z",
      modified: "2026-01-02T00:00:00.000Z",
      projectPath: "/first",
      gitBranch: "topic",
      isSidechain: false,
    });
  });

  it("tell every time in one form, and nothing else that stands in it", async () => {
    const first = { ...said("a"), timestamp: "1 Jan 2026 02:00 +0200 (\u001B]0;gone\u0007)" };
    expect(await rowOf(log(first, { ...reply, timestamp: "2026-01-02T01:00:00+01:00" }))).toMatchObject({
      created: "2026-01-01T00:00:00.000Z",
      modified: "2026-01-02T00:00:00.000Z",
    });
  });

  it("fall back to the file's times", async () => {
    expect(await rowOf(log({ ...reply, timestamp: "yesterday" }))).toMatchObject({
      created: "1970-01-01T00:00:01.000Z",
      modified: "1970-01-01T00:00:02.000Z",
    });
  });
});

describe("the count of messages", () => {
  const long = log(...Array.from({ length: 1000 }, () => [said("x".repeat(300)), reply]).flat());

  it("leaves out sidechains and everything that is no message", async () => {
    expect((await rowOf(log(said("a"), reply, filler, { ...reply, isSidechain: true }))).messageCount).toBe(2);
  });

  it("takes the entries of a reply, and the results of its calls, for one message each", async () => {
    expect((await rowOf(log(said("a"), reply, reply, said("r1"), said("r2"), reply))).messageCount).toBe(4);
  });

  it("is unknown for a transcript that was not read whole", async () => {
    expect((await rowOf(long)).messageCount).toBeUndefined();
  });

  it("is exact for any length where everything is to be counted, over lines that pieces cut", async () => {
    const wide = log(said("x".repeat(copyChunkBytes + 7)), filler, reply);
    expect((await rowOf(long, undefined, "all")).messageCount).toBe(2000);
    expect((await rowOf(wide.repeat(3) + long, undefined, "all")).messageCount).toBe(2006);
    expect((await rowOf(long.trimEnd(), undefined, "all")).messageCount).toBe(2000);
  });

  it("reads only the growth where an earlier count stands, however much that is", async () => {
    const grown = long + log(filler).repeat(Math.ceil(countedGrowthBytesMax / 1000)) + log(said("b"));
    const earlier = { sizeBytes: bytes(long.length), messageCount: 2000 };
    const row = await rowOf(grown, earlier, "all");
    expect(row.messageCount).toBe(2001);
    expect(row.bytesRead).toBeLessThan(grown.length - long.length + 3 * summaryEndBytes + 2);
  });

  it("goes on from an earlier count by reading the growth", async () => {
    const earlier = { sizeBytes: bytes(long.length), messageCount: 2000 };
    expect((await rowOf(long + log(said("b"), filler, reply), earlier)).messageCount).toBe(2002);
    // The reply goes on.
    expect((await rowOf(long + log(reply, filler, said("b")), earlier)).messageCount).toBe(2001);
  });

  it("does not go on from a count that ended inside a line, nor over a growth that is too big to read", async () => {
    const inside = { sizeBytes: bytes(long.length - 5), messageCount: 2000 };
    expect((await rowOf(long, inside)).messageCount).toBeUndefined();
    const grown = long + "x".repeat(countedGrowthBytesMax + 1);
    expect((await rowOf(grown, { sizeBytes: bytes(long.length), messageCount: 2000 })).messageCount).toBeUndefined();
  });
});

it("reads the same number of bytes of a long transcript as of a longer one", async () => {
  const unit = log(...Array.from({ length: 200 }, () => filler));
  const [shorter, longer] = [await rowOf(unit), await rowOf(unit.repeat(50))];
  expect(shorter.bytesRead).toBe(2 * summaryEndBytes);
  expect(longer.bytesRead).toBe(2 * summaryEndBytes);
});
