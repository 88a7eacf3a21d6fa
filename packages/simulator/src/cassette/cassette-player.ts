import { setTimeout as wait } from "node:timers/promises";
import type { MaskText } from "palimpsest/internal/export/mask-secrets";
import { maskSecrets } from "palimpsest/internal/text/find-secrets";
import { StreamBroken } from "../answer.ts";
import { type Connection, ConnectionDropped, toByteStream } from "../http/event-body.ts";
import { createInProcessFetch } from "../http/simulator-fetch.ts";
import { pauseMillisMax } from "../limits.ts";
import { errorBody, refusal } from "../refusal.ts";
import { partBytes } from "./request-content.ts";
import { type CassetteProblem, readCassetteFolder, type StoredCassette } from "./read-cassette-folder.ts";
import { findCredentials } from "./credentials.ts";
import type { Cassette } from "./cassette.ts";
import { createMasker } from "./masker.ts";
import { readRecordableRequest, formatMiss, type Comparable, toComparable, requestKey } from "./request-key.ts";

export interface PlayerOptions {
  readonly folder: string;
  /** `real`: events come with their recorded timing; `instant` (default): at once. */
  readonly speed?: "real" | "instant";
  readonly mask?: MaskText;
  /** Called with the message for a client whose request no cassette answers; some clients do not show it. */
  readonly onMiss?: (message: string) => void;
}

export type OpenPlayerOutcome =
  | { readonly kind: "player"; readonly player: CassettePlayer }
  | { readonly kind: "absent" };

/**
 * Answers a request with its recorded answer. A request that was recorded several times is answered in that order, and
 * with the last answer from then on.
 */
export class CassettePlayer {
  /** Cassettes that are not used: their files are damaged, or they do not fit into memory. */
  readonly problems: readonly CassetteProblem[];
  readonly cassetteCount: number;
  readonly #options: Required<Omit<PlayerOptions, "folder">>;
  readonly #sequenceByKey = new Map<string, CassetteSequence>();
  readonly #candidates: { readonly file: string; readonly request: Comparable }[] = [];

  private constructor(
    { speed, mask, onMiss }: Required<Omit<PlayerOptions, "folder">>,
    read: { readonly cassettes: readonly StoredCassette[]; readonly problems: readonly CassetteProblem[] },
  ) {
    this.#options = { speed, mask, onMiss };
    this.problems = read.problems;
    this.cassetteCount = read.cassettes.length;
    for (const stored of read.cassettes) this.#add(stored);
  }

  /** Rejects if the operating system refuses the folder. */
  static async open(options: PlayerOptions): Promise<OpenPlayerOutcome> {
    const read = await readCassetteFolder(options.folder);
    if (read.kind === "absent") return read;
    const all = { speed: "instant", mask: maskSecrets, onMiss: () => {}, ...options } as const;
    return { kind: "player", player: new CassettePlayer(all, read) };
  }

  /** For clients in this process: `new Anthropic({ fetch: player.fetch })`. Any host will do. */
  readonly fetch: typeof fetch = createInProcessFetch((request) => this.answer(request));

  readonly answer = async (request: Request, connection: Connection = {}): Promise<Response> => {
    const startedAt = performance.now();
    const recordable = await readRecordableRequest({
      request,
      connection,
      mask: this.#options.mask,
      credentials: findCredentials(request.headers),
    });
    if (recordable.kind === "too-large") return errorResponse(413, "The request is larger than any that is recorded");
    const stored = this.#next(recordable.recorded.key);
    if (stored === undefined) return this.#answerMiss(recordable.compared);
    const { cassette, file } = stored;
    const pace = async (atMillis: number): Promise<void> => {
      const left = Math.min(atMillis - (performance.now() - startedAt), pauseMillisMax);
      if (this.#options.speed === "real" && left > 0) await wait(left, undefined, { signal: request.signal });
    };
    const { response } = cassette;
    await pace(response?.atMillis ?? cassette.ending.atMillis);
    if (response === undefined) {
      connection.incoming?.socket.resetAndDestroy();
      throw new ConnectionDropped();
    }
    const headers = new Headers({ ...response.headers, "x-simulator-cassette": file });
    const { status } = response;
    if (cassette.parts.length === 0 && cassette.ending.end === "whole") return new Response(null, { status, headers });
    // Keeps the server from collecting the first events to compute a length.
    headers.set("transfer-encoding", "chunked");
    return new Response(toByteStream(playParts(cassette, pace), { connection, bytesOf: (bytes) => bytes }), {
      status,
      headers,
    });
  };

  /** Uses what the file says now: masking rules change, and users edit cassettes. */
  #add(stored: StoredCassette): void {
    const { method, path, body } = stored.cassette.request;
    const masker = createMasker({ mask: this.#options.mask, credentials: [] });
    const masked = { method, path: masker.path(path), body: body === null ? null : masker.content(body) };
    const request = toComparable(masked);
    this.#candidates.push({ file: stored.file, request });
    const key = requestKey(request);
    const sequence = this.#sequenceByKey.get(key);
    if (sequence === undefined) this.#sequenceByKey.set(key, { cassettes: [stored], next: 0 });
    else sequence.cassettes.push(stored);
  }

  #next(key: string): StoredCassette | undefined {
    const sequence = this.#sequenceByKey.get(key);
    if (sequence === undefined) return undefined;
    const stored = sequence.cassettes[sequence.next];
    sequence.next = Math.min(sequence.next + 1, sequence.cassettes.length - 1);
    return stored;
  }

  #answerMiss(request: Comparable): Response {
    // Clients use it to see whether the server is up.
    if (request.path === "/" && request.body === null) return new Response(null, { status: 200 });
    const message = formatMiss(request, this.#candidates);
    this.#options.onMiss(message);
    return errorResponse(404, message);
  }
}

/** The recordings of one request, and which of them comes next. */
interface CassetteSequence {
  readonly cassettes: StoredCassette[];
  next: number;
}

type Pace = (atMillis: number) => Promise<void>;

async function* playParts({ parts, ending }: Cassette, pace: Pace): AsyncGenerator<Uint8Array> {
  for (const part of parts) {
    await pace(part.atMillis);
    yield partBytes(part);
  }
  await pace(ending.atMillis);
  switch (ending.end) {
    case "whole":
    case "unreachable":
      return;
    case "aborted":
    case "broken":
      throw new StreamBroken();
  }
}

const errorResponse = (status: 404 | 413, message: string): Response =>
  Response.json(errorBody(refusal(status === 404 ? "not_found_error" : "request_too_large", message), null), {
    status,
  });
