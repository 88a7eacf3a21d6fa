import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Pipes } from "./carrier.ts";

/*
 * Between the proxy and the bridge are two named pipes. A socket would have to be connected from inside the sandbox, and
 * there no program can make one that leads out: not even ours.
 */

/** Both are in one folder, which is mounted into the sandbox. */
export const pipeNames = { toProxy: "to-proxy", toBridge: "to-bridge" } as const;

/** Throws where they can't be opened. */
export const proxyEnd = (folder: string): Pipes => ({
  read: reading(join(folder, pipeNames.toProxy)),
  write: writing(join(folder, pipeNames.toBridge)),
});

export const bridgeEnd = (folder: string): Pipes => ({
  read: reading(join(folder, pipeNames.toBridge)),
  write: writing(join(folder, pipeNames.toProxy)),
});

const reading = (path: string): Socket => new Socket({ fd: opened(path), readable: true, writable: false });
const writing = (path: string): Socket => new Socket({ fd: opened(path), readable: false, writable: true });

/** For both directions, so that the opening need not wait for the other side. No link is followed. */
const opened = (path: string): number => openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
