import { expect, it } from "vitest";
import { call, clear, folded, result, says, user } from "../../../../../test/fixture/raw.ts";
import { collectImportedRounds } from "./run.ts";

const log = [
  user("u1"),
  says("a1", "msg_1", call("toolu_1"), call("toolu_2")),
  result("r1", "toolu_1"),
  result("r2", "toolu_2"),
  says("a2", "msg_2", call("toolu_3")),
  result("r3", "toolu_3"),
];
const idsOf = (rounds: ReturnType<typeof collectImportedRounds>): string[][] =>
  rounds.map((results) => results.map(({ toolUse }) => toolUse));

it("gives the results of each round together, with their tools", () => {
  const rounds = collectImportedRounds(folded(log).projection, {
    toolOf: (name) => (name === "Read" ? { offload: "never" } : undefined),
  });
  expect(idsOf(rounds)).toEqual([["toolu_1", "toolu_2"], ["toolu_3"]]);
  expect(rounds[0]?.[0]).toEqual({
    toolUse: "toolu_1",
    tool: "Read",
    content: "output of toolu_1",
    state: "logged",
    offload: "never",
  });
});

it("leaves out what an edit has decided about, and results whose call is not there", () => {
  const fold = folded([...log, result("r4", "toolu_4"), clear("c1", "toolu_1")]);
  expect(idsOf(collectImportedRounds(fold.projection))).toEqual([["toolu_2"], ["toolu_3"]]);
});
