import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestBody } from "../../packages/gateway/src/body/request-body.ts";
import { readClientList } from "../../packages/gateway/src/conversation/request/client-list.ts";
import { ConversationTools } from "../../packages/gateway/src/conversation/request/conversation-tools.ts";
import { recallTool } from "../../packages/gateway/src/conversation/tools/recall-tool.ts";
import { RequestWriter } from "../../packages/gateway/src/conversation/request/request-writer.ts";
import { wireFormats } from "../../packages/gateway/src/conversation/request/wire-format.ts";
import type { Provider } from "../../packages/palimpsest/src/context/provider-formats.ts";
import { valueText } from "./body-texts.ts";
import { parametersFor } from "./runs.ts";

const space = fc.constantFrom("", "", " ", "\n  ");
/** Members that are not what a test sets itself: `JSON.parse` would take the last of two with the same name. */
const extra = fc.array(fc.tuple(fc.constantFrom('"1"', '"z"', '"__proto__"', '"0"'), valueText), { maxLength: 3 });
const object = (members: readonly (readonly [string, string])[], [before, after]: readonly [string, string]): string =>
  `{${before}${members.map(([name, value]) => `${name}${after}:${before}${value}`).join(`${after},${before}`)}${after}}`;
const objectWith = (...own: readonly (readonly [string, string])[]) =>
  fc
    .tuple(extra, fc.boolean(), space, space)
    .map(([members, isFirst, ...gaps]) => object(isFirst ? [...own, ...members] : [...members, ...own], gaps));
const listOf = (item: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(item, { minLength: 1, maxLength: 3 }), space, space)
    .map(([items, before, after]) => `[${before}${items.join(`${after},${before}`)}${after}]`);

const huge = ['"maximum"', "9223372036854775807"] as const;
const system = fc.oneof(
  fc.constantFrom('"You fix."', '"\\ud800 \\u00e4"'),
  listOf(objectWith(['"type"', '"text"'], ['"text"', '"You \\ud800."'])),
);
const tools = listOf(objectWith(['"name"', '"read"'], huge));
const bodyFor = (provider: Provider) =>
  fc
    .tuple(
      fc.shuffledSubarray<readonly [string, fc.Arbitrary<string>]>(
        [
          ['"tools"', tools],
          ...(provider === "anthropic"
            ? ([
                ['"system"', system],
                ['"thinking"', objectWith()],
              ] as const)
            : [['"stream_options"', objectWith()] as const]),
          ['"metadata"', valueText],
        ],
        { minLength: 0 },
      ),
      listOf(objectWith(['"role"', '"user"'], ['"content"', '"Fix \\ud800."'])),
      space,
      space,
    )
    .chain(([fields, list, ...gaps]) =>
      fc
        .tuple(...fields.map(([name, value]) => value.map((text) => [name, text] as const)))
        .map((members) =>
          object(
            [
              ['"model"', '"claude-fable-5-2"'],
              ...members,
              [provider === "openai-responses" ? '"input"' : '"messages"', list],
              ['"stream"', "true"],
            ],
            gaps,
          ),
        ),
    );

const mark = '"cache_control":{"type":"ephemeral"}';

/** Takes out what the gateway adds, where it stands in the bytes. */
function withoutAdditions(
  provider: Provider,
  { sent, text }: { readonly sent: string; readonly text: string },
): string {
  const recall = JSON.stringify(wireFormats[provider].writeTool(recallTool.definition));
  const binding = '"block_binding":{"prefix_mismatch_behavior":"drop_block"}';
  const usage = '"include_usage":true';
  const plain = [recall, `"stream_options":{${usage}}`, usage, binding, mark].reduce(
    (rest, one) => rest.replaceAll(`,${one}`, "").replaceAll(one, ""),
    sent,
  );
  if (!/"system"\s*:\s*"/.test(text)) return plain;
  return plain.replace(/(?<="system"\s*:\s*)\[\{"type":"text","text":("(?:[^"\\]|\\.)*")\}\]/, "$1");
}

function write(provider: Provider, text: string): string {
  const format = wireFormats[provider];
  const body = RequestBody.read(Buffer.from(text), { list: format.listField });
  if (body === undefined) return expect.unreachable();
  const list = readClientList(format, body);
  const reduction = { recall: "on", memory: "off", deferTools: "off", cacheMarks: "added" } as const;
  const tools = new ConversationTools(format, { provider, reduction, now: () => 0 });
  const request = { params: { model: "", max_tokens: 1, messages: [] }, betas: [], maxTokens: 1_000_000 };
  const { bytes } = new RequestWriter<Provider>({ provider, reduction }, tools).write({
    body,
    list,
    outgoing: list.elements.map((_, at) => ({ kind: "given", at })),
    request,
    operation: "create",
  });
  return Buffer.concat(bytes).toString();
}

describe("what the gateway adds to a request", () => {
  it.each<Provider>(["anthropic", "openai-chat", "openai-responses"])(
    "stands between the client's own bytes: without it they are the client's (%s)",
    (provider) => {
      let changed = 0;
      fc.assert(
        fc.property(bodyFor(provider), (text) => {
          const sent = write(provider, text);
          changed += Number(sent !== text);
          expect(withoutAdditions(provider, { sent, text })).toBe(text);
        }),
        parametersFor({ quick: 300, long: 20_000 }),
      );
      expect(changed).toBeGreaterThan(50);
    },
  );
});
