import { readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ClockDep, IdsDep } from "../../ports/clock-dep.ts";
import type {
  EnvelopeDraft,
  Mailboxes,
  OpenMailboxOutcome,
  RemoveMailboxOutcome,
  SendOutcome,
} from "../../ports/mailbox.ts";
import type { Durability } from "../../ports/transcripts.ts";
import { isAgentName, isTeamName, parseAddress, sessionAddress, teammateAddress } from "../../schema/agent-address.ts";
import type { MailboxAddress } from "../../schema/brand.ts";
import { rememberedMailboxesMax } from "../limits.ts";
import { mergeDeliveries } from "../merge-deliveries.ts";
import { resolveReceivers } from "../resolve-receivers.ts";
import { isAbsent, makeFolder, writeFailure } from "./disk.ts";
import { FileMailbox } from "./file-mailbox.ts";
import { createLogLockDeps, type LogLockDeps } from "./line-log.ts";
import { sendToSocket } from "./socket-mailbox.ts";

interface FileMailboxesOptions {
  readonly deps: ClockDep & IdsDep;
  /** `<home>/mail`: the mailboxes of all projects. Created when the first one is opened. */
  readonly folder: string;
  readonly durability: Durability;
}

/**
 * A folder for each mailbox:
 *
 *   <folder>/teams/<team>/<name>/      messages.jsonl, read.jsonl, lock
 *   <folder>/sessions/<session>/       the same
 */
export function fileMailboxes({ deps, folder, durability }: FileMailboxesOptions): Mailboxes {
  const directory = new MailFolder({ deps: createLogLockDeps(deps), folder, durability });
  return {
    send: (draft) => directory.send(draft),
    open: (address) => directory.open(address),
    list: (team) => directory.list(team),
    remove: (address) => directory.remove(address),
  };
}

class MailFolder {
  readonly #deps: LogLockDeps;
  readonly #folder: string;
  readonly #durability: Durability;
  readonly #mailboxes = new Map<MailboxAddress, FileMailbox>();

  constructor(options: Omit<FileMailboxesOptions, "deps"> & { readonly deps: LogLockDeps }) {
    this.#deps = options.deps;
    this.#folder = options.folder;
    this.#durability = options.durability;
  }

  async send(draft: EnvelopeDraft): Promise<SendOutcome> {
    const receivers = await resolveReceivers(draft, {
      has: async (address) => this.#mailbox(address)?.exists() ?? false,
      list: (team) => this.list(team),
    });
    if (receivers.kind === "socket") return sendToSocket({ path: receivers.path, draft });
    if (receivers.kind !== "mailboxes") return receivers;
    const { addresses, audience } = receivers;
    const deliveries = addresses.map(async (address) => {
      const outcome = await this.#mailbox(address)?.deliver({ ...draft, to: address }, audience);
      return { address, outcome: outcome ?? ({ kind: "missing" } as const) };
    });
    return mergeDeliveries(await Promise.all(deliveries));
  }

  async open(address: MailboxAddress): Promise<OpenMailboxOutcome> {
    const mailbox = this.#mailbox(address);
    if (mailbox === undefined) return { kind: "failed", why: "io", message: `${address} can't have a mailbox here.` };
    try {
      await makeFolder(mailbox.folder);
      if (mailbox.exists()) return { kind: "open", mailbox };
      return { kind: "failed", why: "io", message: `${mailbox.folder} is no folder; a link is not followed.` };
    } catch (error) {
      return writeFailure(error, mailbox.folder);
    }
  }

  async list(team?: string): Promise<readonly MailboxAddress[]> {
    const teams = join(this.#folder, "teams");
    const found: MailboxAddress[] = [];
    for (const one of team === undefined ? await listFolders(teams) : [team]) {
      if (!isTeamName(one)) continue;
      const names = (await listFolders(join(teams, one))).filter(isAgentName);
      found.push(...names.map((name) => teammateAddress(name, one)));
    }
    const sessions = team === undefined ? await listFolders(join(this.#folder, "sessions")) : [];
    found.push(...sessions.filter(isTeamName).map(sessionAddress));
    return found.toSorted();
  }

  async remove(address: MailboxAddress): Promise<RemoveMailboxOutcome> {
    const mailbox = this.#mailbox(address);
    if (mailbox === undefined || !mailbox.exists()) return { kind: "missing" };
    this.#mailboxes.delete(address);
    return mailbox.whileLocked(async () => {
      const unread = mailbox.readUnread({ bytesMax: Infinity });
      // No name of an agent begins like this, so a kill before the end leaves nothing that could be sent to.
      const aside = join(dirname(mailbox.folder), `.removed-${this.#deps.uuid()}`);
      await rename(mailbox.folder, aside);
      await rm(aside, { recursive: true, force: true });
      return { kind: "removed", unread };
    });
  }

  #mailbox(address: MailboxAddress): FileMailbox | undefined {
    const known = this.#mailboxes.get(address);
    if (known !== undefined) return known;
    const folder = this.#locate(address);
    if (folder === undefined) return undefined;
    const mailbox = new FileMailbox({ deps: this.#deps, address, folder, durability: this.#durability });
    this.#mailboxes.set(address, mailbox);
    // One that is in use keeps working: it is only not found here any more.
    const [oldest] = this.#mailboxes.size > rememberedMailboxesMax ? this.#mailboxes.keys() : [];
    if (oldest !== undefined) this.#mailboxes.delete(oldest);
    return mailbox;
  }

  #locate(address: MailboxAddress): string | undefined {
    const parsed = parseAddress(address);
    switch (parsed?.kind) {
      case "teammate":
        return join(this.#folder, "teams", parsed.team, parsed.name);
      case "session":
        return join(this.#folder, "sessions", parsed.session);
      case "socket":
      case undefined:
        return undefined;
    }
  }
}

async function listFolders(path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    if (isAbsent(error)) return [];
    // What can't be read can't be sent to; the sender is told that the receiver is unknown.
    return [];
  }
}
