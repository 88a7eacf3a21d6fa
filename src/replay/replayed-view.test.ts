import { describe, expect, it } from "vitest";
import { madeRecording, type MadeRound } from "../../test/fixture/replay/made-recording.ts";
import type { Block, Message } from "../schema/block.ts";
import { entryId, toolUseId } from "../schema/brand.ts";
import { ReplayedView } from "./replayed-view.ts";

const deaf = { reset: () => {}, item: () => {}, shown: () => {}, hidden: () => {} };
const short = (block: Block): string => {
  switch (block.type) {
    case "text":
      return block.text.replace(/^\d+ tokens: /, "");
    case "tool_use":
      return `call ${block.id}`;
    case "tool_result":
      return `${block.tool_use_id}=${(typeof block.content === "string" ? block.content : "").replace(/^\d+ tokens: /, "")}`;
    default:
      return block.type;
  }
};

const made: readonly MadeRound[] = [{}, { results: [500] }, { results: [600], said: 5 }, { said: 5 }];

/** Before the request of this round. */
function viewAt(round: number, thinking: "kept" | "left-out" = "kept", rounds = made) {
  const { rounds: recorded, tokensOf } = madeRecording(rounds);
  const view = new ReplayedView({ watch: deaf, thinking });
  for (const { before, reply } of recorded.slice(0, round)) {
    view.say(before);
    view.say(reply);
  }
  view.say(recorded[round]?.before ?? []);
  return { view, tokensOf, shown: () => view.next()?.map(({ content }) => content.map(short).join(", ")) };
}

describe("the view of a replay", () => {
  it("is what was recorded", () => {
    expect(viewAt(2).shown()).toEqual([
      "user 0",
      "reply 0, call t1_0",
      "t1_0=t1_0",
      "reply 1, call t2_0",
      "t2_0=t2_0, user 2",
    ]);
  });

  it("shows markers for what is cleared and previews for what is offloaded", () => {
    const { view, shown } = viewAt(2);
    view.clear([toolUseId("t1_0")], "cleared");
    view.offload(toolUseId("t2_0"), "preview");
    expect(shown()?.filter((line) => line.includes("="))).toEqual(["t1_0=cleared", "t2_0=preview, user 2"]);
  });

  it("keeps behind a compaction the last reply and what came since, with the summary before it", () => {
    const { view, shown, tokensOf } = viewAt(2);
    expect(view.newTokens(tokensOf)).toBe(50 + 30 + 600 + 5);
    view.compact({ summary: [{ type: "text", text: "summary" }], kept: view.newEntries });
    expect(shown()).toEqual(["summary", "reply 1, call t2_0", "t2_0=t2_0, user 2"]);
  });

  it("compacts again what a compaction left", () => {
    const { view, shown } = viewAt(2);
    view.compact({ summary: [{ type: "text", text: "first" }], kept: view.newEntries });
    view.compact({ summary: [{ type: "text", text: "second" }], kept: view.newEntries });
    expect(shown()).toEqual(["second", "reply 1, call t2_0", "t2_0=t2_0, user 2"]);
  });

  it("has no rounds that were snipped", () => {
    const { view, shown } = viewAt(2);
    view.snip([entryId("u0"), entryId("a0"), entryId("u1")]);
    expect(shown()?.join(" | ")).not.toContain("t1_0");
  });

  it("shows the stand-in of rounds that were collapsed in their place, and no half of a pair", () => {
    const { view, shown } = viewAt(3);
    view.collapse({ from: entryId("a0"), to: entryId("u1"), shown: "one round" });
    const [first, ...rest] = shown() ?? [];
    expect(first).toMatch(/^user 0, <system-reminder>\none round\n<\/system-reminder>$/);
    expect(rest).toEqual(["reply 1, call t2_0", "t2_0=t2_0, user 2", "reply 2", "user 3"]);
  });

  it("knows how results look", () => {
    const { view } = viewAt(2);
    view.clear([toolUseId("t1_0")], "cleared");
    expect([...view.decisions].map(([id, decisions]) => [id, decisions.map(({ shown }) => shown)])).toEqual([
      ["t1_0", ["cleared"]],
    ]);
  });

  it("has thinking only where it is kept", () => {
    const rounds: readonly MadeRound[] = [{ thinking: 9 }, { said: 3 }];
    expect(viewAt(1, "kept", rounds).shown()?.[1]).toBe("thinking, reply 0");
    expect(viewAt(1, "left-out", rounds).shown()?.[1]).toBe("reply 0");
  });

  it("shows a fork also what ends with a reply, and the same without some entries", () => {
    const { view } = viewAt(2);
    view.say(madeRecording(made).rounds[2]?.reply ?? []);
    const words = (messages: readonly Message[]) => messages.map(({ content }) => content.map(short).join(", "));
    expect(view.next()).toBeUndefined();
    expect(words(view.messages).slice(-2)).toEqual(["t2_0=t2_0, user 2", "reply 2"]);
    expect(words(view.messagesWithout([entryId("a1"), entryId("u2"), entryId("a2")]))).toEqual([
      "user 0",
      "reply 0, call t1_0",
      "t1_0=t1_0",
    ]);
  });

  it("has nothing to send before anybody spoke", () => {
    expect(new ReplayedView({ watch: deaf }).next()).toBeUndefined();
  });
});
