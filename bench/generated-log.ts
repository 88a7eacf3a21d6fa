/** Raw lines of a session as another tool would log it. Each round is a request, a reply with one call, its result, and a last reply. */
export class GeneratedLog {
  #count = 0;
  #parent: string | null = null;

  *round(resultChars: number): Generator<string> {
    const round = this.#count;
    const call = `toolu_${round}`;
    yield this.#line("user", {
      role: "user",
      content: `Request ${round}: please go on with the next step of the plan.`,
    });
    yield this.#line("assistant", {
      id: `msg_${round}`,
      role: "assistant",
      content: [
        { type: "text", text: `Step ${round}.` },
        { type: "tool_use", id: call, name: "Read", input: { file_path: `src/file-${round % 97}.ts` } },
      ],
      usage: { input_tokens: 3, cache_read_input_tokens: 40_000, cache_creation_input_tokens: 900, output_tokens: 80 },
    });
    yield this.#line("user", {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call, content: filler(resultChars, round) }],
    });
    yield this.#line("assistant", {
      id: `msg_${round}_end`,
      role: "assistant",
      content: [{ type: "text", text: `Done with ${round}.` }],
    });
  }

  *boundary(): Generator<string> {
    const logicalParentUuid = this.#parent;
    this.#parent = null;
    yield this.#line("system", undefined, {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      logicalParentUuid,
      compactMetadata: { trigger: "auto", preTokens: 160_000 },
    });
    yield this.#line(
      "user",
      { role: "user", content: "Summary of everything so far." },
      { isCompactSummary: true, isVisibleInTranscriptOnly: true },
    );
  }

  #line(type: string, message: object | undefined, more: object = {}): string {
    const uuid = `00000000-0000-4000-8000-${String(this.#count).padStart(12, "0")}`;
    const raw = {
      parentUuid: this.#parent,
      isSidechain: false,
      type,
      ...(message === undefined ? {} : { message }),
      ...more,
      uuid,
      timestamp: "2026-01-01T00:00:00.000Z",
    };
    this.#count += 1;
    this.#parent = uuid;
    return JSON.stringify(raw);
  }
}

const filler = (chars: number, seed: number): string =>
  `${seed} const value = compute(input, "some text in a file") // a comment\n`
    .repeat(Math.ceil(chars / 66))
    .slice(0, chars);
