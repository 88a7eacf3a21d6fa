import { chmod, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { traceWaitingBytesMax, tracedValueCharsMax } from "../limits.ts";
import { millis } from "palimpsest/internal/schema/brand";
import { fileLines, openTraceFile, TraceFile, TraceWriter, blockValue, cutForTrace } from "./trace-writer.ts";

const newPath = async (): Promise<string> => join(await mkdtemp(join(tmpdir(), "trace-")), "trace.jsonl");

async function opened(path: string): Promise<TraceFile> {
  const outcome = await openTraceFile({ path, onError: (error) => expect.unreachable(error.message) });
  if (outcome.kind !== "open") throw new Error(outcome.kind);
  return outcome.file;
}

/** A disk that does what the test says. */
function disk(append: (text: string) => Promise<void>) {
  const errors: string[] = [];
  const handle = {
    appendFile: async (data: unknown) => append(String(data)),
    close: async () => Promise.reject(new Error("bad descriptor")),
  };
  return { file: new TraceFile(handle, (error) => errors.push(error.message)), errors };
}

describe("a trace's file", () => {
  it("has all lines in the order of the calls once it is closed, and is its owner's alone", async () => {
    const path = await newPath();
    const file = await opened(path);
    const lines = Array.from({ length: 500 }, (_, at) => `line ${at}`);
    for (const line of lines) void file.write(line);
    await file.close();
    await file.write("too late");
    await file.close();
    expect(await readFile(path, "utf8")).toBe(`${lines.join("\n")}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is never continued and never replaced; an empty one is taken", async () => {
    const path = await newPath();
    await writeFile(path, "");
    await chmod(path, 0o600);
    const file = await opened(path);
    await file.write("mine");
    await file.close();
    expect(await readFile(path, "utf8")).toBe("mine\n");
    const taken = await newPath();
    await writeFile(taken, "theirs\n");
    expect(await openTraceFile({ path: taken, onError: () => {} })).toEqual({ kind: "exists" });
    expect(await readFile(taken, "utf8")).toBe("theirs\n");
  });

  it("tells an error once and breaks nobody who writes", async () => {
    let tries = 0;
    const { file, errors } = disk(async () => {
      tries += 1;
      throw new Error("disk full");
    });
    await file.write("one");
    await file.flush();
    await file.write("two");
    await file.flush();
    await file.close();
    expect(errors).toEqual(["disk full"]);
    expect(tries).toBe(1);
  });

  it("lets whoever writes wait while too much waits for the disk", async () => {
    const free = Promise.withResolvers<void>();
    const { file } = disk(() => free.promise);
    const order: string[] = [];
    const small = file.write("small").then(() => order.push("small"));
    await small;
    const big = file.write("x".repeat(traceWaitingBytesMax)).then(() => order.push("big"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    order.push("free");
    free.resolve();
    await big;
    expect(order).toEqual(["small", "free", "big"]);
  });
});

describe("fileLines", () => {
  it("ends a line at a newline only, whatever else is in it and wherever a chunk ends", async () => {
    const path = await newPath();
    const lines = ["a\u2028b\rc", "", "é".repeat(100_000), "last"];
    await writeFile(path, lines.join("\n"));
    const read: string[] = [];
    for await (const line of fileLines(path)) read.push(line);
    expect(read).toEqual(lines);
  });
});

const marker = { cache_control: { type: "ephemeral" } };
const result = { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "r", ...marker }], ...marker };
const body = {
  tools: [{ name: "read", input_schema: {}, ...marker }],
  system: "You help.",
  messages: [
    { role: "user", content: "hello" },
    { role: "user", content: [{ type: "text", text: "one", citations: undefined, ...marker }, result] },
  ],
};

it("of safeguards a trace has only the types: they describe the user's folders", async () => {
  const lines: string[] = [];
  const writer = new TraceWriter({ write: async (line) => void lines.push(line) });
  const safeguards = [{ type: "dangerous_tool_use", classifier_context: { home_dir: "/home/me" } }];
  const facts = { n: 1, id: "req_1", at: millis(0), endpoint: "/v1/messages", workspace: "w", model: "m" };
  await writer.request({ ...facts, betas: [], faults: [], body: { safeguards, max_tokens: 1 } });
  expect(lines.join()).toContain('"params":{"safeguards":[{"type":"dangerous_tool_use"}],"max_tokens":1}');
});

describe("blockValue", () => {
  it.each([
    ["tools.0", { name: "read", input_schema: {} }],
    ["system.0", { type: "text", text: "You help." }],
    ["messages.0.content.0", { type: "text", text: "hello" }],
    ["messages.0.content", { type: "text", text: "hello" }],
    ["messages.1.content.0", { type: "text", text: "one" }],
    ["messages.1.content.1", { type: "tool_result", tool_use_id: "t", content: [{ type: "text", text: "r" }] }],
    ["messages.7.content.0", null],
    ["constructor.name", null],
  ])("finds what stands at %s, without its marker", (path, value) => {
    expect(blockValue(body, path)).toStrictEqual(value);
  });
});

describe("tracedValue", () => {
  it("keeps a value whole up to the limit and beyond it the beginning of its JSON", () => {
    const fits = "x".repeat(tracedValueCharsMax - 2);
    expect(cutForTrace(fits)).toEqual({ value: fits });
    expect(cutForTrace(`${fits}x`)).toEqual({ value: `"${fits}x`, cut: { ofChars: tracedValueCharsMax + 1 } });
  });
});
