import { describe, expect, it } from "vitest";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import type { Json } from "palimpsest/internal/schema/json";
import { partBytes, responseParts } from "./request-content.ts";
import { createMasker, maskParts } from "./masker.ts";

const token = `ghp_${"a1B2".repeat(9)}`;
const masker = createMasker({ mask: maskSecrets, credentials: ["a-key-of-no-known-shape"] });

/** Each data of a stream, as it is kept. */
function kept(...data: readonly Json[]): readonly unknown[] {
  const bytes = Buffer.from(data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
  return maskParts(responseParts([{ atMillis: 0, bytes }], "text/event-stream"), masker).map(({ content }) =>
    "data" in content ? content.data : content,
  );
}

const inPieces = (text: string, size = 5): readonly string[] => text.match(new RegExp(`.{1,${size}}`, "gsu")) ?? [];
const said = JSON.stringify;

describe("a stream that is kept", () => {
  it.each<[string, (piece: string) => Json]>([
    ["Messages", (text) => ({ type: "content_block_delta", index: 1, delta: { type: "text_delta", text } })],
    ["Chat Completions", (content) => ({ choices: [{ index: 0, delta: { content } }] })],
    ["Responses", (delta) => ({ type: "response.output_text.delta", item_id: "m", output_index: 0, delta })],
  ])("has no secret that is spread over its events: %s", (_, eventOf) => {
    const text = `The 🗼 token is ${token}, the key a-key-of-no-known-shape. 🗼`;
    const events = kept(...inPieces(text).map((piece) => eventOf(piece)));
    expect(events).toHaveLength(inPieces(text).length);
    const pieces = events.map((event) => /"(?:text|content|delta)":"([^"]*)"/.exec(said(event))?.[1] ?? "");
    expect(pieces.join("")).toBe("The 🗼 token is [secret: github-token], the key [secret: key]. 🗼");
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
  });

  it("masks the input of a call as what it is: the fields of an object", () => {
    const input = JSON.stringify({ password: 'my"own-Word9', city: "Paris" });
    const events = kept(
      ...inPieces(input).map((partial) => ({
        type: "content_block_delta",
        index: 0,
        delta: { type: "input_json_delta", partial_json: partial },
      })),
    );
    const joined = events.map((event) => (event as { delta: { partial_json: string } }).delta.partial_json).join("");
    expect(JSON.parse(joined)).toEqual({ password: "[secret: password]", city: "Paris" });
  });

  it("keeps texts apart that come at the same time", () => {
    const delta = (index: number, text: string): Json => ({ type: "content_block_delta", index, delta: { text } });
    const half = token.length / 2;
    const events = kept(delta(0, token.slice(0, half)), delta(1, "between"), delta(0, token.slice(half)));
    expect(said(events)).not.toContain(token.slice(half));
    expect(events[1]).toEqual(delta(1, "between"));
  });

  it("leaves signatures and the bytes of all other events alone", () => {
    const signature = `${token}==`;
    const text = `data: {"delta": {"type": "signature_delta", "signature": "${signature}"} }\n\ndata: {"usage": {"output_tokens": 1.0}}\n\n`;
    const parts = responseParts([{ atMillis: 0, bytes: Buffer.from(text) }], "text/event-stream");
    const bytes = maskParts(parts, masker).map((part) => Buffer.from(partBytes(part)).toString());
    expect(bytes.join("")).toBe(text);
  });

  it.each<[string, string, string]>([
    [
      "an id, a pause and a comment",
      'id: 7\nretry: 10\n: ok\nevent: x\ndata: {"delta":{"text":"§"}}\n\n',
      "id: 7\nretry: 10\n: ok",
    ],
    ["data over several lines", 'data: {"delta":\r\ndata: {"text":"§"}}\r\nid: 7\r\n\r\n', "\r\nid: 7\r\n\r\n"],
    ["an end that did not come", ': ok\ndata: {"delta":{"text":"§"}}', ": ok\n"],
    ["a secret in a comment", `: ${token}\ndata: {"delta":{"text":"§"}}\n\n`, ": [secret: github-token]\n"],
  ])("finds a secret that is spread over events which have %s", (_, form, rest) => {
    const half = token.length / 2;
    const stream = (first: string, second: string): string =>
      `data: {"delta":{"text":"${first}"}}\n\n${form.replace("§", () => second)}`;
    const keptText = (text: string): string => {
      const parts = responseParts([{ atMillis: 0, bytes: Buffer.from(text) }], "text/event-stream");
      return Buffer.concat(maskParts(parts, masker).map((part) => partBytes(part))).toString();
    };
    const masked = keptText(stream(token.slice(0, half), token.slice(half)));
    expect(masked).not.toContain(token.slice(half));
    expect(masked).not.toContain(token.slice(0, half));
    expect(masked).toContain(rest);
    expect(keptText(masked)).toBe(masked);
    const plain = stream("nothing", "hidden").replace(token, "");
    expect(keptText(plain)).toBe(plain);
  });

  it("leaves out who asked, also in the reply that an event of Responses holds", () => {
    const tools = [{ type: "mcp", server_label: "x", authorization: "my-own", headers: { "x-a": "my-other" } }];
    const response = {
      user: "somebody",
      safety_identifier: "some-body",
      metadata: { user_id: "some", run: "1" },
      tools,
    };
    expect(kept({ type: "response.created", sequence_number: 0, response })).toEqual([
      {
        type: "response.created",
        sequence_number: 0,
        response: {
          user: "[left out]",
          safety_identifier: "[left out]",
          metadata: { user_id: "[left out]", run: "1" },
          tools: [{ type: "mcp", server_label: "x", authorization: "[left out]", headers: "[left out]" }],
        },
      },
    ]);
  });

  it("masks what came of an event before the stream broke", () => {
    const bytes = Buffer.from(`data: {"delta":{"text":"${token}`);
    const [part] = maskParts(responseParts([{ atMillis: 0, bytes }], "text/event-stream"), masker);
    expect(said(part)).not.toContain(token);
  });
});

describe("masking", () => {
  it("twice changes nothing, and a reply sent back is masked as in the reply", () => {
    const body = {
      mcp_servers: [{ url: "https://u:secret99@x.example", authorization_token: "short" }],
      messages: [
        { role: "user", content: `{"api_key": "abc-def-123456", "other": 1}` },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "x", input: { token: "Abc123-9z" } }] },
      ],
    };
    const once = masker.body(body);
    expect(masker.body(once)).toEqual(once);
    expect(said(once)).not.toMatch(/secret99|short|abc-def|Abc123/);
    expect(masker.text(said({ token: "Abc123-9z" }))).toBe('{"token":"[secret: token]"}');
  });

  it("leaves alone that nobody was named", () => {
    const tools = [{ type: "mcp", authorization: null, headers: null }];
    const none = { user: null, safety_identifier: null, metadata: { user_id: null }, tools };
    const body = { ...none, response: none };
    expect(masker.body(body)).toBe(body);
  });

  it.each([
    ["in organization org-AbCdEfGhIjKlMnOpQrStUvWx on", "in organization [secret: account] on"],
    ["project `proj_a1b2c3d4e5f6g7h8i9`", "project `[secret: account]`"],
    ["the org-internationalisation, org-AbC and proj_reorganisations", undefined],
  ])("knows the id of an account: %s", (text, masked = text) => {
    expect(masker.text(text)).toBe(masked);
  });

  it("of a secret is the same whether the rules know it or a header tells", () => {
    const secrets = [token, "org-AbCdEfGhIjKlMnOpQrStUvWx"];
    const told = createMasker({ mask: maskSecrets, credentials: secrets });
    for (const secret of secrets) expect(told.text(`It is ${secret}.`)).toBe(masker.text(`It is ${secret}.`));
  });

  it("of a credential that begins with another hides all of it", () => {
    const both = createMasker({ mask: maskSecrets, credentials: ["a-key.of-no-shape", "a-key.of-no-shape.and-more"] });
    expect(both.text("a-key.of-no-shape.and-more, a-key.of-no-shape, a-key-of-no-shape")).toBe(
      "[secret: key], [secret: key], a-key-of-no-shape",
    );
  });

  it.each([
    [`{"user": "somebody", "user": null}`, "somebody"],
    [`{"a": [{"b": "${token}", "c": 1, "b": "x"}]}`, token],
    [`{"a": "{\\"b\\": \\"${token}\\", \\"b\\": 1}"}`, token],
  ])("finds what stands under a name that comes twice: %s", (text, secret) => {
    expect(said(masker.content({ text }))).not.toContain(secret);
    const parts = responseParts([{ atMillis: 0, bytes: Buffer.from(`data: ${text}\n\n`) }], "text/event-stream");
    expect(said(maskParts(parts, masker))).not.toContain(secret);
  });

  it.each([`{ "a" : 1.0, "b": "\\u00e9 \\": {", "__proto__": {"a": [ {"a": null} ]} }`, `[ {"a": 1}, {"a": 2} ]`])(
    "keeps every byte of a spelling of its own: %s",
    (text) => {
      expect(masker.content({ text })).toEqual({ text });
    },
  );

  it.each([
    ["/v1/x?key=abc&beta=true", "/v1/x?key=[left out]&beta=true"],
    ["/v1/x?access_token=1", "/v1/x?access_token=[left out]"],
    [`/v1/${token}?a=${token}`, "/v1/[secret: github-token]?a=[secret: github-token]"],
    ["/v1/messages", "/v1/messages"],
  ])("of the path %s", (path, masked) => {
    expect(masker.path(path)).toBe(masked);
    expect(masker.path(masked)).toBe(masked);
  });
});
