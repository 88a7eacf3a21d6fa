import { describe, expect, it } from "vitest";
import { fakeSecrets } from "../../../../test/fixture/secrets.ts";
import { openedForTest, reopened, say, testDeps, user } from "../../../../test/fixture/session.ts";
import { ruleScanner } from "../memory/redact-secrets.ts";
import { messageId, toolUseId } from "../schema/brand.ts";
import { replyDraft, resultDraft } from "../transcript/draft.ts";
import { createRedaction, redactedMessage } from "./redaction.ts";

const letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1h";
const key = ["sk-", "ant-api03-", letters].join("");
const mark = "[secret: anthropic-key]";

function redacting() {
  const found: string[] = [];
  const redaction = createRedaction({
    secrets: ruleScanner,
    onRedacted: (findings) => void found.push(...findings.map(({ kind }) => kind)),
  });
  return { redaction, found };
}

describe("redaction", () => {
  it("replaces secrets in texts, inputs and results, and says which kinds there were", async () => {
    const { redaction, found } = redacting();
    const draft = replyDraft({
      id: messageId("m"),
      model: "m",
      content: [
        { type: "text", text: `use ${key}` },
        {
          type: "tool_use",
          id: toolUseId("t"),
          name: "bash",
          input: { command: `curl -H ${key}`, password: "hunter22" },
        },
      ],
    });
    const redacted = await redaction.draft(draft);
    expect(redacted).toEqual({
      ...draft,
      message: {
        type: "message",
        role: "assistant",
        id: "m",
        model: "m",
        content: [
          { type: "text", text: `use ${mark}` },
          {
            type: "tool_use",
            id: "t",
            name: "bash",
            input: { command: `curl -H ${mark}`, password: "[secret: password]" },
          },
        ],
      },
    });
    expect(found.toSorted()).toEqual(["anthropic-key", "password"]);
    await redaction.text(`once more: ${key}`);
    expect(found).toHaveLength(2);
    expect(redactedMessage([{ kind: "a" }, { kind: "b" }, { kind: "a" }])).toBe(
      "3 secrets left out of the session (2 × a, b). The model and the session see [secret: …] instead.",
    );
  });

  it("leaves blocks with a signature whole, and what holds no secret is the same draft", async () => {
    const { redaction, found } = redacting();
    const signed = [
      { type: "thinking", thinking: `so ${key}`, signature: key },
      { type: "redacted_thinking", data: key },
      { type: "reasoning", summary: key, encrypted_content: key },
    ];
    const draft = {
      type: "assistant",
      message: { role: "assistant", content: [...signed, { type: "text", text: key }] },
    };
    expect(await redaction.draft(draft)).toEqual({
      type: "assistant",
      message: { role: "assistant", content: [...signed, { type: "text", text: mark }] },
    });
    expect(found).toEqual(["anthropic-key"]);
    const plain = { ...user("hello"), serverSummary: { model: "m", block: { type: "compaction", content: key } } };
    expect(await redaction.draft(plain)).toBe(plain);
    const both = await redaction.draft({ ...plain, extra: key });
    expect(both).toEqual({ ...plain, extra: mark });
  });

  it("of a result replaces text and leaves images alone", async () => {
    const { redaction } = redacting();
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: letters } };
    expect(await redaction.content([{ type: "text", text: key }, image])).toEqual([
      { type: "text", text: mark },
      image,
    ]);
    expect(await redaction.content(`token=${key}`)).toBe(`token=${mark}`);
  });
});

it("a session with it holds none, in its view, in its log and when it is opened again", async () => {
  const { redaction } = redacting();
  const deps = { ...testDeps(), redaction };
  const session = await openedForTest(deps);
  for (const [at, { text }] of fakeSecrets.entries()) {
    await say(session, user(text));
    await say(
      session,
      replyDraft({
        id: messageId(`m${at}`),
        model: "m",
        content: [{ type: "tool_use", id: toolUseId(`t${at}`), name: "bash", input: { command: text } }],
      }),
    );
    await say(session, resultDraft({ toolUse: toolUseId(`t${at}`), content: text, summary: text.slice(0, 200) }));
  }
  const views = [JSON.stringify(session.view())];
  const again = await reopened(deps, session);
  views.push(JSON.stringify(again.view()));
  await again.close();
  for (const view of views)
    for (const { secret } of fakeSecrets) expect(view).not.toContain(JSON.stringify(secret).slice(1, -1));
});
