import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createOutput } from "./output.ts";

function terminal() {
  const stream = Object.assign(new PassThrough(), { isTTY: true });
  return { out: createOutput(stream, {}), read: (): string => String(stream.read() ?? "") };
}

describe("what is written for people", () => {
  it.each([
    ["a cursor move", "\u001B[2J", String.raw`\x1b[2J`],
    ["a window title", "\u001B]0;mine\u0007", String.raw`\x1b]0;mine\x07`],
    ["a colour that is not ours", "\u001B[31mred\u001B[39m", String.raw`\x1b[31mred\x1b[39m`],
    ["an 8-bit control", "\u009B2J", String.raw`\x9b2J`],
    ["a carriage return", "a\rb", String.raw`a\x0db`],
    ["delete", "\u007F", String.raw`\x7f`],
    ["text in the other direction", "a\u202Eb\u2066c", "a<U+202E>b<U+2066>c"],
    ["what can't be seen", "a\u200Bb\u{E0041}", "a<U+200B>b<U+E0041>"],
  ])("shows %s and does not do it", async (_, text, shown) => {
    const { out, read } = terminal();
    await out.write(`${text}\n\tend`);
    expect(read()).toBe(`${shown}\n\tend`);
  });

  it("has colours of our own, around text that has none", async () => {
    const { out, read } = terminal();
    await out.write(`${out.style("red", "bad\u001B[32m")} ${out.style("bold", "name")}`);
    expect(read()).toBe("\u001B[31mbad\\x1b[32m\u001B[39m \u001B[1mname\u001B[22m");
  });
});

it.each([
  [{ columns: 70 }, "50", 70],
  [{ columns: 0 }, "50", 50],
  [{ columns: 0 }, undefined, undefined],
  [{}, "50", 50],
  [{}, undefined, undefined],
  [{}, "wide", undefined],
  [{}, "0", undefined],
  [{}, "99999", undefined],
])("a terminal of %j with COLUMNS %s has %s columns", (terminalHas, said, columns) => {
  const stream = Object.assign(new PassThrough(), terminalHas);
  expect(createOutput(stream, said === undefined ? {} : { COLUMNS: said }).columns).toBe(columns);
});

describe("progress", () => {
  it("takes the place of what stood there, is cleared by an empty line, and is escaped too", async () => {
    const { out, read } = terminal();
    await out.progress("");
    await out.progress("half\u001B[2J");
    await out.progress("");
    expect(read()).toBe("\r\u001B[Khalf\\x1b[2J\r\u001B[K");
  });

  it("is for terminals only", async () => {
    const stream = new PassThrough();
    await createOutput(stream, { FORCE_COLOR: "1" }).progress("half");
    expect(stream.read()).toBeNull();
  });
});

it("bytes and JSON stay as they are", async () => {
  const { out, read } = terminal();
  await out.bytes(Buffer.from("\u001B[2J\n"));
  await out.json({ text: "\u202E\u009B" });
  expect(read()).toBe('\u001B[2J\n{"text":"\u202E\u009B"}\n');
});

it("bytes that end within a line get its end at a terminal, and only there", async () => {
  const { out, read } = terminal();
  for (const text of ["", "a", "b\n"]) await out.bytes(Buffer.from(text));
  expect(read()).toBe("a\nb\n");
  const pipe = new PassThrough();
  await createOutput(pipe, {}).bytes(Buffer.from("a"));
  expect(String(pipe.read())).toBe("a");
});
