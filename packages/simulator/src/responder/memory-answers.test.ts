import { describe, expect, it } from "vitest";
import { assistantSays, delivered, requestOf, said, userSays } from "../../../../test/fixture/scene.ts";
import { extractResponder } from "./extract-responder.ts";

const answer = async (...messages: readonly object[]): Promise<unknown> =>
  JSON.parse(said(await delivered(extractResponder, requestOf(messages))));

describe("memories as one list", () => {
  const ask = (since: string, memories = "There are no memories yet.") =>
    userSays(
      `Save what later sessions need as memories. New is what came from the message on that begins ${JSON.stringify(since)}. Answer with one JSON list and nothing else.\n\n${memories}`,
    );

  it("are the user's lasting statements since the message that the request names", async () => {
    const talk = [
      userSays("Never use tabs."),
      assistantSays("Done."),
      userSays("Look. Always run the linter. Is it on?"),
    ];
    expect(await answer(...talk, assistantSays("Yes."), ask("Look. Always"))).toEqual([
      {
        path: "feedback_always_run_the_linter.md",
        name: "feedback always run the linter",
        description: "Always run the linter.",
        type: "feedback",
        body: "Always run the linter.",
      },
    ]);
  });

  it("are none if the file is listed already, or if the words stand in pasted text", async () => {
    const listed = ask("Always", "- feedback_always_run_the_linter.md (feedback, today): Linter");
    expect(await answer(userSays("Always run the linter."), assistantSays("Yes."), listed)).toEqual([]);
    const pasted = `Fix this log:\n${"the server never answers\n".repeat(80)}`;
    expect(await answer(userSays(pasted), assistantSays("Yes."), ask("Fix this log"))).toEqual([]);
  });
});

describe("the answers of a dream", () => {
  const memory = (path: string, body: string, facts = "feedback; today"): string =>
    `Memory ${path} (${facts}):\n---\nname: "x"\n---\n\n${body}`;
  const directive = (how: string, texts: readonly string[], passages = ""): object =>
    userSays(
      `You tidy up the memories.\n${how}\n<memory_texts>\n${texts.join("\n\n")}\n</memory_texts>\n\n<passages>\n${passages}\n</passages>`,
    );
  const changes =
    '{"changes": [{"path": "a.md", "delete": true}], "removed": []} The same object has one JSON list more.';

  it("ask for the first words of each memory", async () => {
    const texts = [memory("a.md", "Always run the linter before each and every commit.")];
    expect(await answer(directive('{"queries": ["deploy day"]}', texts))).toEqual({
      queries: ["Always run the linter before each and every"],
    });
  });

  it.each([
    [
      "a newer memory says the opposite",
      ["Never deploy on a Friday.", "Deploy on a Friday."],
      "",
      "a.md",
      "contradicted",
    ],
    ["an older one says the same", ["Deploy on a Monday.", "Deploy on a Monday!"], "", "b.md", "duplicate"],
    [
      "the user said the opposite later",
      ["Deploy on a Friday."],
      '- 2026-11-17, the user said: "never deploy on a friday"',
      "a.md",
      "contradicted",
    ],
  ])("delete a memory if %s, and say why", async (_, bodies, passages, path, why) => {
    const texts = bodies.map((body, at) => memory(`${"ab"[at] ?? ""}.md`, body));
    expect(await answer(directive(changes, texts, passages))).toMatchObject({
      changes: [{ path, delete: true }],
      removed: [{ path, why }],
    });
  });

  it("delete what names something that is gone, and leave the rest", async () => {
    const texts = [
      memory("a.md", "The notes are in docs/old.md.", "project; may be out of date: not found now: file docs/old.md"),
      memory("b.md", "Deploy on a Monday."),
    ];
    expect(await answer(directive(changes, texts))).toMatchObject({ changes: [{ path: "a.md", delete: true }] });
  });
});
