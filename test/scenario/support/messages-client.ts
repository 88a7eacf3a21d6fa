import { type IncomingHttpHeaders, request } from "node:http";
import {
  isArray,
  isObject,
  type JsonObject,
  parseJson,
  textField,
} from "../../../packages/palimpsest/src/schema/json.ts";

/** Where a client goes away. `after`: bytes of its body, or chunks of the reply. */
export interface ClientCut {
  readonly at: "body" | "head" | "stream";
  readonly after: number;
}

/** What a client got. */
export interface GotReply {
  /** Undefined without a head. */
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly end: "whole" | "broken";
}

export interface PostOptions {
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly cut?: ClientCut | undefined;
  /** Called with the number of each chunk of the reply. */
  readonly onChunk?: ((count: number) => void) | undefined;
  /** A client gives up when nothing comes for so long. */
  readonly silenceMs?: number;
}

/** Posts to the Messages API on a connection of its own, and never rejects. */
export function post(
  url: string,
  { body, headers = {}, cut, onChunk, silenceMs = 30_000 }: PostOptions,
): Promise<GotReply> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let status: number | undefined;
    let got: IncomingHttpHeaders = {};
    const bytes = Buffer.from(body);
    const settle = (end: GotReply["end"]): void => {
      resolve({ status, headers: got, bytes: Buffer.concat(chunks), end });
      sent.destroy();
    };
    const sent = request(`${url}/v1/messages`, {
      method: "POST",
      agent: false,
      timeout: silenceMs,
      headers: {
        "content-type": "application/json",
        "x-api-key": "none",
        "anthropic-version": "2023-06-01",
        "content-length": bytes.length,
        ...headers,
      },
    });
    sent.on("error", () => settle("broken")).on("timeout", () => settle("broken"));
    sent.on("response", (response) => {
      ({ statusCode: status, headers: got } = response);
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        onChunk?.(chunks.length);
        if (cut?.at === "stream" && chunks.length > cut.after) settle("broken");
      });
      response.on("end", () => settle(response.complete ? "whole" : "broken")).on("error", () => settle("broken"));
      response.on("close", () => settle("broken"));
    });
    if (cut?.at === "body") {
      sent.write(bytes.subarray(0, Math.min(cut.after, bytes.length - 1)), () => setTimeout(() => settle("broken"), 5));
      return;
    }
    sent.end(bytes);
    if (cut?.at === "head") setTimeout(() => settle("broken"), cut.after);
  });
}

/** The content of a reply, or undefined if it is none, or not whole. Throws if no client could read it. */
export function readContent({ status, headers, bytes, end }: GotReply): readonly JsonObject[] | undefined {
  if (status !== 200 || end === "broken") return undefined;
  const text = bytes.toString("utf8");
  if (!String(headers["content-type"]).includes("event-stream")) {
    const reply = parseJson(text);
    const content = isObject(reply) ? reply["content"] : undefined;
    if (!isArray(content)) throw new Error(`no reply: ${text.slice(0, 200)}`);
    return content.filter(isObject);
  }
  return readStream(text);
}

/** As the SDKs do: blocks by their index, one start, one stop. Undefined if it ends with an error, or before its end. */
function readStream(text: string): readonly JsonObject[] | undefined {
  const blocks: { readonly block: JsonObject; text: string; json: string }[] = [];
  let state: "new" | "started" | "stopped" = "new";
  for (const line of text.split("\n")) {
    if (!line.startsWith("data: ")) continue;
    const event = parseJson(line.slice("data: ".length));
    if (!isObject(event)) throw new Error(`no event: ${line}`);
    const type = textField(event, "type") ?? "";
    const { index } = event;
    switch (type) {
      case "message_start":
        if (state !== "new") throw new Error("a second message_start");
        state = "started";
        break;
      case "content_block_start": {
        const block = event["content_block"];
        if (index !== blocks.length || !isObject(block)) throw new Error(`a block out of order: ${line}`);
        blocks.push({ block, text: textField(block, "text") ?? "", json: "" });
        break;
      }
      case "content_block_delta": {
        const [open, delta] = [blocks[Number(index)], event["delta"]];
        if (open === undefined || !isObject(delta)) throw new Error(`no block: ${line}`);
        open.text += textField(delta, "text") ?? "";
        open.json += textField(delta, "partial_json") ?? "";
        break;
      }
      case "message_stop":
        state = "stopped";
        break;
      case "error":
        return undefined;
      case "content_block_stop":
      case "message_delta":
      case "ping":
        break;
      default:
        throw new Error(`an unknown event ${type}`);
    }
  }
  if (state !== "stopped") return undefined;
  return blocks.map(({ block, text: said, json }) =>
    block["type"] === "tool_use" ? { ...block, input: json === "" ? {} : parseJson(json) } : { ...block, text: said },
  );
}
