import type { Provider } from "../../packages/palimpsest/src/context/provider-formats.ts";
import { StreamRelay } from "../../packages/gateway/src/reply/stream-relay.ts";
import { callPart, type SampleReply, sampleStream, textPart } from "../../test/fixture/gateway-replies.ts";
import { type BenchCase, type Figure, median } from "../measure.ts";

const repeats = 15;
const repliesPerRepeat = 200;
const deltas = 190;

/** The processor time of relaying a reply of 200 events, beside a loop that copies its chunks. */
export const relayCase: BenchCase = {
  name: "relay",
  run: async () => {
    const gatewayTools = new Set(["palimpsest_recall"]);
    const reply = sampleReply("The next few words of an answer ");
    const called: SampleReply = {
      ...reply,
      parts: [textPart("Let me see."), callPart("call_1", "palimpsest_recall", { query: "port" })],
      stop: "calls",
    };
    const providers: readonly Provider[] = ["anthropic", "openai-chat", "openai-responses"];
    return providers.flatMap((provider) => {
      const plain = chunksOf(sampleStream(provider, reply));
      const before = chunksOf(sampleStream(provider, called));
      return [
        figure(`${provider}: own tools offered`, { provider, gatewayTools, streams: [plain] }),
        figure(`${provider}: continued after an own call`, { provider, gatewayTools, streams: [before, plain] }),
      ];
    });
  },
};

const sampleReply = (words: string): SampleReply => ({
  id: "reply_1",
  parts: [{ ...textPart(...Array.from({ length: deltas }, (_, at) => `${words}${at}`)), id: "1" }],
  stop: "end",
  usage: { input: 1_000, cached: 50_000, output: 900 },
});

/** One event a chunk, as they arrive from a server that writes each at once. */
const chunksOf = (stream: Buffer): readonly Uint8Array[] =>
  stream
    .toString("utf8")
    .split(/(?<=\n\n)/)
    .map((text) => Buffer.from(text));

interface RelayRun {
  readonly provider: Provider;
  readonly gatewayTools: ReadonlySet<string>;
  readonly streams: readonly (readonly Uint8Array[])[];
}

function figure(name: string, run: RelayRun): Figure {
  const events = run.streams.flat().length;
  const ours: number[] = [];
  const copies: number[] = [];
  for (let repeat = 0; repeat <= repeats; repeat += 1) {
    const [relayMs, copyMs] = [processorMillis(() => relay(run)), processorMillis(() => copy(run))];
    // The first one warms up.
    if (repeat === 0) continue;
    ours.push(relayMs);
    copies.push(copyMs);
  }
  const ratio = median(ours) / median(copies);
  return {
    name,
    value: median(ours),
    unit: "ms a reply",
    limit: 1,
    detail: `processor time, ${events} events in as many chunks; a copy of each chunk takes ${median(copies).toFixed(4)} ms: ${ratio.toFixed(0)} ×`,
  };
}

/** For one reply. */
function processorMillis(act: () => number): number {
  const begin = process.cpuUsage();
  let bytes = 0;
  for (let reply = 0; reply < repliesPerRepeat; reply += 1) bytes += act();
  const { user, system } = process.cpuUsage(begin);
  if (bytes === 0) throw new Error("nothing was relayed");
  return (user + system) / 1_000 / repliesPerRepeat;
}

function relay({ provider, gatewayTools, streams }: RelayRun): number {
  const relayed = new StreamRelay({ provider, gatewayTools, onEvent: () => undefined });
  let bytes = 0;
  for (const [at, chunks] of streams.entries()) {
    if (at > 0) relayed.continue();
    for (const chunk of chunks) for (const piece of relayed.take(chunk)) bytes += piece.length;
    for (const piece of relayed.end().out) bytes += piece.length;
  }
  return bytes;
}

function copy({ streams }: RelayRun): number {
  let bytes = 0;
  for (const chunks of streams) for (const chunk of chunks) bytes += Buffer.from(chunk).length;
  return bytes;
}
