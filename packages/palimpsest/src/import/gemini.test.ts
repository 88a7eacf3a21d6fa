import { describe, expect, it } from "vitest";
import { imported, importFixture } from "../../../../test/fixture/imported.ts";
import { gemini } from "./gemini.ts";

describe("Gemini CLI logs", () => {
  it("hold calls and results in one message", () => {
    const session = imported(gemini, importFixture("gemini.json"));
    expect(session.problems).toEqual([]);
    expect(session.said).toEqual([
      "user: Tune the lute",
      'assistant: On it. | listen#l1{"string":1} | look#l2{}',
      "user: l1→flat | !l2→dark+image",
      "assistant: Tuned.",
      "user: Play | it",
    ]);
    expect(session.noted).toEqual({ "no-usage": 1, "record-left-out": 1, "thinking-unsigned": 1 });
    expect(session.entries[1]?.["message"]).toMatchObject({
      usage: { input_tokens: 22, cache_read_input_tokens: 30, output_tokens: 7 },
    });
  });

  it("with one message a line hold each message once, as last written, and not what was rewound", () => {
    const session = imported(gemini, importFixture("gemini.jsonl"));
    expect(session.said).toEqual(["user: Draft | Tune the harp", "assistant: Done."]);
    expect(session.noted).toEqual({ "no-usage": 1, "other-conversation": 1 });
  });

  it("keep everything if a rewind names an unknown message, and note it", () => {
    const rewound = importFixture("gemini.jsonl").replace('"$rewindTo": "h2"', '"$rewindTo": "h9"');
    const session = imported(gemini, rewound);
    expect(session.said).toEqual(["user: Draft | Tune it again | Tune the harp", "assistant: Done."]);
    expect(session.noted).toEqual({ "no-usage": 1, "record-left-out": 1 });
  });
});
