import { RequestBody } from "../../packages/gateway/src/body/request-body.ts";
import { writeBody } from "../../packages/gateway/src/body/write-body.ts";
import { type BenchCase, type Figure, median, timed } from "../measure.ts";

const [elementCount, rounds, warmRounds] = [400, 60, 20];
const elementChars = 2_000;

/**
 * What the gateway does with the bytes of a request, beside `JSON.parse` and `JSON.stringify` of the whole. Each request of
 * the loop has two messages more than the one before, and the marks for the cache move to its last two messages.
 */
export const bodyCase: BenchCase = {
  name: "body",
  run: () => Promise.resolve(figures()),
};

function figures(): Figure[] {
  const bodies = Array.from({ length: warmRounds + rounds }, (_, round) => requestBytes(elementCount + 2 * round));
  const times: Times = { first: [], next: [], whole: [] };
  let previous: RequestBody | undefined;
  for (const [round, bytes] of bodies.entries()) {
    let read: RequestBody | undefined;
    const next = timed(() => {
      read = RequestBody.read(bytes, { list: "messages", previous });
      if (read === undefined) throw new Error("the body was not read");
      for (const element of read.elements.slice(read.unchanged)) void element.value;
      // One message is replaced, as the layers do.
      const replaced = read.elements.map((element) => (element.index === 20 ? replacement : element));
      writeBody(read, { list: replaced, fields: { max_tokens: 1000 } });
    });
    const first = timed(() => void RequestBody.read(bytes, { list: "messages" }));
    const whole = timed(() => void Buffer.from(JSON.stringify(JSON.parse(bytes.toString()))));
    previous = read;
    if (round < warmRounds) continue;
    times.next.push(next);
    times.first.push(first);
    times.whole.push(whole);
  }
  const [first, next, whole] = [median(times.first), median(times.next), median(times.whole)];
  const bytes = bodies[warmRounds]?.length ?? 0;
  const detail = `${(bytes / 1e6).toFixed(2)} MB, ${elementCount + 2 * warmRounds} messages and up; whole: ${whole.toFixed(2)} ms; medians of ${rounds} in turn`;
  return [
    { name: "next request over JSON.parse and JSON.stringify", value: next / whole, unit: "×", limit: 0.1, detail },
    { name: "next request: read, new messages parsed, written", value: next, unit: "ms", limit: 0.5, detail },
    { name: "first request over JSON.parse and JSON.stringify", value: first / whole, unit: "×", limit: 1, detail },
    { name: "first request: read", value: first, unit: "ms", detail },
  ];
}

interface Times {
  readonly first: number[];
  readonly next: number[];
  readonly whole: number[];
}

const replacement = Buffer.from('{"role":"user","content":"(removed)"}');
const line = '  const total = lines.filter((line) => line.includes("\\t")).length; // ä\n';

/** In the order in which Claude Code writes its fields. */
function requestBytes(count: number): Buffer {
  const messages = Array.from({ length: count }, (_, index) =>
    messageAt(index, index >= count - 2 ? { cache_control: { type: "ephemeral" } } : {}),
  );
  const tools = Array.from({ length: 20 }, (_, index) => ({
    name: `tool_${index}`,
    description: line.repeat(10),
    input_schema: {},
  }));
  return Buffer.from(
    JSON.stringify({
      model: "claude-opus-5",
      messages,
      system: line.repeat(80),
      tools,
      max_tokens: 32_000,
      stream: true,
    }),
  );
}

function messageAt(index: number, mark: object) {
  const id = `toolu_${index >> 1}`;
  const text = line.repeat(Math.round((elementChars * (1 + (index % 3))) / 2 / line.length));
  return index % 2 === 0
    ? { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: text, ...mark }] }
    : {
        role: "assistant",
        content: [
          { type: "text", text },
          { type: "tool_use", id, name: "read", input: { path: id, limit: 10 }, ...mark },
        ],
      };
}
