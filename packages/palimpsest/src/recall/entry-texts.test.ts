import { describe, expect, it } from "vitest";
import { entryOf } from "../../../../test/fixture/raw.ts";
import type { JsonObject } from "../schema/json.ts";
import { entryTexts } from "./entry-texts.ts";

const kinds = (over: JsonObject): readonly string[] =>
  entryTexts(entryOf({ type: "user", uuid: "u1", ...over })).map(({ kind, text }) => `${kind}: ${text}`);
const says = (content: string | JsonObject[], over: JsonObject = {}): readonly string[] =>
  kinds({ message: { role: "user", content }, ...over });
const text = (words: string): JsonObject => ({ type: "text", text: words });

describe("what is logged in the user's name", () => {
  const rows: readonly (readonly [string, readonly string[], readonly string[]])[] = [
    ["is the user's if it was typed", says("Deploy on Friday."), ["user: Deploy on Friday."]],
    [
      "is not if a command wrote it",
      says("<bash-stdout>no deploys</bash-stdout>"),
      ["meta: <bash-stdout>no deploys</bash-stdout>"],
    ],
    ["is not if an agent asked a sub-agent", says("Deploy.", { isSidechain: true }), ["meta: Deploy."]],
    ["is not if the engine wrote it", says("Deploy.", { isMeta: true }), ["meta: Deploy."]],
    ["is a summary if it is one", says("Deploy.", { isCompactSummary: true }), ["summary: Deploy."]],
    [
      "is taken apart if both stand in one message",
      says([text("<system-reminder>x</system-reminder>"), text("Deploy.")]),
      ["meta: <system-reminder>x</system-reminder>", "user: Deploy."],
    ],
    [
      "is the user's if it was typed while the agent worked",
      kinds({ type: "attachment", attachment: { type: "queued_command", prompt: "Deploy." } }),
      ["user: Deploy."],
    ],
  ];
  it.each(rows)("%s", (_, given, expected) => {
    expect(given).toEqual(expected);
  });
});
