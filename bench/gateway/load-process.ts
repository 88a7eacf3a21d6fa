import { setTimeout as wait } from "node:timers/promises";
import { Pool } from "undici";
import { z } from "zod";
import { answerParent } from "./answer-parent.ts";
import { ClientConversation, clientHeaders } from "./traffic.ts";

/** `begin` makes the clients; `grow` sends their next bodies to every target; `open` starts short conversations. */
const task = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("begin"), urls: z.array(z.string()), conversations: z.number(), bytes: z.number() }),
  z.object({ kind: z.literal("grow"), rounds: z.number() }),
  z.object({
    kind: z.literal("open"),
    url: z.string(),
    first: z.number(),
    conversations: z.number(),
    parallel: z.number(),
  }),
]);

let urls: readonly string[] = [];
let clients: readonly ClientConversation[] = [];
let turn = 0;
const poolByUrl = new Map<string, Pool>();

answerParent({
  first: {},
  answer: async (message) => {
    const asked = task.parse(message);
    switch (asked.kind) {
      case "begin":
        ({ urls } = asked);
        clients = Array.from(
          { length: asked.conversations },
          (_, at) => new ClientConversation(`growing-${at}`, asked),
        );
        return {};
      case "grow":
        return await grow(asked.rounds);
      case "open":
        await open(asked);
        return {};
    }
  },
  close: () => Promise.resolve(),
});

/** What a gateway does behind a reply must not fall into the next target's request. */
const pauseMs = 10;

/** Each body goes to every target, one after the other, in an order that rotates. */
async function grow(rounds: number): Promise<object> {
  const times = urls.map(() => ({ firstByteMs: [] as number[], lastByteMs: [] as number[] }));
  let bodyBytes = 0;
  for (let round = 0; round < rounds; round += 1)
    for (const client of clients) {
      const body = client.body();
      for (let at = 0; at < urls.length; at += 1) {
        const place = (at + turn) % urls.length;
        await wait(pauseMs);
        const { firstByteMs, lastByteMs } = await send(urls[place] ?? "", { client, body });
        times[place]?.firstByteMs.push(firstByteMs);
        times[place]?.lastByteMs.push(lastByteMs);
      }
      turn += 1;
      bodyBytes += body.byteLength;
      client.grow();
    }
  return { times, bodyBytes };
}

async function open({
  url,
  first,
  conversations,
  parallel,
}: Extract<z.infer<typeof task>, { kind: "open" }>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < conversations) {
      const client = new ClientConversation(`short-${first + (next += 1)}`, { bytes: 0 });
      await send(url, { client, body: client.body() });
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
}

async function send(
  url: string,
  { client, body }: { readonly client: ClientConversation; readonly body: Buffer },
): Promise<{ readonly firstByteMs: number; readonly lastByteMs: number }> {
  const pool = poolByUrl.get(url) ?? new Pool(url, { connections: 64, keepAliveTimeout: 60_000 });
  poolByUrl.set(url, pool);
  const startedAt = performance.now();
  const reply = await pool.request({
    method: "POST",
    path: "/v1/messages?beta=true",
    headers: clientHeaders(client),
    body,
  });
  let firstByteMs = NaN;
  let tail = "";
  for await (const chunk of reply.body) {
    if (tail === "") firstByteMs = performance.now() - startedAt;
    tail = `${tail}${String(chunk)}`.slice(-200);
  }
  const lastByteMs = performance.now() - startedAt;
  if (reply.statusCode !== 200 || !tail.includes("message_stop"))
    throw new Error(`a reply from ${url} was not whole: ${reply.statusCode}`);
  return { firstByteMs, lastByteMs };
}
