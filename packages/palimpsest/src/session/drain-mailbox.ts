import type { Envelope, Mailbox } from "../ports/mailbox.ts";
import type { EnvelopeId } from "../schema/brand.ts";

interface MailHandler {
  /** Whether the receiver has recorded this id. Asked only for messages that are unread. */
  readonly isHandled: (id: EnvelopeId) => Promise<boolean>;
  /** Does what the message asks for and records its id with it, in one write. `later`: nothing was recorded. */
  readonly handle: (envelope: Envelope) => Promise<"handled" | "later">;
}

export type DrainOutcome =
  /** `left`: `handle` put one off; it and all behind it stay unread, so that their order is kept. */
  | { readonly kind: "drained" | "left"; readonly handled: readonly Envelope[]; readonly damagedLines: number }
  | { readonly kind: "failed"; readonly handled: readonly Envelope[]; readonly message: string };

/**
 * Handles what is unread, in order, each message exactly once:
 *
 *   unread ──handle──▶ recorded ──markRead──▶ read
 *     ▲ kill: handled next time    ▲ kill: found recorded next time, and only marked
 *
 * Marks come at the end, all at once: a mark takes a lock, and a kill before it costs only a look at the records. If a mark
 * fails, the same happens: nothing is handled again.
 */
export async function drainMailbox(
  mailbox: Pick<Mailbox, "unread" | "markRead">,
  { isHandled, handle }: MailHandler,
): Promise<DrainOutcome> {
  const handled: Envelope[] = [];
  const outcome = await mailbox.unread();
  if (outcome.kind === "failed") return { ...outcome, handled };
  const { envelopes, damagedLines } = outcome;
  const recorded: EnvelopeId[] = [];
  let kind: "drained" | "left" = "drained";
  try {
    for (const envelope of envelopes) {
      if (!(await isHandled(envelope.id))) {
        if ((await handle(envelope)) === "later") {
          kind = "left";
          break;
        }
        handled.push(envelope);
      }
      recorded.push(envelope.id);
    }
  } finally {
    await mailbox.markRead(recorded);
  }
  return { kind, handled, damagedLines };
}
