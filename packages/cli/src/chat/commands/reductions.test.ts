import { expect, test } from "vitest";
import type { RecordedEdit } from "palimpsest/internal/session/past-receipts";
import { entryId, messageId, tokens } from "palimpsest/internal/schema/brand";
import { type Entry, readEntry } from "palimpsest/internal/schema/entry";
import { computeReductions } from "./cost-command.ts";

function entryOf(raw: Parameters<typeof readEntry>[0]): Entry {
  const read = readEntry(raw);
  if (read.kind !== "entry") throw new Error(read.why);
  return read.entry;
}

const replied = (id: string, of = id): Entry =>
  entryOf({ type: "assistant", uuid: id, message: { id: messageId(of), role: "assistant", content: [] } });
const edit = (id: string): Entry => entryOf({ type: "clear", uuid: id, results: [], attachments: [], cause: "asked" });

const recorded = (id: string, over: Partial<RecordedEdit> = {}): RecordedEdit => ({
  id: entryId(id),
  kind: "clear",
  at: "",
  state: "in force",
  by: "engine",
  cause: undefined,
  because: undefined,
  count: 1,
  receipt: {
    cause: "asked",
    tokensBefore: tokens(10_000),
    tokensAfter: tokens(4_000),
    price: { writeRate: 1.25, readRate: 0.1, now: 500, perRound: 600 },
    entries: {},
  },
  undoes: true,
  ...over,
});

test.each([
  ["nothing was asked behind it", [edit("e")], 0],
  ["the first round behind it pays for what was moved", [edit("e"), replied("a")], -500],
  ["each later round saves", [edit("e"), replied("a"), replied("b"), replied("c")], 700],
  ["a reply of several entries is one round", [edit("e"), replied("a"), replied("b", "a")], -500],
  ["what was said before it does not count", [replied("x"), edit("e"), replied("a")], -500],
] as const)("%s", (_rule, path, savedInputTokens) => {
  expect(computeReductions(path, [recorded("e")])).toEqual({ edits: 1, tokens: 6_000, savedInputTokens });
});

test("what is deleted in the provider's cache counts by its price: the messages stay as they are", () => {
  const receipt = recorded("e").receipt;
  const price = { writeRate: 1.25, readRate: 0.1, now: -600, perRound: 600 };
  const same = receipt && { ...receipt, tokensAfter: receipt.tokensBefore, price };
  const sum = computeReductions(
    [edit("e"), replied("a"), replied("b")],
    [recorded("e", { kind: "server-edits", receipt: same })],
  );
  expect(sum).toEqual({ edits: 1, tokens: 6_000, savedInputTokens: 1_200 });
});

test("what was undone, the caller removed itself, has no receipt or shows more than before counts for nothing", () => {
  const grown = recorded("e").receipt;
  const edits = [
    recorded("e", { state: "undone" }),
    recorded("e", { by: "caller" }),
    recorded("e", { receipt: undefined }),
    recorded("e", { receipt: grown && { ...grown, tokensAfter: tokens(20_000) } }),
  ];
  expect(computeReductions([edit("e"), replied("a")], edits)).toEqual({ edits: 0, tokens: 0, savedInputTokens: 0 });
});
