import { describe, expect, it } from "vitest";
import { fitReplyLimit } from "./reply-limit.ts";

const asked = { name: "max_tokens", value: 32_000 };
const thinking = { type: "enabled", budget_tokens: 31_999 };

describe("the limit of a reply", () => {
  it("stays as long as the reply fits", () => {
    expect(fitReplyLimit({ asked, thinking, fittingTokens: 32_000 })).toEqual({});
    expect(fitReplyLimit({ asked: undefined, thinking, fittingTokens: 1 })).toEqual({});
  });

  it("is lowered to the room that is left", () => {
    expect(fitReplyLimit({ asked, thinking: undefined, fittingTokens: 9_000 })).toEqual({ max_tokens: 9_000 });
    expect(fitReplyLimit({ asked, thinking: { type: "adaptive" }, fittingTokens: 9_000 })).toEqual({
      max_tokens: 9_000,
    });
  });

  it("takes the budget for thinking along, by halves, so that the next rooms have the same one", () => {
    const budget = (fittingTokens: number) => fitReplyLimit({ asked, thinking, fittingTokens })["thinking"];
    expect(budget(30_000)).toEqual({ type: "enabled", budget_tokens: 15_999 });
    expect(budget(16_000)).toEqual({ type: "enabled", budget_tokens: 15_999 });
    expect(budget(15_000)).toEqual({ type: "enabled", budget_tokens: 7_999 });
  });

  it("leaves the smallest budget that the API takes, and room to answer", () => {
    expect(fitReplyLimit({ asked, thinking, fittingTokens: 1_024 })).toEqual({
      max_tokens: 2_048,
      thinking: { type: "enabled", budget_tokens: 1_999 },
    });
    const small = { name: "max_tokens", value: 1_100 };
    const least = { type: "enabled", budget_tokens: 1_024 };
    expect(fitReplyLimit({ asked: small, thinking: least, fittingTokens: 1_050 })).toEqual({ max_tokens: 1_100 });
  });

  it("leaves a budget that the client itself puts above its limit", () => {
    const above = { type: "enabled", budget_tokens: 60_000 };
    expect(fitReplyLimit({ asked, thinking: above, fittingTokens: 9_000 })).toEqual({ max_tokens: 9_000 });
  });
});
