import type { WriteFailure } from "../ports/blobs.ts";
import type { AppendOutcome, TranscriptWriter } from "../ports/transcripts.ts";

/** Lets the lines of one call share one sync: a sync takes longer than everything else about a line. */
export class WriteGroup {
  readonly #writer: Pick<TranscriptWriter, "append">;
  #calls = 0;
  #unsynced: "nothing" | "something" = "nothing";

  constructor(writer: Pick<TranscriptWriter, "append">) {
    this.#writer = writer;
  }

  append(line: string): Promise<AppendOutcome> {
    if (this.#calls === 0) return this.#writer.append([line]);
    this.#unsynced = "something";
    return this.#writer.append([line], "later");
  }

  /**
   * Lines that are appended meanwhile are written at once, so that a kill of the process loses none, and are synced when
   * the call ends, also if it throws. `failure`: the sync failed.
   */
  async run<Result>(
    call: () => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly failure: WriteFailure | undefined }> {
    this.#calls += 1;
    try {
      const result = await call();
      this.#calls -= 1;
      return { result, failure: await this.#sync() };
    } catch (error) {
      this.#calls -= 1;
      await this.#sync();
      throw error;
    }
  }

  async #sync(): Promise<WriteFailure | undefined> {
    if (this.#unsynced === "nothing") return undefined;
    this.#unsynced = "nothing";
    const outcome = await this.#writer.append([]);
    return outcome.kind === "failed" ? outcome : undefined;
  }
}
