import { z } from "zod";
import type { Envelope, Mailbox } from "../ports/mailbox.ts";
import type { TranscriptsDep } from "../ports/transcripts.ts";
import { type EnvelopeId, envelopeId } from "../schema/brand.ts";
import { tryParseJson } from "../schema/json.ts";
import type { Draft } from "../transcript/draft.ts";
import { type DrainOutcome, drainMailbox } from "./drain-mailbox.ts";
import { mailRecordsKeptMax } from "./limits.ts";
import { scanLines } from "./scan-lines.ts";
import type { Session } from "./session.ts";

interface SessionMailOptions extends TranscriptsDep {
  readonly mailbox: Mailbox;
  readonly session: Pick<Session, "id" | "append">;
}

/**
 * The mailbox of an open session: each message becomes one entry of its transcript, exactly once. The entry names the message
 * (`agentMessage.id`), and the line is written in one step, so the transcript itself is the record of what was handled.
 *
 * The records of earlier processes are looked for in the whole log, also behind boundaries and on abandoned branches: once,
 * and only if something is unread. Only messages that were stored before this process opened the session can be among them.
 */
export class SessionMail {
  readonly #options: SessionMailOptions;
  #recorded: Set<EnvelopeId> | undefined;

  constructor(options: SessionMailOptions) {
    this.#options = options;
  }

  /** `toDraft` says what the entry is; a failed append leaves the message unread. */
  async drain(toDraft: (envelope: Envelope) => Draft): Promise<DrainOutcome> {
    const { mailbox, session } = this.#options;
    const recorded = (this.#recorded ??= await this.#findRecorded());
    return drainMailbox(mailbox, {
      isHandled: async (id) => recorded.has(id),
      handle: async (envelope) => {
        const { id, from, sequence } = envelope;
        const outcome = await session.append({ ...toDraft(envelope), [recordField]: { id, from, sequence } });
        if (outcome.kind === "failed") return "later";
        keepNewest(recorded, id);
        return "handled";
      },
    });
  }

  async #findRecorded(): Promise<Set<EnvelopeId>> {
    const { mailbox, session, transcripts } = this.#options;
    const unread = await mailbox.unread();
    const found = new Set<EnvelopeId>();
    const isEmpty = unread.kind === "unread" && unread.envelopes.length === 0;
    const source = isEmpty ? undefined : await transcripts.openForReading(session.id);
    if (source === undefined) return found;
    try {
      for await (const lines of scanLines(source)) {
        if (lines.kind !== "lines") continue;
        for (const id of findRecords(new TextDecoder().decode(lines.bytes))) keepNewest(found, id);
      }
      return found;
    } finally {
      await source.close();
    }
  }
}

function keepNewest(ids: Set<EnvelopeId>, id: EnvelopeId): void {
  ids.add(id);
  const [oldest] = ids.size > mailRecordsKeptMax ? ids : [];
  if (oldest !== undefined) ids.delete(oldest);
}

/** Looks at a line only if it names the field: most lines of a log are no messages. */
function* findRecords(text: string): Generator<EnvelopeId> {
  const mark = `"${recordField}":`;
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + 1)) {
    const start = text.lastIndexOf("\n", at) + 1;
    const end = text.indexOf("\n", at);
    const line = text.slice(start, end === -1 ? undefined : end);
    const record = recordShape.safeParse(tryParseJson(line)).data;
    if (record !== undefined) yield record[recordField].id;
    at = end === -1 ? text.length : end;
  }
}

const recordField = "agentMessage";
const recordShape = z.object({ [recordField]: z.object({ id: z.string().transform(envelopeId) }) });
