import type { Envelope, EnvelopeDraft, Mailbox, Mailboxes, SendOutcome } from "../../ports/mailbox.ts";
import { parseAddress } from "../../schema/agent-address.ts";
import { countMessageChars } from "../../schema/agent-message.ts";
import type { EnvelopeId, MailboxAddress } from "../../schema/brand.ts";
import { MailboxState } from "../mailbox-state.ts";
import { type DeliveryOutcome, mergeDeliveries } from "../merge-deliveries.ts";
import { resolveReceivers } from "../resolve-receivers.ts";

/** For the agents of one process. `sendToSocket`: for `uds:` addresses; without it they are unknown. */
export function memoryMailboxes(
  options: { readonly sendToSocket?: (path: string, draft: EnvelopeDraft) => Promise<SendOutcome> } = {},
): Mailboxes {
  const mailboxByAddress = new Map<MailboxAddress, MemoryMailbox>();
  const list = async (team?: string): Promise<readonly MailboxAddress[]> =>
    [...mailboxByAddress.keys()].filter((address) => team === undefined || isTeammate(address, team)).toSorted();
  return {
    list,
    send: async (draft) => {
      const receivers = await resolveReceivers(draft, { has: async (address) => mailboxByAddress.has(address), list });
      if (receivers.kind === "socket")
        return (await options.sendToSocket?.(receivers.path, draft)) ?? noSockets(receivers.path);
      if (receivers.kind !== "mailboxes") return receivers;
      const { addresses, audience } = receivers;
      const deliveries = addresses.map((address) => ({
        address,
        outcome: mailboxByAddress.get(address)?.deliver({
          ...structuredClone(draft),
          to: address,
          ...(audience === undefined ? {} : { audience }),
        }) ?? { kind: "missing" as const },
      }));
      return mergeDeliveries(deliveries);
    },
    open: async (address) => {
      const kind = parseAddress(address)?.kind;
      if (kind === undefined || kind === "socket")
        return { kind: "failed", why: "io", message: `${address} can't have a mailbox here.` };
      const mailbox = mailboxByAddress.get(address) ?? new MemoryMailbox(address);
      mailboxByAddress.set(address, mailbox);
      return { kind: "open", mailbox };
    },
    remove: async (address) => {
      const mailbox = mailboxByAddress.get(address);
      if (mailbox === undefined) return { kind: "missing" };
      mailboxByAddress.delete(address);
      return { kind: "removed", unread: mailbox.envelopes() };
    },
  };
}

const noSockets = (path: string): SendOutcome => ({
  kind: "unknown-receiver",
  message: `uds:${path} can't be reached: this store has no sockets.`,
});

function isTeammate(address: MailboxAddress, team: string): boolean {
  const parsed = parseAddress(address);
  return parsed?.kind === "teammate" && parsed.team === team;
}

class MemoryMailbox implements Mailbox {
  readonly address: MailboxAddress;
  readonly #state = new MailboxState<Envelope>();
  readonly #waiters = new Set<() => void>();
  #returned: ReadonlySet<EnvelopeId> = new Set();

  constructor(address: MailboxAddress) {
    this.address = address;
  }

  deliver(draft: Omit<Envelope, "sequence">): DeliveryOutcome {
    const { id, from } = draft;
    const message = { id, from, bytes: countMessageChars(draft.body) };
    const acceptance = this.#state.accept(message);
    switch (acceptance.kind) {
      case "full":
        return acceptance;
      case "known":
        return { kind: "stored" };
      case "new": {
        const { sequence } = acceptance;
        this.#state.add({ ...message, sequence, place: { ...draft, sequence } });
        for (const wake of this.#waiters) wake();
        return { kind: "stored" };
      }
    }
  }

  envelopes(): readonly Envelope[] {
    return Array.from(this.#state.unread, ({ place }) => structuredClone(place));
  }

  async unread() {
    const envelopes = this.envelopes();
    this.#returned = new Set(envelopes.map(({ id }) => id));
    return { kind: "unread", envelopes, damagedLines: 0 } as const;
  }

  async markRead(ids: readonly EnvelopeId[]) {
    for (const id of ids) this.#state.mark(id);
    // A message is there before its mark: marks need not be remembered.
    this.#state.forgetMarks();
    return { kind: "marked" } as const;
  }

  waitForNews(signal: AbortSignal): Promise<"news" | "aborted"> {
    const done = Promise.withResolvers<"news" | "aborted">();
    const check = (): void => {
      for (const { id } of this.#state.unread) if (!this.#returned.has(id)) done.resolve("news");
    };
    const onAbort = (): void => done.resolve("aborted");
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiters.add(check);
    if (signal.aborted) onAbort();
    else check();
    return done.promise.finally(() => {
      signal.removeEventListener("abort", onAbort);
      this.#waiters.delete(check);
    });
  }
}
