import {
  isObject,
  type Json,
  type JsonObject,
  listField,
  textField,
  tryParseJson,
} from "../../../packages/palimpsest/src/schema/json.ts";
import { type RecordedClient, restoreRequest } from "../../fixture/gateway-clients/recorded-client.ts";

export interface ReplayedRequest {
  readonly status: number;
  readonly body: string;
  /** What the client got. */
  readonly reply: string;
}

/** Sends a client's recorded requests one after the other, each with the ids and seals of the replies that it got. */
export async function replayClient(recorded: RecordedClient, baseUrl: string): Promise<readonly ReplayedRequest[]> {
  const values: Record<string, string[]> = { call: [], signature: [], reasoning: [], seal: [], item: [] };
  const sent: ReplayedRequest[] = [];
  for (const at of recorded.requests.keys()) {
    const { path, headers, body } = restoreRequest(recorded, { at, values });
    const response = await fetch(`${baseUrl}${path}`, {
      method: "POST",
      headers: { ...headers, "x-api-key": "none", authorization: "Bearer none" },
      body,
    });
    const reply = await response.text();
    for (const [kind, found] of readValues(reply)) values[kind]?.push(found);
    sent.push({ status: response.status, body, reply });
  }
  return sent;
}

type Found = readonly [kind: string, value: string];

/** In the order in which the client will send them. */
function readValues(reply: string): readonly Found[] {
  const events = reply
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => tryParseJson(line.slice("data: ".length)))
    .filter(isObject);
  return events.flatMap(readEvent);
}

function readEvent(event: JsonObject): readonly Found[] {
  switch (textField(event, "type")) {
    case "content_block_start":
      return pick(event["content_block"], "tool_use", [["call", "id"]]);
    case "content_block_delta":
      return pick(event["delta"], "signature_delta", [["signature", "signature"]]);
    case "response.output_item.done":
      return readItem(event["item"]);
    case undefined:
      return listField(event, "choices").flatMap((choice) => {
        const delta = isObject(choice) ? choice["delta"] : undefined;
        return isObject(delta)
          ? listField(delta, "tool_calls").flatMap((call) => pick(call, "function", [["call", "id"]]))
          : [];
      });
    default:
      return [];
  }
}

const readItem = (item: Json | undefined): readonly Found[] => [
  ...pick(item, "reasoning", [
    ["reasoning", "id"],
    ["seal", "encrypted_content"],
  ]),
  ...["function_call", "custom_tool_call"].flatMap((type) =>
    pick(item, type, [
      ["item", "id"],
      ["call", "call_id"],
    ]),
  ),
  ...pick(item, "message", [["item", "id"]]),
];

/** Fields of a block of this type. */
function pick(
  block: Json | undefined,
  type: string,
  fields: readonly (readonly [kind: string, name: string])[],
): readonly Found[] {
  if (!isObject(block) || textField(block, "type") !== type) return [];
  return fields.flatMap(([kind, name]): Found[] => {
    const value = textField(block, name);
    return value === undefined ? [] : [[kind, value]];
  });
}
