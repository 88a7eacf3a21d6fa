import { randomUUID } from "node:crypto";
import { readdir, readFile, rename, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { WriteFailure } from "palimpsest/internal/ports/blobs";
import { isTeamName } from "palimpsest/internal/schema/agent-address";
import { millis } from "palimpsest/internal/schema/brand";
import { tryParseJson } from "palimpsest/internal/schema/json";
import { type MemberProcess, type TeamMember, type TeamRecord, teamShape } from "palimpsest/internal/schema/team";
import { errorCode, makeFolder, replaceFile, writeFailure } from "palimpsest/internal/store/files/disk";
import { createLogLockDeps, waitForLock } from "palimpsest/internal/store/files/line-log";
import { lookAtProcess } from "palimpsest/internal/store/files/look-at-process";
import { homeMailFolder } from "palimpsest/internal/store/files/store";

/** What a change writes. Undefined: nothing changes. */
export interface TeamChange<Answer> {
  readonly record: TeamRecord | undefined;
  readonly answer: Answer;
}

export type RemoveTeamOutcome =
  | { readonly kind: "removed"; readonly record: TeamRecord }
  | { readonly kind: "running"; readonly names: readonly string[] }
  | { readonly kind: "missing" };

/**
 * The records of all teams of a home: `<home>/mail/teams/<team>/team.json`, beside the mailboxes. A process that changes
 * one holds `.team-lock`; readers need none, because the file is replaced as a whole.
 */
export class TeamStore {
  readonly #folder: string;
  readonly #lockDeps = createLogLockDeps({ now: () => millis(Date.now()), uuid: randomUUID });

  constructor(home: string) {
    this.#folder = join(homeMailFolder(home), "teams");
  }

  /** Undefined if there is none, or nothing that can be read. */
  async read(team: string): Promise<TeamRecord | undefined> {
    if (!isTeamName(team)) return undefined;
    try {
      return teamShape.safeParse(tryParseJson(await readFile(this.#path(team), "utf8"))).data;
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      return undefined;
    }
  }

  /** Sorted by name. */
  async list(): Promise<readonly TeamRecord[]> {
    const names = await readdir(this.#folder).catch((error: unknown): string[] => {
      if (errorCode(error) === undefined) throw error;
      return [];
    });
    const records = await Promise.all(names.toSorted().map((name) => this.read(name)));
    return records.filter((record) => record !== undefined);
  }

  /** Reads, decides and writes while no other process can. Must not reject. */
  async change<Answer>(
    team: string,
    decide: (record: TeamRecord | undefined) => TeamChange<Answer> | Promise<TeamChange<Answer>>,
  ): Promise<{ readonly kind: "changed"; readonly answer: Answer } | WriteFailure> {
    const folder = join(this.#folder, team);
    try {
      await makeFolder(folder);
      const lock = await waitForLock(this.#lockDeps, join(folder, ".team-lock"));
      if (lock.kind === "failed") return lock;
      try {
        const { record, answer } = await decide(await this.read(team));
        if (record !== undefined) {
          const data = Buffer.from(`${JSON.stringify(record, undefined, 2)}\n`);
          await replaceFile({ path: this.#path(team), data, sync: "unsynced" });
        }
        return { kind: "changed", answer };
      } finally {
        await lock.lease.release();
      }
    } catch (error) {
      return writeFailure(error, folder);
    }
  }

  /**
   * With its mailboxes and tasks; the conversations of its members stay. Nothing is removed while one of them runs.
   * Must not reject.
   */
  async remove(team: string): Promise<RemoveTeamOutcome | WriteFailure> {
    if ((await this.read(team)) === undefined) return { kind: "missing" };
    const removed = await this.change<RemoveTeamOutcome>(team, async (record) => {
      if (record === undefined) return { record, answer: { kind: "missing" } };
      const running = [...(await findRunning(record))];
      if (running.length > 0) return { record: undefined, answer: { kind: "running", names: running } };
      // No team's name begins like this, so a kill before the end leaves no half of a team.
      const aside = join(this.#folder, `.removed-${randomUUID()}`);
      await rename(join(this.#folder, team), aside);
      await rm(aside, { recursive: true, force: true });
      return { record: undefined, answer: { kind: "removed", record } };
    });
    return removed.kind === "failed" ? removed : removed.answer;
  }

  /** Where a member that was started in the background writes what it would print. */
  outputPath(team: string, name: string): string {
    return join(this.#folder, team, `${name}.log`);
  }

  #path(team: string): string {
    return join(this.#folder, team, "team.json");
  }
}

export async function currentProcess(): Promise<MemberProcess> {
  const self = await lookAtProcess(process.pid);
  const started = self.kind === "alive" ? (self.started ?? null) : null;
  return { pid: process.pid, started, host: hostname() };
}

/** Whether it is this very process, not a later one with the same pid. What runs on another machine is taken as running. */
export async function isRunning({ process: recorded }: Pick<TeamMember, "process">): Promise<boolean> {
  if (recorded === undefined) return false;
  if (recorded.host !== hostname()) return true;
  const state = await lookAtProcess(recorded.pid);
  if (state.kind === "dead") return false;
  return state.started === undefined || recorded.started === null || state.started === recorded.started;
}

export async function findRunning({ members }: Pick<TeamRecord, "members">): Promise<ReadonlySet<string>> {
  const running = await Promise.all(members.map(async (member) => ((await isRunning(member)) ? [member.name] : [])));
  return new Set(running.flat());
}
