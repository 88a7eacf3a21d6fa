import { setTimeout as wait } from "node:timers/promises";
import { type MaskText, maskSecrets } from "palimpsest/internal/export/mask-secrets";
import { StreamBroken } from "../answer.ts";
import { type Connection, ConnectionDropped } from "../http/connection.ts";
import { inProcess } from "../http/fetch.ts";
import { carried } from "../http/sse.ts";
import { pauseMillisMax } from "../limits.ts";
import { errorBody, refusal } from "../refusal.ts";
import { askedRequest } from "./asked.ts";
import { partBytes } from "./content.ts";
import { type CassetteProblem, readFolder, type StoredCassette } from "./folder.ts";
import { credentialsIn } from "./headers.ts";
import type { Cassette } from "./line.ts";
import { createMasker } from "./mask.ts";
import { missText } from "./nearest.ts";
import { type Comparable, comparable, requestKey } from "./request-key.ts";

export interface PlayerOptions {
  readonly folder: string;
  /** `real`: events come when they came; `instant` (default): at once. */
  readonly speed?: "real" | "instant";
  readonly mask?: MaskText;
  /** What a client was told whose request no cassette answers; some clients keep that to themselves. */
  readonly onMiss?: (message: string) => void;
}

export type PlayerOpening = { readonly kind: "player"; readonly player: CassettePlayer } | { readonly kind: "absent" };

/**
 * Answers a request with what was answered when it was recorded. One that was recorded several times is answered in that
 * order, and with the last from then on.
 */
export class CassettePlayer {
  /** Cassettes that are not used: their files are damaged, or more than is held in memory. */
  readonly problems: readonly CassetteProblem[];
  readonly cassetteCount: number;
  readonly #options: Required<Omit<PlayerOptions, "folder">>;
  readonly #takesByKey = new Map<string, Takes>();
  readonly #candidates: { readonly file: string; readonly request: Comparable }[] = [];

  private constructor({ speed, mask, onMiss }: Required<Omit<PlayerOptions, "folder">>, read: Read) {
    this.#options = { speed, mask, onMiss };
    this.problems = read.problems;
    this.cassetteCount = read.cassettes.length;
    for (const stored of read.cassettes) this.#add(stored);
  }

  /** Rejects where the machine refuses the folder. */
  static async open(options: PlayerOptions): Promise<PlayerOpening> {
    const read = await readFolder(options.folder);
    if (read.kind === "absent") return read;
    const all = { speed: "instant", mask: maskSecrets, onMiss: () => {}, ...options } as const;
    return { kind: "player", player: new CassettePlayer(all, read) };
  }

  /** For clients in this process: `new Anthropic({ fetch: player.fetch })`. Any host will do. */
  readonly fetch: typeof fetch = inProcess((request) => this.answer(request));

  readonly answer = async (request: Request, connection: Connection = {}): Promise<Response> => {
    const startedAt = performance.now();
    const asked = await askedRequest({
      request,
      connection,
      mask: this.#options.mask,
      credentials: credentialsIn(request.headers),
    });
    if (asked.kind === "too-large") return refused(413, "The request is larger than any that is recorded");
    const stored = this.#next(asked.recorded.key);
    if (stored === undefined) return this.#missed(asked.compared);
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
    // Keeps the server from gathering the first events to reckon a length.
    headers.set("transfer-encoding", "chunked");
    return new Response(carried(played(cassette, pace), { connection, bytesOf: (bytes) => bytes }), {
      status,
      headers,
    });
  };

  /** By what the file says now: masking rules change, and people edit cassettes. */
  #add(stored: StoredCassette): void {
    const { method, path, body } = stored.cassette.request;
    const masker = createMasker({ mask: this.#options.mask, credentials: [] });
    const masked = { method, path: masker.path(path), body: body === null ? null : masker.content(body) };
    const request = comparable(masked);
    this.#candidates.push({ file: stored.file, request });
    const key = requestKey(request);
    const takes = this.#takesByKey.get(key);
    if (takes === undefined) this.#takesByKey.set(key, { takes: [stored], next: 0 });
    else takes.takes.push(stored);
  }

  #next(key: string): StoredCassette | undefined {
    const takes = this.#takesByKey.get(key);
    if (takes === undefined) return undefined;
    const stored = takes.takes[takes.next];
    takes.next = Math.min(takes.next + 1, takes.takes.length - 1);
    return stored;
  }

  #missed(asked: Comparable): Response {
    // What clients use to see whether anybody is there.
    if (asked.path === "/" && asked.body === null) return new Response(null, { status: 200 });
    const message = missText(asked, this.#candidates);
    this.#options.onMiss(message);
    return refused(404, message);
  }
}

interface Read {
  readonly cassettes: readonly StoredCassette[];
  readonly problems: readonly CassetteProblem[];
}

/** What was recorded for one request, and which of it comes next. */
interface Takes {
  readonly takes: StoredCassette[];
  next: number;
}

type Pace = (atMillis: number) => Promise<void>;

async function* played({ parts, ending }: Cassette, pace: Pace): AsyncGenerator<Uint8Array> {
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

const refused = (status: 404 | 413, message: string): Response =>
  Response.json(errorBody(refusal(status === 404 ? "not_found_error" : "request_too_large", message), null), {
    status,
  });
