import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { Duplex } from "node:stream";

/*
 * Between the proxy and the bridge are two named pipes. A socket would need a connection through the wall of the
 * sandbox, and there no program can make one: not even ours.
 */

/** Both are in one folder, which is mounted into the sandbox. */
export const pipeNames = { toProxy: "to-proxy", toBridge: "to-bridge" } as const;

/** Throws where they can't be opened. */
export const proxyEnd = (folder: string): Duplex =>
  joined({ read: join(folder, pipeNames.toProxy), write: join(folder, pipeNames.toBridge) });

export const bridgeEnd = (folder: string): Duplex =>
  joined({ read: join(folder, pipeNames.toBridge), write: join(folder, pipeNames.toProxy) });

function joined({ read, write }: { readonly read: string; readonly write: string }): Duplex {
  return Duplex.from({
    readable: new Socket({ fd: opened(read), readable: true, writable: false }),
    writable: new Socket({ fd: opened(write), readable: false, writable: true }),
  });
}

/** For both, so that the opening need not wait for the other side. No link is followed. */
const opened = (path: string): number => openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
