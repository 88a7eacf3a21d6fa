import { describe, expect, it } from "vitest";
import { call, folded, type Raw, result, says, summary, text, user } from "../../../../../test/fixture/raw.ts";
import { computeScope, findWaitingItems } from "./scope.ts";

const waitingTokensMax = 1_000;
const done = [user("u"), says("a", "m", text("Yes."))];
const read = [says("c", "n", call("t1")), result("r", "t1")];
const reminder: Raw = { type: "attachment", uuid: "x", attachment: { type: "hook", content: "Mind the gap." } };
const queued: Raw = { type: "attachment", uuid: "q", attachment: { type: "queued_command", prompt: "And this too." } };
const many = Array.from({ length: 300 }, (_, at) => user(`v${at}`, "go on"));

const rows: readonly (readonly [string, readonly Raw[], readonly string[]])[] = [
  ["nothing behind a reply", done, []],
  ["nothing behind a result", [...done, user("v"), ...read], []],
  ["a message behind a reply, with all behind it", [...done, user("v"), reminder], ["v", "x"]],
  ["not what stands before the person's words", [...done, reminder, user("v")], ["v"]],
  ["what was said while the agent was at work", [...done, user("v"), ...read, queued], ["q"]],
  ["several messages", [...done, user("v"), user("w")], ["v", "w"]],
  ["more messages than anybody reads", [...done, ...many], many.map(({ uuid }) => uuid)],
  ["nothing that is too large", [...done, user("v", "word ".repeat(5_000))], []],
  ["nothing where nothing would be covered", [user("v")], []],
  ["nothing behind a summary alone", [summary("s"), user("v")], []],
  ["a message behind a summary with talk before it", [...done, summary("s"), user("v")], ["v"]],
];

describe("what waits for its answer stays", () => {
  it.each(rows)("%s", (_, raws, expected) => {
    expect(findWaitingItems(folded(raws), { waitingTokensMax }).map(({ entry }) => entry)).toEqual(expected);
  });

  it.each(rows)("%s: as the scope of everything has it", (_, raws) => {
    const fold = folded(raws);
    const scoped = computeScope(fold, { part: { kind: "all" }, waitingTokensMax });
    expect(findWaitingItems(fold, { waitingTokensMax })).toEqual(scoped.kind === "scope" ? scoped.scope.kept : []);
  });
});
