import { describe, expect, it } from "vitest";
import { type Addition, RefusedAdditions } from "../conversation/request/refused-additions.ts";
import type { CountRequest } from "../conversation/request/request-writer.ts";
import type { Upstream, UpstreamFailure, UpstreamReply } from "../upstream/upstream.ts";
import { passCounted } from "./counted-pass.ts";
import { errorBytesMax } from "./limits.ts";

type Answer = UpstreamReply | UpstreamFailure;

const toReply = (status: number, body: string): UpstreamReply => ({
  kind: "reply",
  status,
  headers: {},
  body: toChunks([Buffer.from(body)]),
});

async function* toChunks(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* chunks;
}

const counts = (): Answer => toReply(200, "{}");
const reset: UpstreamFailure = { kind: "failed", why: "reset", message: "The connection failed." };

/** Counts of one model. Each request's text is `original`, or the names of its additions, behind `edited` if the list is. */
function createWorld(answer: (text: string) => Answer, { untouched = true }: { readonly untouched?: boolean } = {}) {
  const sent: string[] = [];
  const refused = new RefusedAdditions(() => 0);
  const known = ["thinking-binding", "gateway-tools"] as const;
  const key = (addition: Addition) =>
    ({ provider: "anthropic", model: "claude-sonnet-5-5", operation: "count", addition }) as const;
  const upstream: Upstream = {
    send: ({ body }) => {
      const text = Array.isArray(body) ? Buffer.concat(body).toString("utf8") : expect.unreachable();
      sent.push(text);
      return Promise.resolve(answer(text));
    },
  };
  const count = (): CountRequest => {
    const additions = known.filter((one) => !refused.has(key(one)));
    const counted: CountRequest = {
      bytes: [Buffer.from([...(untouched ? [] : ["edited"]), ...additions].join(" "))],
      betas: [],
      untouched,
      changes: untouched ? additions : ["messages", ...additions],
      list: [],
      additions,
      gatewayTools: [],
      extend: () => counted,
      leaveOut: ({ addition, sign }) => refused.add(key(addition), sign),
      addAgain: (addition) => refused.remove(key(addition)),
    };
    return counted;
  };
  const ask = async (): Promise<{ readonly status: number; readonly bytes: number }> => {
    const got = { status: 0, bytes: 0 };
    const { signal } = new AbortController();
    await passCounted(
      { upstream },
      {
        request: {
          provider: "anthropic",
          method: "POST",
          path: "/v1/messages/count_tokens",
          headers: {},
          body: Buffer.from("original"),
          operation: "count",
          user: "local",
          project: undefined,
          files: "separate",
          signal,
        },
        reply: {
          headersSent: false,
          head: (status) => (got.status = status),
          write: (bytes) => {
            got.bytes += bytes.byteLength;
            return Promise.resolve();
          },
          end: () => Promise.resolve(),
          destroy: () => undefined,
        },
        count,
      },
    );
    return got;
  };
  return { sent, ask, leftOut: () => known.filter((one) => refused.has(key(one))) };
}

describe("an addition that a refused count does not name", () => {
  const refuseSome = (isRefused: (text: string) => boolean) => (text: string) =>
    isRefused(text) ? toReply(400, "bad") : counts();

  it("is left out of later ones if only the additions differ from the client's request", async () => {
    const { ask, leftOut, sent } = createWorld(refuseSome((text) => text.includes("thinking-binding")));
    await ask();
    await ask();
    expect(leftOut()).toEqual(["thinking-binding", "gateway-tools"]);
    expect(sent).toEqual(["thinking-binding gateway-tools", "original", ""]);
  });

  it("is not suspected if the list was edited: the edit may be what is refused", async () => {
    const { ask, leftOut } = createWorld(
      refuseSome((text) => text.startsWith("edited")),
      { untouched: false },
    );
    expect(await ask()).toMatchObject({ status: 200 });
    expect(leftOut()).toEqual([]);
  });
});

describe("an addition that a refused count names", () => {
  const refuseThen = (next: (text: string) => Answer) => (text: string) =>
    text.includes("gateway-tools") ? toReply(400, "tools: 'recall' is wrong") : next(text);

  it("stays left out if the count without it is taken", async () => {
    const { ask, leftOut } = createWorld(refuseThen(counts));
    expect(await ask()).toMatchObject({ status: 200 });
    expect(leftOut()).toEqual(["gateway-tools"]);
  });

  it.each([
    ["is limited", () => toReply(429, "{}")],
    ["fails", () => reset],
    ["is refused like the client's own", () => toReply(400, "bad")],
  ] as const)("does not stay left out if the count without it %s", async (_, next) => {
    const { ask, leftOut } = createWorld(refuseThen(next));
    await ask();
    expect(leftOut()).toEqual([]);
  });
});

it("a refusal that is too large to be read is passed on: its connection would stay open", async () => {
  const chunks = [Buffer.alloc(errorBytesMax), Buffer.alloc(errorBytesMax)];
  const { ask, leftOut, sent } = createWorld(() => ({ ...toReply(400, ""), body: toChunks(chunks) }));
  expect(await ask()).toEqual({ status: 400, bytes: 2 * errorBytesMax });
  expect({ sent: sent.length, leftOut: leftOut() }).toEqual({ sent: 1, leftOut: [] });
});
