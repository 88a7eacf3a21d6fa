import { Duplex, type Readable, type Writable } from "node:stream";
import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";

/*
 * Many connections over one pair of pipes, in frames: kind (1 byte), connection (4), length (4), then as many bytes.
 *
 *   open    the bridge has a new connection                 reset   it is broken off, in both directions
 *   data    bytes of it                                     credit  so many more bytes may be sent (the 4 bytes behind)
 *   end     no more bytes in this direction
 *
 * Who sends stays within the credit that he was given, so one connection that nobody reads neither stops the others nor
 * fills memory. What comes from inside the sandbox is not trusted: the first frame that is wrong ends the carrier.
 */
const kinds = { open: 0, data: 1, end: 2, reset: 3, credit: 4 } as const;

const headBytes = 9;

interface Pipes {
  readonly read: Readable;
  readonly write: Writable;
}

interface CarrierOptions {
  readonly connectionsMax: number;
  /** Called with a connection that the other side has opened. Absent: that side opens none. */
  readonly onConnection?: (connection: Duplex) => void;
  /**
   * What to do while the other side reads nothing. `pause`: stop reading from it, so that answers to it can't fill
   * memory. Only one side may pause: two that wait for each other would wait for ever.
   */
  readonly whenUnread: "pause" | "go-on";
}

export class Carrier {
  readonly #pipes: Pipes;
  readonly #options: CarrierOptions;
  readonly #connectionById = new Map<number, CarriedConnection>();
  #unparsed: Buffer = Buffer.alloc(0);
  #lastId = 0;
  #isClosed = false;

  constructor(pipes: Pipes, options: CarrierOptions) {
    this.#pipes = pipes;
    this.#options = options;
    pipes.read.on("data", (chunk: Buffer) => {
      this.#take(chunk);
      if (options.whenUnread === "pause" && pipes.write.writableNeedDrain) pipes.read.pause();
    });
    pipes.write.on("drain", () => pipes.read.resume());
    for (const stream of [pipes.read, pipes.write]) {
      stream.on("error", () => this.close());
      stream.once("close", () => this.close());
    }
  }

  /** Undefined: it is closed, or there are too many. */
  open(): Duplex | undefined {
    if (this.#isClosed || this.#connectionById.size >= this.#options.connectionsMax) return undefined;
    this.#lastId += 1;
    const connection = this.#add(this.#lastId);
    this.#send(kinds.open, this.#lastId);
    return connection;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const connection of this.#connectionById.values()) connection.destroy();
    this.#connectionById.clear();
    this.#pipes.read.destroy();
    this.#pipes.write.destroy();
  }

  #add(id: number): CarriedConnection {
    const connection = new CarriedConnection({
      send: (kind, bytes) => this.#send(kind, id, bytes),
      onClose: () => void this.#connectionById.delete(id),
    });
    this.#connectionById.set(id, connection);
    return connection;
  }

  #send(kind: number, id: number, bytes: Uint8Array = new Uint8Array()): void {
    if (this.#isClosed) return;
    const frame = Buffer.allocUnsafe(headBytes + bytes.length);
    frame.writeUInt8(kind, 0);
    frame.writeUInt32BE(id, 1);
    frame.writeUInt32BE(bytes.length, 5);
    frame.set(bytes, headBytes);
    this.#pipes.write.write(frame);
  }

  #take(chunk: Buffer): void {
    this.#unparsed = this.#unparsed.length === 0 ? chunk : Buffer.concat([this.#unparsed, chunk]);
    while (!this.#isClosed && this.#unparsed.length >= headBytes) {
      const length = this.#unparsed.readUInt32BE(5);
      if (length > carriedFrameBytesMax) return this.close();
      if (this.#unparsed.length < headBytes + length) return;
      const [kind, id] = [this.#unparsed.readUInt8(0), this.#unparsed.readUInt32BE(1)];
      const bytes = this.#unparsed.subarray(headBytes, headBytes + length);
      this.#unparsed = this.#unparsed.subarray(headBytes + length);
      if (!this.#handle({ kind, id, bytes })) this.close();
    }
  }

  /** False: the frame is invalid. A frame for a connection that has just ended here is late, not invalid. */
  #handle({ kind, id, bytes }: { readonly kind: number; readonly id: number; readonly bytes: Buffer }): boolean {
    if (kind === kinds.open) return this.#accept(id);
    const connection = this.#connectionById.get(id);
    switch (kind) {
      case kinds.data:
        return connection === undefined || connection.receive(bytes);
      case kinds.end:
        connection?.receiveEnd();
        return true;
      case kinds.reset:
        connection?.receiveReset();
        return true;
      case kinds.credit:
        if (bytes.length !== 4) return false;
        return connection === undefined || connection.receiveCredit(bytes.readUInt32BE(0));
      default:
        return false;
    }
  }

  #accept(id: number): boolean {
    const { onConnection, connectionsMax } = this.#options;
    if (onConnection === undefined || id <= this.#lastId) return false;
    this.#lastId = id;
    if (this.#connectionById.size >= connectionsMax) this.#send(kinds.reset, id);
    else onConnection(this.#add(id));
    return true;
  }
}

interface CarriedConnectionDeps {
  readonly send: (kind: number, bytes?: Uint8Array) => void;
  readonly onClose: () => void;
}

/** One of the connections, as a stream. */
class CarriedConnection extends Duplex {
  readonly #deps: CarriedConnectionDeps;
  #credit: number = carriedWindowBytes;
  /** The number of bytes that the other side may still send. */
  #granted: number = carriedWindowBytes;
  #unread = 0;
  #waiting: { bytes: Buffer; readonly done: () => void } | undefined;
  #isReset = false;
  #hasEnded = { here: false, there: false };

  constructor(deps: CarriedConnectionDeps) {
    super({ allowHalfOpen: true });
    this.#deps = deps;
    // The side that aborts has reported it already; an unhandled error would end the process.
    this.on("error", () => undefined);
  }

  receive(bytes: Buffer): boolean {
    if (bytes.length > this.#granted || this.#hasEnded.there) return false;
    this.#granted -= bytes.length;
    this.#unread += bytes.length;
    this.push(bytes);
    return true;
  }

  receiveEnd(): void {
    if (this.#hasEnded.there) return;
    this.#hasEnded.there = true;
    this.push(null);
  }

  receiveReset(): void {
    this.#isReset = true;
    this.destroy();
  }

  receiveCredit(count: number): boolean {
    this.#credit += count;
    if (this.#credit > carriedWindowBytes) return false;
    this.#flush();
    return true;
  }

  override _read(): void {
    if (this.#unread === 0 || this.#hasEnded.there) return;
    const credit = Buffer.allocUnsafe(4);
    credit.writeUInt32BE(this.#unread);
    this.#granted += this.#unread;
    this.#unread = 0;
    this.#deps.send(kinds.credit, credit);
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#waiting = { bytes: chunk, done };
    this.#flush();
  }

  override _final(done: () => void): void {
    this.#hasEnded.here = true;
    this.#deps.send(kinds.end);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isReset && !(this.#hasEnded.here && this.#hasEnded.there)) this.#deps.send(kinds.reset);
    this.#deps.onClose();
    done(error);
  }

  #flush(): void {
    while (this.#waiting !== undefined && this.#credit > 0) {
      const { bytes, done } = this.#waiting;
      const sent = bytes.subarray(0, Math.min(this.#credit, carriedFrameBytesMax));
      this.#credit -= sent.length;
      this.#deps.send(kinds.data, sent);
      this.#waiting = sent.length === bytes.length ? undefined : { bytes: bytes.subarray(sent.length), done };
      if (this.#waiting === undefined) done();
    }
  }
}

/* The bridge runs inside the sandbox, where no other package of ours can be read: this file imports nothing. */

/** Connections of one command at once: package managers open a few dozen; more is a loop. */
export const proxyConnectionsMax = 256;

/** Of one frame: a busy connection lets others in between. */
export const carriedFrameBytesMax = 32 * 2 ** 10;

/** Bytes of one connection in transit: all connections together may take about 64 MiB of memory. */
export const carriedWindowBytes = 256 * 2 ** 10;

/*
 * Between the proxy and the bridge are two named pipes. A socket would have to be connected from inside the sandbox, and
 * there no program can make one that leads out: not even ours.
 */

/** Both are in one folder, which is mounted into the sandbox. */
export const pipeNames = { toProxy: "to-proxy", toBridge: "to-bridge" } as const;

/** Throws if they can't be opened. */
export const proxyEnd = (folder: string): Pipes => ({
  read: openReadEnd(join(folder, pipeNames.toProxy)),
  write: openWriteEnd(join(folder, pipeNames.toBridge)),
});

export const bridgeEnd = (folder: string): Pipes => ({
  read: openReadEnd(join(folder, pipeNames.toBridge)),
  write: openWriteEnd(join(folder, pipeNames.toProxy)),
});

const openReadEnd = (path: string): Socket => new Socket({ fd: openPipe(path), readable: true, writable: false });
const openWriteEnd = (path: string): Socket => new Socket({ fd: openPipe(path), readable: false, writable: true });

/** Opens for both directions, so that it need not wait for the other side. No link is followed. */
const openPipe = (path: string): number =>
  openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
