import { describe, expect, it } from "vitest";
import { boundary, folded, type Raw, says, summary, text, user } from "../../../../test/fixture/raw.ts";
import { findSystemPrompt } from "./path.ts";

const prompt = (uuid: string, extra: object = {}): Raw => ({
  type: "system",
  subtype: "system_prompt",
  uuid,
  content: `prompt ${uuid}`,
  ...extra,
});
const promptOf = (...raws: readonly Raw[]): string | undefined => findSystemPrompt(folded(raws).path);

describe("the recorded system prompt", () => {
  it("is the one that the path hangs on", () => {
    expect(promptOf(prompt("p"), user("u"), says("a", "m", text("ok")))).toBe("prompt p");
    expect(promptOf(user("u"))).toBeUndefined();
  });

  it("is the newest of several", () => {
    expect(promptOf(prompt("p"), user("u"), prompt("q"), prompt("r"), user("v"))).toBe("prompt r");
  });

  it("is not that of another branch", () => {
    const raws = [prompt("p"), user("u"), prompt("q"), user("v"), user("w", "w", { parentUuid: "u" })];
    expect(promptOf(...raws)).toBe("prompt p");
  });

  it("is not that of another conversation in the same log", () => {
    expect(promptOf(prompt("p"), user("u"), user("v", "v", { parentUuid: null }))).toBeUndefined();
  });

  it("is not that of a sub-agent", () => {
    expect(promptOf(prompt("p"), user("u"), prompt("q", { isSidechain: true }), user("v"))).toBe("prompt p");
  });

  it("holds after a boundary", () => {
    const cut = { ...boundary("b"), parentUuid: null, logicalParentUuid: "u" };
    expect(promptOf(prompt("p"), user("u"), cut, summary("s"))).toBe("prompt p");
    const behindPrompt = { ...cut, logicalParentUuid: "q" };
    expect(promptOf(prompt("p"), user("u"), prompt("q"), behindPrompt, summary("s"))).toBe("prompt q");
  });

  it("is not any other system entry, whatever it says", () => {
    const notice = { type: "system", subtype: "notice", uuid: "n", content: "hello" };
    expect(promptOf(notice, user("u"))).toBeUndefined();
  });

  it("is found once if the parents form a cycle", () => {
    const round = [prompt("p", { content: 1, parentUuid: "q" }), prompt("q", { content: 2 }), user("u")];
    expect(promptOf(...round)).toBeUndefined();
  });
});
