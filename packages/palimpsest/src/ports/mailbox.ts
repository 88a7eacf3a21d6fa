import type { AgentMessage } from "../schema/agent-message.ts";
import type { EnvelopeId, MailboxAddress, Millis } from "../schema/brand.ts";
import type { WriteFailure } from "./blobs.ts";

/**
 * Messages between agents, across processes.
 *
 *   send ──▶ stored: from now on it survives the sender ──▶ unread ──▶ handled, recorded by the receiver ──▶ markRead
 *
 * A message is stored once: a sender that was killed before it had its answer sends the same id again, and the mailbox has it
 * already. A message is handled once if its receiver records the id together with what it did, before `markRead`, and skips
 * ids that it has recorded (`drainMailbox`). Messages of one sender are read in the order in which they were stored.
 */
export interface Mailboxes {
  /** Must not reject. Nothing is lost: every outcome but `sent` names who did not get it and why. */
  send(draft: EnvelopeDraft): Promise<SendOutcome>;
  /** Creates the mailbox if there is none: from now on it can be sent to. Must not reject. */
  open(address: MailboxAddress): Promise<OpenMailboxOutcome>;
  /** Those that can be sent to, sorted; of one team only, if it is given. Must not reject. */
  list(team?: string): Promise<readonly MailboxAddress[]>;
  /** From now on it can't be sent to. The caller gets what was never read. Must not reject. */
  remove(address: MailboxAddress): Promise<RemoveMailboxOutcome>;
}

/** The mailbox of one agent. One process at a time reads it. */
export interface Mailbox {
  readonly address: MailboxAddress;
  /** Oldest first. If they are very large, the rest comes when these are marked. Must not reject. */
  unread(): Promise<UnreadOutcome>;
  /** Ids that are unknown or marked already count for nothing. Must not reject. */
  markRead(ids: readonly EnvelopeId[]): Promise<MarkReadOutcome>;
  /** Resolves when there is a message that `unread` has not returned yet. Must not reject. */
  waitForNews(signal: AbortSignal): Promise<"news" | "aborted">;
}

export interface Envelope {
  readonly id: EnvelopeId;
  readonly from: MailboxAddress;
  readonly to: MailboxAddress;
  /** When it was sent, by the sender's clock. */
  readonly at: Millis;
  readonly body: AgentMessage;
  /** Counts the messages of this sender in this mailbox, from 1. */
  readonly sequence: number;
  /** It was sent to all teammates. */
  readonly audience?: "all";
}

export interface EnvelopeDraft {
  /** The caller's: the same for every try to send this message. */
  readonly id: EnvelopeId;
  readonly from: MailboxAddress;
  /** As an agent writes it: a name, `*`, `name@team`, `bridge:<session>`, `uds:<path>`. */
  readonly to: string;
  readonly at: Millis;
  readonly body: AgentMessage;
}

/** `message` is one line for the sender. `delivered`: who has it already, if it was sent to all teammates. */
export type SendOutcome =
  | { readonly kind: "sent"; readonly delivered: readonly MailboxAddress[] }
  | { readonly kind: "unknown-receiver"; readonly message: string }
  | { readonly kind: "too-large"; readonly message: string }
  /** May be sent again, with the same id, when the receiver has read. */
  | {
      readonly kind: "full";
      readonly receivers: readonly MailboxAddress[];
      readonly delivered: readonly MailboxAddress[];
      readonly message: string;
    }
  | (WriteFailure & { readonly delivered: readonly MailboxAddress[] });

export type OpenMailboxOutcome = { readonly kind: "open"; readonly mailbox: Mailbox } | WriteFailure;

export type RemoveMailboxOutcome =
  | { readonly kind: "removed"; readonly unread: readonly Envelope[] }
  | { readonly kind: "missing" }
  | WriteFailure;

export type UnreadOutcome =
  /** `damagedLines`: lines of the store that are no messages; what they were is not known. */
  | { readonly kind: "unread"; readonly envelopes: readonly Envelope[]; readonly damagedLines: number }
  | { readonly kind: "failed"; readonly message: string };

export type MarkReadOutcome = { readonly kind: "marked" } | WriteFailure;

export interface MailboxesDep {
  readonly mailboxes: Mailboxes;
}
