import { describe, expect, it } from "vitest";
import { entryOf, type Raw, says, text, user } from "../../../../test/fixture/raw.ts";
import { userText } from "./text-facts.ts";

const queued = (attachment: object): Raw => ({
  type: "attachment",
  uuid: "q",
  attachment: { type: "queued_command", ...attachment },
});
const answered = { type: "tool_result", tool_use_id: "t", content: "done" };

describe("what the user said", () => {
  it.each<[string, Raw, string | undefined]>([
    ["is what was typed", user("u", " Mend the clock. "), "Mend the clock."],
    ["is what was typed beside results", user("u", [answered, text("And the bells.")]), "And the bells."],
    ["is what was typed while the agent was at work", queued({ prompt: "Wait." }), "Wait."],
    ["is what was typed then in parts", queued({ prompt: [text("Wait."), text("Go.")] }), "Wait.\nGo."],
    ["is not what machines queue", queued({ prompt: "done", commandMode: "task-notification" }), undefined],
    ["is no reminder of a client", user("u", "<system-reminder>\nx\n</system-reminder>"), undefined],
    [
      "is no command's output",
      user("u", [text("<local-command-stdout>x</local-command-stdout>"), text("Go on.")]),
      "Go on.",
    ],
    ["is no interruption", user("u", "[Request interrupted by user]"), undefined],
    ["is not what the engine wrote", user("u", "x", { isMeta: true }), undefined],
    ["is no summary", user("u", "x", { isCompactSummary: true }), undefined],
    ["is not what a sub-agent was asked", user("u", "x", { isSidechain: true }), undefined],
    ["is not what the model said", says("a", "m", text("x")), undefined],
  ])("%s", (_, raw, said) => {
    expect(userText(entryOf(raw))).toBe(said);
  });
});
