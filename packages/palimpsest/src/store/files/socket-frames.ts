import type { Socket } from "node:net";

/** Frames on a stream: four bytes with the length, then as many bytes. */
export class SocketFrames {
  readonly #socket: Socket;
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#chunks = socket[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Undefined if the stream ends before, or the frame is longer: then nothing of it is kept. */
  async read(bytesMax: number): Promise<string | undefined> {
    const head = await this.#take(headBytes);
    const length = head?.readUInt32BE() ?? Infinity;
    if (length > bytesMax) return undefined;
    return (await this.#take(length))?.toString("utf8");
  }

  write(text: string): void {
    const data = Buffer.from(text);
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(data.byteLength);
    this.#socket.write(Buffer.concat([head, data]));
  }

  async #take(length: number): Promise<Buffer | undefined> {
    while (this.#heldBytes < length) {
      const chunk = await this.#chunks.next().catch(() => undefined);
      if (chunk === undefined || chunk.done === true) return undefined;
      this.#held.push(chunk.value);
      this.#heldBytes += chunk.value.byteLength;
    }
    const all = Buffer.concat(this.#held);
    this.#held = [all.subarray(length)];
    this.#heldBytes = all.byteLength - length;
    return all.subarray(0, length);
  }
}

const headBytes = 4;
