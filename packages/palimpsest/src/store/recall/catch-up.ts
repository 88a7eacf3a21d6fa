import type { ClockDep } from "../../ports/clock-dep.ts";
import type {
  CatchUpOptions,
  CatchUpOutcome,
  OpenRecallOptions,
  OpenedDocument,
  RecallDocument,
  RecallSource,
} from "../../ports/recall-index.ts";
import type { ChunkCodec } from "./chunk-codec.ts";
import { numberIn, type RecallDatabase, textIn } from "./database.ts";
import { leaseMs, leaseWaitMs, sliceMsMax, transactionCharsMax } from "./limits.ts";
import { type PreparedPassage, type PreparedText, preparePassages } from "./prepare-text.ts";
import { eraseWords, hasWordsToErase, pause, removeDocuments, transact } from "./remove-documents.ts";
import { addDocument, DocumentWriter, noteVersion, readDocument } from "./write-texts.ts";

export interface CatchUpParts extends Pick<OpenRecallOptions, "sources" | "maskText"> {
  readonly deps: ClockDep;
  readonly database: RecallDatabase;
  readonly codec: ChunkCodec;
  /** Names this connection in the lease. */
  readonly holder: string;
  /** Whether the process of a holder still runs. A wrong answer costs time, no content: whoever is overtaken notices it. */
  readonly isRunning: (holder: string) => boolean;
}

/**
 * Compares what the sources list with what is indexed, and writes the difference. Between two transactions other things
 * run; a process that is killed loses the current transaction.
 *
 *   nothing new ──▶ caught-up, nothing written
 *   something new ──lease free──▶ indexing ──▶ caught-up
 *                 └─lease held──▶ waiting ──the holder ends or dies──▶ compares again
 */
export async function catchUpIndex(
  parts: CatchUpParts,
  { session, signal, onProgress }: CatchUpOptions = {},
): Promise<CatchUpOutcome> {
  const written = { documents: 0, passages: 0 };
  for (;;) {
    if (isAborted(signal)) return { kind: "cancelled", ...written };
    const difference = await compare(parts, session);
    const isSame = difference.changed.length === 0 && difference.gone.length === 0;
    if (isSame && !hasWordsToErase(parts.database)) return { kind: "caught-up", ...written };
    if (takeLease(parts) === "held") {
      await pause(leaseWaitMs);
      if (isAborted(signal)) return { kind: "busy" };
      continue;
    }
    try {
      await removeDocuments(parts.database, difference.gone);
      const total = difference.changed.reduce((sum, { document }) => sum + document.size, 0);
      let done = 0;
      for (const { source, document } of difference.changed) {
        if (isAborted(signal)) break;
        const passages = await indexDocument(parts, { source, document, signal });
        if (passages !== undefined) {
          written.passages += passages;
          written.documents += 1;
        }
        done += document.size;
        onProgress?.({ done, total });
      }
      if (hasWordsToErase(parts.database)) await eraseWords(parts.database, signal);
    } finally {
      releaseLease(parts);
    }
    return { kind: isAborted(signal) ? "cancelled" : "caught-up", ...written };
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

interface Difference {
  /** Newest first. */
  readonly changed: readonly { readonly source: RecallSource; readonly document: RecallDocument }[];
  /** Ids of documents that a source no longer lists. */
  readonly gone: readonly number[];
}

async function compare({ database, sources }: CatchUpParts, session: string | undefined): Promise<Difference> {
  const isMeant = (other: string): boolean => session === undefined || other === session;
  const rows = database
    .rows("select id, source, key, session, version from documents")
    .filter((row) => isMeant(textIn(row, "session")));
  const known = new Map(rows.map((row) => [`${textIn(row, "source")}\n${textIn(row, "key")}`, row]));
  const changed: { source: RecallSource; document: RecallDocument }[] = [];
  const gone = new Set(rows.map((row) => numberIn(row, "id")));
  for (const source of sources) {
    const listed = await source.list();
    const isUnknown = listed === undefined;
    if (isUnknown) for (const row of rows) if (textIn(row, "source") === source.name) gone.delete(numberIn(row, "id"));
    for (const document of listed ?? []) {
      if (!isMeant(document.session)) continue;
      const row = known.get(`${source.name}\n${document.key}`);
      if (row !== undefined) gone.delete(numberIn(row, "id"));
      if (textIn(row, "version") !== document.version) changed.push({ source, document });
    }
  }
  // Documents of sources that this process does not have belong to others.
  const names = new Set(sources.map(({ name }) => name));
  for (const row of rows) if (!names.has(textIn(row, "source"))) gone.delete(numberIn(row, "id"));
  changed.sort((left, right) => right.document.modified.localeCompare(left.document.modified));
  return { changed, gone: [...gone] };
}

interface DocumentToIndex {
  readonly source: RecallSource;
  readonly document: RecallDocument;
  readonly signal: AbortSignal | undefined;
}

/** Returns the number of passages written; undefined if it can't be opened: it is tried again when it has changed. */
async function indexDocument(
  parts: CatchUpParts,
  { source, document: listed, signal }: DocumentToIndex,
): Promise<number | undefined> {
  const document = { ...listed, title: listed.title === undefined ? undefined : await parts.maskText(listed.title) };
  const opened = await source.open(document.key);
  if (opened === undefined) {
    await transact(parts.database, () => noteVersion(parts.database, { source: source.name, document }));
    return undefined;
  }
  try {
    return await indexOpened(parts, { source, document, signal, opened });
  } finally {
    await opened.close();
  }
}

async function indexOpened(
  parts: CatchUpParts,
  { source, document, signal, opened }: DocumentToIndex & { readonly opened: OpenedDocument },
): Promise<number> {
  const { database, codec } = parts;
  const start = await startDocument(parts, { source, document, opened });
  const writer = new DocumentWriter(database, { codec, document: start });
  const clock = new SliceClock();
  let passages = 0;
  let { indexed: end } = start;
  let waiting: PreparedText[] = [];
  let chars = 0;
  const commit = async (extent: "whole" | "part"): Promise<"written" | "overtaken"> => {
    const mark = await opened.mark(end);
    const texts = waiting;
    waiting = [];
    chars = 0;
    const written = await transact(parts.database, () => {
      renewLease(parts);
      return writer.write({ source: source.name, document, texts, end, mark, extent });
    });
    clock.restart();
    if (written === "overtaken") return written;
    passages += written;
    return "written";
  };
  for await (const batch of opened.read(end)) {
    for (const text of batch.texts) {
      const masked = await parts.maskText(text.text);
      const prepared: PreparedPassage[] = [];
      for (const passage of preparePassages({ kind: text.kind, text: masked })) {
        prepared.push(passage);
        if (clock.isOver()) await clock.pause();
      }
      const form = masked === text.text ? text.form : "gathered";
      const { text: _, files, ...described } = text;
      const maskedFiles = files === undefined ? undefined : await maskAll(parts, files);
      waiting.push({ ...described, files: maskedFiles, form, passages: prepared });
      chars += masked.length;
    }
    ({ end } = batch);
    if (chars >= transactionCharsMax) {
      if ((await commit("part")) === "overtaken" || isAborted(signal)) return passages;
      await pause();
    }
  }
  await commit("whole");
  return passages;
}

async function maskAll({ maskText }: CatchUpParts, texts: readonly string[]): Promise<readonly string[]> {
  const masked: string[] = [];
  for (const text of texts) masked.push(await maskText(text));
  return masked;
}

/** Goes on if the document only grew; otherwise it begins anew. */
async function startDocument(
  parts: CatchUpParts,
  {
    source,
    document,
    opened,
  }: { readonly source: RecallSource; readonly document: RecallDocument; readonly opened: OpenedDocument },
) {
  const { database } = parts;
  const known = readDocument(database, { source: source.name, key: document.key });
  if (known !== undefined && known.mark !== "" && (await opened.mark(known.indexed)) === known.mark) return known;
  if (known !== undefined) await removeDocuments(database, [known.id]);
  return await transact(database, () => addDocument(database, { source: source.name, document }));
}

function takeLease({ database, deps, holder, isRunning }: CatchUpParts): "taken" | "held" {
  const outcome = database.transact((): "taken" | "held" => {
    const row = database.row("select holder, until from lease where name = 'index'");
    const until = numberIn(row, "until");
    // A lease from the future is of a clock that was set back.
    const isValid = until > deps.now() && until <= deps.now() + leaseMs;
    const other = textIn(row, "holder");
    if (row !== undefined && other !== holder && isValid && isRunning(other)) return "held";
    writeLease({ database, holder, until: deps.now() + leaseMs });
    return "taken";
  });
  return outcome === "busy" ? "held" : outcome;
}

const renewLease = ({ database, deps, holder }: CatchUpParts): void =>
  writeLease({ database, holder, until: deps.now() + leaseMs });

const writeLease = (lease: { database: RecallDatabase; holder: string; until: number }): void =>
  lease.database.run(
    "insert or replace into lease (name, holder, until) values ('index', ?, ?)",
    lease.holder,
    lease.until,
  );

function releaseLease({ database, holder }: CatchUpParts): void {
  database.transact(() => database.run("delete from lease where name = 'index' and holder = ?", holder));
}

class SliceClock {
  #start = performance.now();

  isOver(): boolean {
    return performance.now() - this.#start > sliceMsMax;
  }

  async pause(): Promise<void> {
    await pause();
    this.restart();
  }

  restart(): void {
    this.#start = performance.now();
  }
}
