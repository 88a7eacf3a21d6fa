import type { WriteFailure } from "../ports/blobs.ts";
import type { SendOutcome } from "../ports/mailbox.ts";
import type { MailboxAddress } from "../schema/brand.ts";

/** What became of a message in one mailbox. */
export type DeliveryOutcome =
  | { readonly kind: "stored" }
  | { readonly kind: "full"; readonly unread: number }
  /** It was removed in the meantime. */
  | { readonly kind: "missing" }
  | WriteFailure;

interface Delivery {
  readonly address: MailboxAddress;
  readonly outcome: DeliveryOutcome;
}

/**
 * The answer to a sender. A failure comes before a full mailbox, so that the sender tries again: what is delivered stays
 * delivered, and the same id is stored only where it is missing.
 */
export function mergeDeliveries(deliveries: readonly Delivery[]): SendOutcome {
  const delivered = addresses(deliveries, "stored");
  for (const { outcome } of deliveries) if (outcome.kind === "failed") return { ...outcome, delivered };
  const receivers = addresses(deliveries, "full");
  const unread = deliveries.flatMap(({ outcome }) => (outcome.kind === "full" ? [outcome.unread] : []))[0] ?? 0;
  if (receivers.length > 0)
    return {
      kind: "full",
      receivers,
      delivered,
      message: `The mailbox of ${receivers.join(", ")} is full: ${unread} messages wait to be read. Send it again later.${deliveredText(delivered)}`,
    };
  // A teammate that has left meanwhile is none of the teammates that a message to all is for.
  if (delivered.length > 0) return { kind: "sent", delivered };
  return { kind: "unknown-receiver", message: `${addresses(deliveries, "missing").join(", ")} has just left.` };
}

const addresses = (deliveries: readonly Delivery[], kind: DeliveryOutcome["kind"]): readonly MailboxAddress[] =>
  deliveries.filter(({ outcome }) => outcome.kind === kind).map(({ address }) => address);

const deliveredText = (delivered: readonly MailboxAddress[]): string =>
  delivered.length === 0 ? "" : ` ${delivered.join(", ")} got it and won't get it twice.`;
