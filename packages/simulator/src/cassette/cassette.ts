import { z } from "zod";
import { anyJson } from "palimpsest/internal/schema/any-json";
import { parseJson } from "palimpsest/internal/schema/json";

/**
 * A cassette is one exchange with an API, in a file of its own, one JSON value per line:
 *
 *   request                    once, first
 *   response                   absent if the client left before there was one
 *   part                       a part of the body: an event of a stream, or the whole body
 *   end                        once, last: a file without it is incomplete
 *
 * Times are measured from the moment the request came.
 */
const cassetteVersion = 1;

const millis = z.number().nonnegative();
const headers = z.record(z.string(), z.string());

/** A body: JSON if serialising it again gives the same bytes, base64 if it is not text. */
const contentForm = z.union([
  z.strictObject({ json: anyJson }),
  z.strictObject({ text: z.string() }),
  z.strictObject({ base64: z.base64() }),
]);

/** An event of a stream in the usual form, if serialising it again gives the same bytes. */
const eventForm = z.strictObject({ event: z.string().optional(), data: anyJson });

const requestLine = z.strictObject({
  type: z.literal("request"),
  version: z.literal(cassetteVersion),
  method: z.string(),
  /** With its query, below the base URL. */
  path: z.string(),
  /** The same for the same request. It is for readers and grep: the player computes it anew. */
  key: z.string(),
  headers,
  body: contentForm.nullable(),
});

const responseLine = z.strictObject({
  type: z.literal("response"),
  atMillis: millis,
  status: z.int().min(200).max(599),
  headers,
});

const partLine = z.strictObject({
  type: z.literal("part"),
  atMillis: millis,
  content: z.union([contentForm, eventForm]),
});

const endLine = z.strictObject({
  type: z.literal("end"),
  atMillis: millis,
  /** How the exchange ended; `unreachable`: the upstream did not answer, and the response is the recorder's. */
  end: z.enum(["whole", "aborted", "broken", "unreachable"]),
});

export type BodyContent = z.infer<typeof contentForm>;
export type EventContent = z.infer<typeof eventForm>;
export type ResponsePart = Omit<z.infer<typeof partLine>, "type">;
export type RecordedRequest = Omit<z.infer<typeof requestLine>, "type" | "version">;
type RecordedResponse = Omit<z.infer<typeof responseLine>, "type">;
export type CassetteEnd = Omit<z.infer<typeof endLine>, "type">;

export interface Cassette {
  readonly request: RecordedRequest;
  readonly response: RecordedResponse | undefined;
  readonly parts: readonly ResponsePart[];
  readonly ending: CassetteEnd;
}

/** The text of a cassette's file. */
export function formatCassette({ request, response, parts, ending }: Cassette): string {
  const lines = [
    { type: "request", version: cassetteVersion, ...request },
    ...(response === undefined ? [] : [{ type: "response", ...response }]),
    ...parts.map((part) => ({ type: "part", ...part })),
    { type: "end", ...ending },
  ];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

type ParseCassetteOutcome =
  | { readonly kind: "cassette"; readonly cassette: Cassette }
  /** `line` counts from 1. */
  | { readonly kind: "damaged"; readonly line: number; readonly message: string };

const damageOutcome = (line: number, message: string): ParseCassetteOutcome => ({ kind: "damaged", line, message });

export function parseCassette(source: string): ParseCassetteOutcome {
  const lines = source.split("\n");
  const last = lines.at(-1) === "" ? lines.length - 1 : lines.length;
  const request = readLine(lines[0], requestLine);
  if (request.kind === "wrong") return damageOutcome(1, request.message);
  const ending = last < 2 ? notEnded : readLine(lines[last - 1], endLine);
  if (ending.kind === "wrong") return damageOutcome(last, ending.message);
  const answered = last > 2;
  const response = answered ? readLine(lines[1], responseLine) : undefined;
  if (response?.kind === "wrong") return damageOutcome(2, response.message);
  const parts: ResponsePart[] = [];
  for (let at = 2; at < last - 1; at += 1) {
    const part = readLine(lines[at], partLine);
    if (part.kind === "wrong") return damageOutcome(at + 1, part.message);
    parts.push(part.value);
  }
  const { version: _, ...recorded } = request.value;
  return {
    kind: "cassette",
    cassette: { request: recorded, response: response?.value, parts, ending: ending.value },
  };
}

interface WrongLine {
  readonly kind: "wrong";
  readonly message: string;
}

const notEnded: WrongLine = { kind: "wrong", message: "there is no line that ends it" };

function readLine<Line extends { readonly type: string }>(
  line: string | undefined,
  form: z.ZodType<Line>,
): { readonly kind: "line"; readonly value: Omit<Line, "type"> } | WrongLine {
  try {
    const read = form.safeParse(parseJson(line ?? ""));
    if (read.success) {
      const { type: _, ...value } = read.data;
      return { kind: "line", value };
    }
    const [issue] = read.error.issues;
    const path = issue?.path.join(".") ?? "";
    return {
      kind: "wrong",
      message: `${path === "" ? "" : `${path}: `}${issue?.message ?? "not a line of a cassette"}`,
    };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "wrong", message: "no JSON" };
  }
}
