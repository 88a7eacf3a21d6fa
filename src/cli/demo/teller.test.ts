import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createOutput } from "../output.ts";
import { demoTeller } from "./teller.ts";

function listening(isTTY: boolean) {
  const stream = Object.assign(new PassThrough(), { isTTY });
  return {
    teller: demoTeller({ out: createOutput(stream, { NO_COLOR: "1" }) }),
    read: (): string => String(stream.read() ?? ""),
  };
}

it("a claim that is not so is said to be not so, and counted", async () => {
  const { teller, read } = listening(false);
  await teller.claim({ label: "view", isSo: true, text: "byte-identical" });
  expect(teller.surprises()).toBe(0);
  await teller.claim({ label: "view", isSo: false, text: "byte-identical" });
  expect(teller.surprises()).toBe(1);
  expect(read()).toBe("  view      byte-identical\n  view      NOT SO: byte-identical\n");
});

it.each([
  ["is wiped before the next line at a terminal", true, "\r\u001B[K  round 1\r\u001B[K  done\n"],
  ["is not shown elsewhere", false, "  done\n"],
])("progress %s", async (_, isTTY, shown) => {
  const { teller, read } = listening(isTTY);
  await teller.progress("round 1");
  await teller.say("done");
  expect(read()).toBe(shown);
});
