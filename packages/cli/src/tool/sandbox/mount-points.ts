import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { errorCode } from "../error-code.ts";
import { signalProcess } from "../signal-group.ts";

export interface MountPoint {
  readonly path: string;
  /** Content of a file; absent for an empty folder. */
  readonly content?: string | undefined;
}

/**
 * Files and folders that exist only to be mounted on while a command runs that must not create anything of that name.
 * Commands run concurrently, also those of other sessions and programs: the last one that needs a mount point removes
 * it. Removing a folder that is mounted on removes the mount too, so each process records its claim.
 *
 * Each step is synchronous: a folder that is removed between another command's check and its mount protects nothing.
 */
export class MountPoints {
  /** Holds the claims of all processes of this user. No command may write in it. */
  readonly #folder: string;
  readonly #countByPath = new Map<string, number>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns a check whether a path is currently one of these, and not the user's. */
  look(): (path: string) => boolean {
    const claimed = new Set(ignoreRefusal(() => readdirSync(this.#folder)));
    const isClaimed = (path: string): boolean =>
      claimed.size > 0 && claimed.has(claimName(path)) && this.#otherClaims(path).length > 0;
    return (path) => this.#countByPath.has(path) || isClaimed(path);
  }

  /** Creates the mount points and returns a function that removes them. Throws if one can't be created. */
  hold(points: readonly MountPoint[]): () => void {
    const created: MountPoint[] = [];
    const release = (): void => {
      for (const point of created.splice(0)) this.#release(point);
    };
    try {
      for (const point of points) {
        this.#countByPath.set(point.path, (this.#countByPath.get(point.path) ?? 0) + 1);
        created.push(point);
        this.#claim(point.path);
        makeMountPoint(point);
      }
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #release(point: MountPoint): void {
    const count = (this.#countByPath.get(point.path) ?? 0) - 1;
    if (count > 0) return void this.#countByPath.set(point.path, count);
    this.#countByPath.delete(point.path);
    ignoreRefusal(() => unlinkSync(join(this.#claimsFolder(point.path), String(process.pid))));
    if (this.#otherClaims(point.path).length > 0) return;
    removeMountPoint(point);
    ignoreRefusal(() => rmdirSync(this.#claimsFolder(point.path)));
  }

  #claimsFolder(path: string): string {
    return join(this.#folder, claimName(path));
  }

  #claim(path: string): void {
    const folder = this.#claimsFolder(path);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, String(process.pid)), "");
  }

  /** Ids of other running processes that need it. */
  #otherClaims(path: string): readonly string[] {
    const names = ignoreRefusal(() => readdirSync(this.#claimsFolder(path))) ?? [];
    return names.filter((name) => Number(name) !== process.pid && signalProcess(Number(name), 0));
  }
}

const claimName = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, claimChars);

/** Enough to tell paths apart. */
const claimChars = 32;

/** Throws if its folder is reached through a link, which a command may have put there. */
function makeMountPoint({ path, content }: MountPoint): void {
  const folder = dirname(path);
  if (realpathSync.native(folder) !== folder)
    throw Object.assign(new Error(`${folder} was moved while the command was started: try again`), { code: "ELOOP" });
  try {
    if (content === undefined) mkdirSync(path);
    else writeFileSync(path, content, { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** If something was put into it or it was removed meanwhile, it is left alone. */
function removeMountPoint({ path, content }: MountPoint): void {
  ignoreRefusal(() => {
    if (content === undefined) rmdirSync(path);
    else if (readFileSync(path, "utf8") === content) rmSync(path);
  });
}

/** Undefined if the system refuses. */
function ignoreRefusal<Result>(act: () => Result): Result | undefined {
  try {
    return act();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
